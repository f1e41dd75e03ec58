// Both operands have one element type: convert one with `.to::<f32>()`.
//~ ERROR: found `&Tensor<(In, Out), f64>`
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let w = Tensor::<(In, Out), f64>::ones((3, 4));
    let _ = x.dot(&w, In);
}
