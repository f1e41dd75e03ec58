// The list on the left is the tensor's type, in its order.
//~ ERROR: expected `&Tensor<(Seq, Batch), _>`, found `&Tensor<(Batch, Seq)>`
use forge::prelude::*;
axes! { Batch, Seq }

fn main() {
    let x = Tensor::<(Batch, Seq)>::ones((2, 3));
    let _ = rearrange!(x[Seq, Batch] -> [Batch, Seq]);
}
