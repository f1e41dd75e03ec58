// An output axis comes from an operand: check its name.
//~ ERROR: output axis `Head` is in no operand: [Batch, Seq, Dim], [Batch, Key, Dim]
use forge::prelude::*;
axes! { Batch, Seq, Key, Dim, Head }

fn main() {
    let q = Tensor::<(Batch, Seq, Dim)>::ones((2, 3, 4));
    let k = Tensor::<(Batch, Key, Dim)>::ones((2, 5, 4));
    let _ = einsum!(q[Batch, Seq, Dim], k[Batch, Key, Dim] -> [Batch, Head, Key]);
}
