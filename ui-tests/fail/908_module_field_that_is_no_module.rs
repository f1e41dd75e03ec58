// A field that holds no parameters is skipped.
//~ ERROR: `f32` is not a module
use forge::nn::{Module, Param};
use forge::prelude::*;
axes! { In, Out }

#[derive(Module)]
struct Layer {
    weight: Param<(In, Out)>,
    rate: f32,
}

fn main() {}
