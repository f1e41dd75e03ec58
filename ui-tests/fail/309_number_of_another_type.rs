// A number has the type of the elements, here f32: `&x + 1.0`.
//~ ERROR: cannot add `{integer}` to `&forge::Tensor<(Batch, In)>`
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = &x + 1;
}
