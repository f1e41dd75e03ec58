// What is joined along `Left` has it: for two names, `concat_into(Left, &b, Right, Both)`.
//~ ERROR: expected `&Tensor<(Batch, Left)>`, found `&Tensor<(Batch, Right)>`
use forge::prelude::*;
axes! { Batch, Left, Right }

fn main() {
    let a = Tensor::<(Batch, Left)>::ones((2, 3));
    let b = Tensor::<(Batch, Right)>::ones((2, 4));
    let _ = a.concat(Left, &[&b]);
}
