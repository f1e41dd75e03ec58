// An axis that both operands keep is a batch axis, without being said.
use forge::prelude::*;
axes! { Batch, Head, Seq, Key, Dim }

fn main() {
    let q = Tensor::<(Batch, Head, Seq, Dim)>::ones((2, 3, 4, 8));
    let k = Tensor::<(Batch, Head, Key, Dim)>::ones((2, 3, 5, 8));
    let scores: Tensor<(Batch, Head, Seq, Key)> = q.dot(&k, Dim);
    assert_eq!(scores.get((1, 2, 3, 4)), 8.0);
}
