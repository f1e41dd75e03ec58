// A signature uses the alias that the method returns: `Project` for `project`, `Dot` for `dot`.
//~ ERROR: mismatched types
use forge::prelude::*;
axes! { In, Out }

fn layer<X: Axes + Has<In>>(x: &Tensor<X>, w: &Tensor<(In, Out)>) -> Tensor<Project<X, In, Out>> {
    x.dot(w, In)
}

fn main() {
    let _ = layer(&Tensor::<In>::ones(2), &Tensor::<(In, Out)>::ones((2, 3)));
}
