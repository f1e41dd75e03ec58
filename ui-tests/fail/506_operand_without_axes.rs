// Each operand says its axes.
//~ ERROR: expected the axes of `q` in brackets: `q[Batch, In]`
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let q = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = einsum!(q, q[Batch, In] -> [Batch]);
}
