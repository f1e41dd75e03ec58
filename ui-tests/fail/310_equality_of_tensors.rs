// Equality is asked for by element with `x.eq(&y)`, or of all values with `x.to_vec() == y.to_vec()`.
//~ ERROR: binary operation `==` cannot be applied to type `forge::Tensor<Batch>`
use forge::prelude::*;
axes! { Batch }

fn main() {
    let x = Tensor::<Batch>::ones(2);
    let y = Tensor::<Batch>::ones(2);
    let _ = x == y;
}
