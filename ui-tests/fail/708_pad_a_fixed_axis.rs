// A padded axis would be longer than its declaration says.
//~ ERROR: axis `Time` has a fixed size, so it cannot be cut or joined
use forge::prelude::*;
axes! { Batch, Time = 8 }

fn main() {
    let x = Tensor::<(Batch, Time)>::zeros((2, Time));
    let _ = x.pad(Time, 1, 1, 0.0);
}
