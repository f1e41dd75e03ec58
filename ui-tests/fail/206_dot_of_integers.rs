// Contractions are for floats: convert first, or multiply and `sum`.
//~ ERROR: this operation needs floats, not `i32`
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In), i32>::ones((2, 3));
    let w = Tensor::<In, i32>::ones(3);
    let _ = x.dot(&w, In);
}
