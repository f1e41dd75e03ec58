// A mask has axes of what it masks: this one belongs to the scores.
//~ ERROR: no axis `Key` in `(Batch, Seq)`
use forge::prelude::*;
axes! { Batch, Seq, Key, Channel }

fn main() {
    let x = Tensor::<(Batch, Seq)>::ones((2, 3));
    let mask = Tensor::<(Seq, Key), bool>::full((3, 3), true);
    let _ = x.masked_fill(&mask, 0.0);
}
