// Several axes at once, in any order.
use forge::prelude::*;
axes! { Seq, Head, Dim, Model }

fn main() {
    let x = Tensor::<(Seq, Head, Dim)>::ones((2, 3, 4));
    let w = Tensor::<(Head, Dim, Model)>::ones((3, 4, 5));
    let y: Tensor<(Seq, Model)> = x.dot(&w, (Dim, Head));
    assert_eq!(y.get((0, 0)), 12.0);
}
