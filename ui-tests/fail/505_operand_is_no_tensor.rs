// Operands are tensors: use `scale` for a number.
//~ ERROR: expected `&Tensor<Batch, _>`, found `&f32`
use forge::prelude::*;
axes! { Batch }

fn main() {
    let x = Tensor::<Batch>::ones(2);
    let half = 0.5f32;
    let _ = einsum!(x[Batch], half[Batch] -> [Batch]);
}
