// A name with a slip of the pen is no axis; the compiler knows the one that was meant.
//~ ERROR: cannot find value `Hiden` in this scope
//~ ERROR: similarly named unit struct `Hidden` defined here
use forge::prelude::*;
axes! { Batch, Hidden, Out }

fn main() {
    let x = Tensor::<(Batch, Hidden)>::ones((2, 3));
    let w = Tensor::<(Hidden, Out)>::ones((3, 4));
    let _ = x.dot(&w, Hiden);
}
