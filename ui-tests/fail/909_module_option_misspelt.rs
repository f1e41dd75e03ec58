// Fields know `skip` and `name`.
//~ ERROR: on a field, `#[module(...)]` takes `skip` or `name = "..."`
use forge::nn::{Module, Param};
use forge::prelude::*;
axes! { In, Out }

#[derive(Module)]
struct Layer {
    weight: Param<(In, Out)>,
    #[module(skipped)]
    rate: f32,
}

fn main() {}
