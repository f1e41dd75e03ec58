// The product of matrices is named by its axis: `x.dot(&w, In)`. (The compiler guesses by spelling alone.)
//~ ERROR: no method named `matmul` found
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let w = Tensor::<(In, Out)>::ones((3, 4));
    let _ = x.matmul(&w);
}
