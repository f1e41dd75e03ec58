// The sizes of the parts multiply to that of the whole: 2 x 4 is not 6.
//~ ERROR: the fixed sizes of `(Head, Dim)` do not multiply to the size of `Model`
use forge::prelude::*;
axes! { Batch, Model = 6, Head = 2, Dim = 4 }

fn main() {
    let x = Tensor::<(Batch, Model)>::zeros((5, Model));
    let _ = x.split(Model, (Head, Dim), (Head, Dim));
}
