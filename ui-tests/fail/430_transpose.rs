// An order of axes is a type: `let y: Tensor<(In, Batch)> = x.permute();`. (The compiler guesses by spelling alone.)
//~ ERROR: no method named `transpose` found
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = x.transpose(0, 1);
}
