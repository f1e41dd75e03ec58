// The new name is taken: two axes would be one.
//~ ERROR: axis `Batch` is already in `(Batch, In)`
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = x.rename(In, Batch);
}
