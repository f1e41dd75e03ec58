// It is not there to be summed.
//~ ERROR: no axis `In` in `(Batch, Out)`
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let _ = Tensor::<(Batch, Out)>::ones((2, 3)).sum(In);
}
