// Splits stand left of the arrow, merges right of it.
//~ ERROR: a split stands in the tensor's list, left of `->`
use forge::prelude::*;
axes! { Batch, Model, Head, Dim }

fn main() {
    let x = Tensor::<(Batch, Model)>::ones((2, 6));
    let _ = rearrange!(x[Batch, Model] -> [Batch, Model => (Head = 2, Dim)]);
}
