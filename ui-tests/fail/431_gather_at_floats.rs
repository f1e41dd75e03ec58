// Positions are integers: `&ids.to::<i64>()`, or a tensor of i64 from the start.
//~ ERROR: `&forge::Tensor<(Batch, Seq)>` is no list of positions
use forge::prelude::*;
axes! { Vocab, Model, Batch, Seq }

fn main() {
    let table = Tensor::<(Vocab, Model)>::ones((10, 4));
    let ids = Tensor::<(Batch, Seq)>::ones((2, 3));
    let _ = table.gather(Vocab, &ids, (Batch, Seq));
}
