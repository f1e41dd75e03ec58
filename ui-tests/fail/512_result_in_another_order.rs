// The result has the axes of the last list, in its order; the signature wants another.
//~ ERROR: expected `Tensor<(Out, Batch)>`, found `Tensor<(Batch, Out)>`
use forge::prelude::*;
axes! { Batch, In, Out }

fn forward(x: &Tensor<(Batch, In)>, w: &Tensor<(In, Out)>) -> Tensor<(Out, Batch)> {
    einsum!(x[Batch, In], w[In, Out] -> [Batch, Out])
}

fn main() {
    let _ = forward(&Tensor::ones((2, 3)), &Tensor::ones((3, 4)));
}
