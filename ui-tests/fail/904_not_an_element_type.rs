// A tensor holds numbers or truth values.
//~ ERROR: `char` is not an element type of a tensor
use forge::prelude::*;
axes! { Batch }

pub struct Text {
    pub letters: Tensor<Batch, char>,
}

fn main() {}
