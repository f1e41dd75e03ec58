// A shape has one size for each axis of the type.
//~ ERROR: expected a tuple with 3 elements, found one with 2 elements
use forge::prelude::*;
axes! { Batch, Seq, Model }

fn main() {
    let _ = Tensor::<(Batch, Seq, Model)>::zeros((2, 3));
}
