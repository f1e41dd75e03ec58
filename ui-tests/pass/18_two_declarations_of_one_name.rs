// They are two axes, and may stand in one tensor.
use forge::prelude::*;
axes! { Batch }

fn main() {
    let x = Tensor::<(forge::axes::Batch, Batch)>::ones((2, 3));
    let y: Tensor<Batch> = x.sum(forge::axes::Batch);
    assert_eq!(y.to_vec(), [2.0; 3]);
}
