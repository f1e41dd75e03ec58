// A permutation adds none: `insert` and `expand` do.
//~ ERROR: axis `Out` is not in `(Batch, In)`
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = x.permute::<(In, Batch, Out)>();
}
