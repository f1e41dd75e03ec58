// Several axes stand in one tuple: `Tensor<(Batch, In)>`.
//~ ERROR: `In` is not an element type of a tensor
use forge::prelude::*;
axes! { Batch, In }

pub struct Layer {
    pub input: Tensor<Batch, In>,
}

fn main() {}
