// The order is that of the annotated result.
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In, Out)>::ones((2, 3, 4));
    let y: Tensor<(Out, Batch, In)> = x.permute();
    assert_eq!(y.shape(), [4, 2, 3]);
}
