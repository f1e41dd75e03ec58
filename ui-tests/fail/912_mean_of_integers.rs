// A mean is a float: convert first.
//~ ERROR: this operation needs floats, not `i64`
use forge::prelude::*;
axes! { Batch }

fn main() {
    let _ = Tensor::<Batch, i64>::ones(3).mean_all();
}
