// No shared axis: for a matrix say `outer_mul`, for a number `dot`.
//~ ERROR: no axis `Cols` in `Rows`
use forge::prelude::*;
axes! { Rows, Cols }

fn main() {
    let a = Tensor::<Rows>::ones(2);
    let b = Tensor::<Cols>::ones(3);
    let _ = &a * &b;
}
