// Joined tensors have the same axes: permute the second.
//~ ERROR: expected `&Tensor<(Batch, Seq)>`, found `&Tensor<(Seq, Batch)>`
use forge::prelude::*;
axes! { Batch, Seq }

fn main() {
    let a = Tensor::<(Batch, Seq)>::ones((2, 3));
    let b = Tensor::<(Seq, Batch)>::ones((3, 2));
    let _ = a.concat(Seq, &[&b]);
}
