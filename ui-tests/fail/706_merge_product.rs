// The same for the whole of a merge: 2 x 3 is not 8.
//~ ERROR: the fixed sizes of `(Head, Dim)` do not multiply to the size of `Model`
use forge::prelude::*;
axes! { Batch, Model = 8, Head = 2, Dim = 3 }

fn main() {
    let x = Tensor::<(Batch, Head, Dim)>::zeros((5, Head, Dim));
    let _ = x.merge((Head, Dim), Model);
}
