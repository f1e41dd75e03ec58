// Two unknown axes may be one: `(I, O): Distinct` says that they are not.
//~ ERROR: axis `I` appears twice in `(I, O)`
use forge::prelude::*;
axes! { In, Out }

fn matrix<I: Axis, O: Axis>(rows: SizeArg<I>, cols: SizeArg<O>) -> Tensor<(I, O)> {
    Tensor::zeros((rows, cols))
}

fn main() {
    let _ = matrix::<In, Out>(2, 3);
}
