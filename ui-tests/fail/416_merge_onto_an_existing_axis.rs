// The merged axis may have the name of a part, not that of another axis.
//~ ERROR: axis `Batch` is already in `(Batch, Head, Dim)`
use forge::prelude::*;
axes! { Batch, Head, Dim }

fn main() {
    let x = Tensor::<(Batch, Head, Dim)>::ones((2, 3, 4));
    let _ = x.merge((Head, Dim), Batch);
}
