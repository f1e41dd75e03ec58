// The list in brackets is the operand's type, in its order.
//~ ERROR: expected `&Tensor<(Batch, Key, Dim), _>`, found `&Tensor<(Batch, Dim, Key)>`
use forge::prelude::*;
axes! { Batch, Seq, Key, Dim }

fn main() {
    let q = Tensor::<(Batch, Seq, Dim)>::ones((2, 3, 4));
    let k = Tensor::<(Batch, Dim, Key)>::ones((2, 4, 5));
    let _ = einsum!(q[Batch, Seq, Dim], k[Batch, Key, Dim] -> [Batch, Seq, Key]);
}
