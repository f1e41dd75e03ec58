// The sizes of what is joined add up to that of the whole: 2 + 3 is not 6.
//~ ERROR: the fixed sizes of `(Left, Right)` do not add up to the size of `Both`
use forge::prelude::*;
axes! { Batch, Left = 2, Right = 3, Both = 6 }

fn main() {
    let a = Tensor::<(Batch, Left)>::zeros((4, Left));
    let b = Tensor::<(Batch, Right)>::zeros((4, Right));
    let _ = a.concat_into(Left, &b, Right, Both);
}
