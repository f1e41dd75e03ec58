// An operand has an axis once: for a trace, take `diagonal` first.
//~ ERROR: axis `Rows` appears twice in this list
use forge::prelude::*;
axes! { Rows, Cols }

fn main() {
    let x = Tensor::<(Rows, Cols)>::ones((3, 3));
    let _ = einsum!(x[Rows, Rows] -> [Rows]);
}
