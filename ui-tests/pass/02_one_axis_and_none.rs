// One axis stands bare, and a number has none.
use forge::prelude::*;
axes! { Class }

fn main() {
    let scores: Tensor<Class> = Tensor::from_vec(3, vec![1.0, 2.0, 3.0]);
    let total: Tensor<()> = scores.sum(Class);
    assert_eq!(total.item(), 6.0);
}
