// The parts need different names.
//~ ERROR: axis `Dim` appears twice in `(Dim, Dim)`
use forge::prelude::*;
axes! { Batch, Model, Dim }

fn main() {
    let x = Tensor::<(Batch, Model)>::ones((2, 6));
    let _ = x.split(Model, (Dim, Dim), (2, 3));
}
