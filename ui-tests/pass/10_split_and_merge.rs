// Fixed sizes are multiplied by the compiler, dynamic ones when the program runs.
use forge::prelude::*;
axes! { Batch, Model = 6, Head = 2, Dim = 3, Left, Right }

fn main() {
    let x = Tensor::<(Batch, Model)>::ones((4, Model));
    let heads: Tensor<(Batch, Head, Dim)> = x.split(Model, (Head, Dim), (Head, Dim));
    let back: Tensor<(Batch, Model)> = heads.merge((Head, Dim), Model);
    let halves: Tensor<(Left, Right, Model)> = back.split(Batch, (Left, Right), (2, 2));
    assert_eq!(halves.shape(), [2, 2, 6]);
}
