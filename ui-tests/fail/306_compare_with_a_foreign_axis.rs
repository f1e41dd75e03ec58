// Comparisons broadcast as arithmetic does: every axis of the right is on the left.
//~ ERROR: no axis `Class` in `(Batch, In)`
use forge::prelude::*;
axes! { Batch, In, Class }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let limit = Tensor::<Class>::ones(5);
    let _ = x.gt(&limit);
}
