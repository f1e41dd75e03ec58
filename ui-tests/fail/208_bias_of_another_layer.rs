// The bias of `affine` has the axis that the matrix leads to.
//~ ERROR: expected `&Tensor<Out>`, found `&Tensor<Hidden>`
use forge::prelude::*;
axes! { Batch, In, Hidden, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let w = Tensor::<(In, Out)>::ones((3, 4));
    let b = Tensor::<Hidden>::ones(4);
    let _ = x.affine(&w, &b);
}
