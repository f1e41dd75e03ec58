// rearrange! is made of the same methods.
//~ ERROR: the fixed sizes of `(Head, Dim)` do not multiply to the size of `Model`
use forge::prelude::*;
axes! { Batch, Model = 6, Head = 2, Dim = 4 }

fn main() {
    let x = Tensor::<(Batch, Model)>::zeros((5, Model));
    let _ = rearrange!(x[Batch, Model => (Head, Dim)] -> [Head, Batch, Dim]);
}
