// What is merged needs a name: `(Head, Dim) => Model`.
//~ ERROR: expected the axis that these are merged into: `=> Name`
use forge::prelude::*;
axes! { Batch, Head, Dim }

fn main() {
    let x = Tensor::<(Batch, Head, Dim)>::ones((2, 3, 4));
    let _ = rearrange!(x[Batch, Head, Dim] -> [Batch, (Head, Dim)]);
}
