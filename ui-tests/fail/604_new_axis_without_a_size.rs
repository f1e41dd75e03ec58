// A new axis repeats the values, so it has a size.
//~ ERROR: output axis `Copy` is not in [Batch, In]; to repeat along a new axis, give its size: `Copy = 2`
use forge::prelude::*;
axes! { Batch, In, Copy }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = rearrange!(x[Batch, In] -> [Copy, Batch, In]);
}
