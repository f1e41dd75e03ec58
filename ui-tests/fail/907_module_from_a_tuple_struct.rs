// Give the fields names: they are the names of the parameters.
//~ ERROR: `#[derive(Module)]` needs named fields
use forge::nn::Module;
use forge::prelude::*;
axes! { In, Out }

#[derive(Module)]
struct Layer(Tensor<(In, Out)>);

fn main() {}
