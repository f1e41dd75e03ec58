// Axes are named, not counted: `x.dot(&w, In)`.
//~ ERROR: `{integer}` is not a list of axes
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let w = Tensor::<(In, Out)>::ones((3, 4));
    let _ = x.dot(&w, 1);
}
