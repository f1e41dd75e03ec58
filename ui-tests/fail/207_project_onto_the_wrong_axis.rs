// A matrix projects from its first axis, which the tensor must have: permute the matrix.
//~ ERROR: no axis `Out` in `(Batch, In)`
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let w = Tensor::<(Out, In)>::ones((4, 3));
    let _ = x.project(&w);
}
