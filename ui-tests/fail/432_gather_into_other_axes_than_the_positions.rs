// What is gathered gets the axes of the positions, all of them: `(Batch, Seq)`.
//~ ERROR: expected `(Batch, Seq)`, found `Seq`
use forge::prelude::*;
axes! { Vocab, Model, Batch, Seq }

fn main() {
    let table = Tensor::<(Vocab, Model)>::ones((10, 4));
    let ids = Tensor::<(Batch, Seq), i64>::ones((2, 3));
    let _ = table.gather(Vocab, &ids, Seq);
}
