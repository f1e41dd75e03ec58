// The name of the merged axis is taken.
//~ ERROR: axis `Batch` appears twice in the result
use forge::prelude::*;
axes! { Batch, Head, Dim }

fn main() {
    let x = Tensor::<(Batch, Head, Dim)>::ones((2, 3, 4));
    let _ = rearrange!(x[Batch, Head, Dim] -> [Batch, (Head, Dim) => Batch]);
}
