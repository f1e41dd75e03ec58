// Gradients are of a number: reduce the loss with `mean_all()`.
//~ ERROR: backward starts from a scalar, not from a tensor with the axes `Batch`
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let w = Tensor::<In>::ones(3).requires_grad();
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = x.dot(&w, In).backward();
}
