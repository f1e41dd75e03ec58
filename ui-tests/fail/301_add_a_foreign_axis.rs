// The right operand has an axis that the left lacks: a sum never grows. For an outer sum, say `outer_add`.
//~ ERROR: no axis `Hidden` in `(Batch, In)`
use forge::prelude::*;
axes! { Batch, In, Hidden }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let b = Tensor::<Hidden>::ones(4);
    let _ = &x + &b;
}
