// Operands are borrowed, so that they can be used again: `x.dot(&w, In)`.
//~ ERROR: expected `&Tensor<_>`, found `Tensor<(In, Out)>`
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let w = Tensor::<(In, Out)>::ones((3, 4));
    let _ = x.dot(w, In);
}
