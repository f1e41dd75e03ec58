// One size follows from the others, not two.
//~ ERROR: the sizes of `Head` and `Dim` are both left open
use forge::prelude::*;
axes! { Batch, Model, Head, Dim }

fn main() {
    let x = Tensor::<(Batch, Model)>::ones((2, 6));
    let _ = rearrange!(x[Batch, Model => (Head, Dim)] -> [Batch, Head, Dim]);
}
