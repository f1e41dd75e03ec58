// A split into one part is a new name, which is written on the right.
//~ ERROR: one part is a new name: write `Seq => Key` in the result instead
use forge::prelude::*;
axes! { Batch, Seq, Key }

fn main() {
    let x = Tensor::<(Batch, Seq)>::ones((2, 3));
    let _ = rearrange!(x[Batch, Seq => (Key)] -> [Batch, Key]);
}
