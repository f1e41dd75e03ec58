// Any other type in a list of axes: only what `axes!` declares is an axis.
//~ ERROR: `(Batch, String)` is not a list of axes
use forge::prelude::*;
axes! { Batch }

pub struct Sentences {
    pub words: Tensor<(Batch, String)>,
}

fn main() {}
