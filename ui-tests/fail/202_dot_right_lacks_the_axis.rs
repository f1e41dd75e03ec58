// The right operand lacks the axis: here `w` belongs to another layer.
//~ ERROR: no axis `In` in `(Hidden, Out)`
use forge::prelude::*;
axes! { Batch, In, Hidden, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let w = Tensor::<(Hidden, Out)>::ones((3, 4));
    let _ = x.dot(&w, In);
}
