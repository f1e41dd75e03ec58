// The annotated result names an axis that neither operand has: drop it, or `expand` afterwards.
//~ ERROR: no axis `Head` in `(Seq, Dim, Key)`
use forge::prelude::*;
axes! { Seq, Key, Dim, Head }

fn main() {
    let q = Tensor::<(Seq, Dim)>::ones((2, 4));
    let k = Tensor::<(Key, Dim)>::ones((3, 4));
    let _: Tensor<(Head, Seq, Key)> = q.einsum(&k);
}
