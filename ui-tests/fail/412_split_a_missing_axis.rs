// Only an axis of the tensor can be split.
//~ ERROR: no axis `Model` in `(Batch, Seq)`
use forge::prelude::*;
axes! { Batch, Seq, Model, Head, Dim }

fn main() {
    let x = Tensor::<(Batch, Seq)>::ones((2, 6));
    let _ = x.split(Model, (Head, Dim), (2, 3));
}
