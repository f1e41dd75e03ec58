// An element has one position for each axis.
//~ ERROR: expected a tuple with 2 elements, found one with 3 elements
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = x.get((0, 1, 2));
}
