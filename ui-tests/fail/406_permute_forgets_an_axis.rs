// A permutation keeps every axis: to drop one, reduce or `select`.
//~ ERROR: axis `Out` is not in `(In, Batch)`
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In, Out)>::ones((2, 3, 4));
    let _ = x.permute::<(In, Batch)>();
}
