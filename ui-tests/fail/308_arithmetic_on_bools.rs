// Truth values have logic, not arithmetic: convert with `.to::<f32>()` to count.
//~ ERROR: a tensor of `bool` has no arithmetic
use forge::prelude::*;
axes! { Batch }

fn main() {
    let a = Tensor::<Batch, bool>::full(2, true);
    let _ = a.add(&a);
}
