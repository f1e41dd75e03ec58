// A scalar is a tensor without axes; its number is `loss.item()`.
//~ ERROR: expected `f32`, found `Tensor<()>`
use forge::prelude::*;
axes! { Batch }

fn loss(y: &Tensor<Batch>) -> f32 {
    y.square().mean_all()
}

fn main() {
    let _ = loss(&Tensor::ones(3));
}
