// Axes have an order in the type: call with `x.permute()`, or write the function for any order with `X: Has<In>`.
//~ ERROR: expected `&Tensor<(Batch, In)>`, found `&Tensor<(In, Batch)>`
use forge::prelude::*;
axes! { Batch, In }

fn layer(x: &Tensor<(Batch, In)>) -> Tensor<Batch> {
    x.sum(In)
}

fn main() {
    let x = Tensor::<(In, Batch)>::ones((3, 2));
    layer(&x);
}
