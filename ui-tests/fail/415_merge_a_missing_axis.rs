// All parts must be there.
//~ ERROR: no axis `Head` in `(Batch, Dim)`
use forge::prelude::*;
axes! { Batch, Head, Dim, Model }

fn main() {
    let x = Tensor::<(Batch, Dim)>::ones((2, 3));
    let _ = x.merge((Head, Dim), Model);
}
