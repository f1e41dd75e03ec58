// Self-attention uses one axis twice: under two names.
use forge::prelude::*;
axes! { Seq, Key, Dim }

fn main() {
    let x = Tensor::<(Seq, Dim)>::ones((3, 4));
    let scores: Tensor<(Seq, Key)> = x.dot(&x.rename(Seq, Key), Dim);
    assert_eq!(scores.shape(), [3, 3]);
}
