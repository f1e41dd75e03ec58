// There is no `Key` to rename yet: names go from old to new.
//~ ERROR: no axis `Key` in `(Batch, Seq)`
use forge::prelude::*;
axes! { Batch, Seq, Key, Channel }

fn main() {
    let x = Tensor::<(Batch, Seq)>::ones((2, 3));
    let _ = x.rename(Key, Channel);
}
