// A part may not have the name of another axis.
//~ ERROR: axis `Batch` is already in `(Batch, Model)`
use forge::prelude::*;
axes! { Batch, Model, Dim }

fn main() {
    let x = Tensor::<(Batch, Model)>::ones((2, 6));
    let _ = x.split(Model, (Batch, Dim), (2, 3));
}
