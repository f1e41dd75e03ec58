// Axes are types, checked by the compiler: `sum(Batch)`. By string, use `x.erase()`.
//~ ERROR: `&str` is not a list of axes
use forge::prelude::*;
axes! { Batch }

fn main() {
    let _ = Tensor::<Batch>::ones(2).sum("Batch");
}
