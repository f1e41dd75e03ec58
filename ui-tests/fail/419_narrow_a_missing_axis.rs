// The range is of an axis that the tensor does not have.
//~ ERROR: no axis `Time` in `(Batch, Channel)`
use forge::prelude::*;
axes! { Batch, Channel, Time }

fn main() {
    let x = Tensor::<(Batch, Channel)>::ones((2, 3));
    let _ = x.narrow(Time, 0..2);
}
