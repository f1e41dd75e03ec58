// Only f32 and f64 carry gradients.
//~ ERROR: a tensor of `i64` carries no gradient
use forge::prelude::*;
axes! { In }

fn main() {
    let _ = Tensor::<In, i64>::ones(3).requires_grad();
}
