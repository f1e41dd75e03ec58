// The parts know their sizes: write `(Head, Dim)` where the numbers are.
//~ ERROR: expected `Head`, found integer
use forge::prelude::*;
axes! { Batch, Model = 8, Head = 2, Dim = 4 }

fn main() {
    let x = Tensor::<(Batch, Model)>::ones((3, Model));
    let _ = x.split(Model, (Head, Dim), (2, Dim));
}
