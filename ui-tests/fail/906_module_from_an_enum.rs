// Parameters are named by fields, so a module is a struct.
//~ ERROR: `#[derive(Module)]` is for structs
use forge::nn::Module;
use forge::prelude::*;
axes! { In, Out }

#[derive(Module)]
enum Layer {
    Matrix(Tensor<(In, Out)>),
    Nothing,
}

fn main() {}
