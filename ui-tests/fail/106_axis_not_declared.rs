// A name that no `axes!` declares: declare it, or import it from `forge::axes`.
//~ ERROR: cannot find type `Hidden` in this scope
use forge::prelude::*;
axes! { Batch }

fn main() {
    let _ = Tensor::<(Batch, Hidden)>::ones((2, 3));
}
