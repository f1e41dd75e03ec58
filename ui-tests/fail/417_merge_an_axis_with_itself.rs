// The parts are different axes.
//~ ERROR: axis `Dim` appears twice in `(Dim, Dim)`
use forge::prelude::*;
axes! { Batch, Dim, Model }

fn main() {
    let x = Tensor::<(Batch, Dim)>::ones((2, 3));
    let _ = x.merge((Dim, Dim), Model);
}
