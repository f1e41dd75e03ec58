// Any number of operands; what the result lacks is summed.
use forge::prelude::*;
axes! { Batch, Seq, Key, Dim }

fn main() {
    let q = Tensor::<(Batch, Seq, Dim)>::ones((2, 3, 4));
    let k = Tensor::<(Batch, Key, Dim)>::ones((2, 5, 4));
    let v = Tensor::<(Key, Dim)>::ones((5, 4));
    let y = einsum!(q[Batch, Seq, Dim], k[Batch, Key, Dim], v[Key, Dim] -> [Seq, Batch]);
    assert_eq!(y.to_vec(), [20.0; 6]);
    let total: Tensor<()> = einsum!((&q + &q)[Batch, Seq, Dim] -> []);
    assert_eq!(total.item(), 48.0);
}
