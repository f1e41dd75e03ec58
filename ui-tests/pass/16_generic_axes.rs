// Generic over the axes themselves: einsum! needs no bound.
use forge::prelude::*;
axes! { Batch, In, Out }

fn linear<B: Axis, I: Axis, O: Axis>(x: &Tensor<(B, I)>, w: &Tensor<(I, O)>) -> Tensor<(B, O)> {
    einsum!(x[B, I], w[I, O] -> [B, O])
}

fn main() {
    let y = linear(&Tensor::<(Batch, In)>::ones((2, 3)), &Tensor::<(In, Out)>::ones((3, 4)));
    let _: Tensor<(Batch, Out)> = y;
}
