// A layer over whatever else its input has: one bound.
use forge::prelude::*;
axes! { Batch, Seq, In, Out }

fn layer<X: Axes + Has<In>>(x: &Tensor<X>, w: &Tensor<(In, Out)>, b: &Tensor<Out>) -> Tensor<Project<X, In, Out>> {
    x.affine(w, b).relu()
}

fn main() {
    let w = Tensor::<(In, Out)>::ones((3, 4));
    let b = Tensor::<Out>::ones(4);
    let one: Tensor<Out> = layer(&Tensor::<In>::ones(3), &w, &b);
    let many: Tensor<(Batch, Seq, Out)> = layer(&Tensor::<(Batch, In, Seq)>::ones((2, 3, 5)), &w, &b);
    assert_eq!((one.shape(), many.shape()), (&[4][..], &[2, 5, 4][..]));
}
