// The result has the left operand's axes: put the larger one first.
//~ ERROR: no axis `Batch` in `In`
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let b = Tensor::<In>::ones(3);
    let _ = &b + &x;
}
