// `Distinct` says that two generic axes differ; `SizeArg` is how each is given its size.
use forge::prelude::*;
axes! { In, Out = 10 }

fn matrix<I: Axis, O: Axis>(i: SizeArg<I>, o: SizeArg<O>) -> Tensor<(I, O)>
where
    (I, O): Distinct,
{
    Tensor::zeros((i, o))
}

fn main() {
    let w = matrix::<In, Out>(3, Out);
    assert_eq!(w.shape(), [3, 10]);
}
