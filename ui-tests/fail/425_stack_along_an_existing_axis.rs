// A stack makes a new axis: to lengthen one, `concat`.
//~ ERROR: axis `Batch` is already in `(Batch, In)`
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let a = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = a.stack(Batch, &[&a]);
}
