// The tensor knows its sizes.
//~ ERROR: `Batch` is an axis of the tensor: a size is for a new axis
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = rearrange!(x[Batch, In] -> [In, Batch = 2]);
}
