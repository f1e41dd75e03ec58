// Nothing is converted silently: `.to::<f32>()` says it.
//~ ERROR: cannot add
use forge::prelude::*;
axes! { Batch }

fn main() {
    let a = Tensor::<Batch>::ones(2);
    let b = Tensor::<Batch, f64>::ones(2);
    let _ = &a + &b;
}
