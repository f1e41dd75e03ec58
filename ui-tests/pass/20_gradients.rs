// Gradients are a value, in the axes of what they are of.
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let w = Tensor::<In>::ones(3).requires_grad();
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let grads = x.dot(&w, In).sum_all().backward().unwrap();
    let g: Tensor<In> = grads.get(&w).unwrap();
    assert_eq!(g.to_vec(), [2.0; 3]);
}
