// A name that is swapped for another: `rename` first.
//~ ERROR: axis `Out` is not in `(Batch, In)`
//~ ERROR: axis `In` is not in `(Out, Batch)`
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _: Tensor<(Out, Batch)> = x.permute();
}
