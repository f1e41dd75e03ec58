// The compiler cannot tell that a result of an unknown list has an axis: state it, or write the block with `over`.
//~ ERROR: no axis `Hidden` in
use forge::prelude::*;
axes! { In, Hidden, Out }

fn mlp<X: Axes + Has<In>>(x: &Tensor<X>, w: &Tensor<(In, Hidden)>, v: &Tensor<(Hidden, Out)>) {
    let _ = x.dot(w, In).relu().dot(v, Hidden);
}

fn main() {
    let w = Tensor::<(In, Hidden)>::ones((2, 3));
    let v = Tensor::<(Hidden, Out)>::ones((3, 4));
    mlp(&Tensor::<In>::ones(2), &w, &v);
}
