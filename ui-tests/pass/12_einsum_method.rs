// The annotated result is the equation.
use forge::prelude::*;
axes! { Seq, Key, Dim }

fn main() {
    let q = Tensor::<(Seq, Dim)>::ones((3, 4));
    let k = Tensor::<(Key, Dim)>::ones((5, 4));
    let scores: Tensor<(Key, Seq)> = q.einsum(&k);
    assert_eq!(scores.shape(), [5, 3]);
}
