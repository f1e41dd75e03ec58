// Analytic functions are for floats.
//~ ERROR: this operation needs floats, not `u8`
use forge::prelude::*;
axes! { Batch }

fn main() {
    let _ = Tensor::<Batch, u8>::ones(3).exp();
}
