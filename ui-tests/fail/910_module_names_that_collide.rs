// Two parameters would have one path: choose another name.
//~ ERROR: two fields are named `weight`
use forge::nn::{Module, Param};
use forge::prelude::*;
axes! { In, Out }

#[derive(Module)]
struct Layer {
    weight: Param<(In, Out)>,
    #[module(name = "weight")]
    w: Param<(Out, In)>,
}

fn main() {}
