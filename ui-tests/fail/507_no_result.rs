// The arrow and the axes of the result are missing; `[]` is a number.
//~ ERROR: expected `, another[...]` or the axes of the result
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = einsum!(x[Batch, In]);
}
