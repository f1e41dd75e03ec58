// A diagonal runs along two different axes.
//~ ERROR: axis `Rows` appears twice in `(Rows, Rows)`
use forge::prelude::*;
axes! { Rows, Cols, Diag }

fn main() {
    let x = Tensor::<(Rows, Cols)>::ones((2, 2));
    let _ = x.diagonal(Rows, Rows, Diag);
}
