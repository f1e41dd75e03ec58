// A parameter that stands for a list of axes is bounded by `Axes`.
//~ ERROR: `X` is not a list of axes
use forge::prelude::*;

pub struct Layer<X> {
    pub input: Tensor<X>,
}

fn main() {}
