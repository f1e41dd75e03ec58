// One of the two is missing; the error names it.
//~ ERROR: no axis `Width` in `(Batch, Height)`
use forge::prelude::*;
axes! { Batch, Height, Width }

fn main() {
    let _ = Tensor::<(Batch, Height)>::ones((2, 3)).mean((Height, Width));
}
