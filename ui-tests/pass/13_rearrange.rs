// Split, turn, merge, repeat and reduce in one line.
use forge::prelude::*;
axes! { Batch, Seq, Model, Head, Dim, Copy }

fn main() {
    let x = Tensor::<(Batch, Seq, Model)>::ones((2, 3, 8));
    let heads = rearrange!(x[Batch, Seq, Model => (Head = 2, Dim)] -> [Batch, Head, Seq, Dim]);
    let back = rearrange!(heads[Batch, Head, Seq, Dim] -> [Batch, Seq, (Head, Dim) => Model]);
    let pooled = rearrange!(mean back[Batch, Seq, Model] -> [Model, Batch]);
    let copies = rearrange!(pooled[Model, Batch] -> [Copy = 3, Batch, Model]);
    assert_eq!(copies.shape(), [3, 2, 8]);
}
