// Each axis of the tuple must be in both operands: `Dim` is not in `w`.
//~ ERROR: no axis `Dim` in `(Head, Model)`
use forge::prelude::*;
axes! { Seq, Head, Dim, Model }

fn main() {
    let x = Tensor::<(Seq, Head, Dim)>::ones((2, 3, 4));
    let w = Tensor::<(Head, Model)>::ones((3, 5));
    let _ = x.dot(&w, (Head, Dim));
}
