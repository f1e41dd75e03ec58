// 16-bit tensors are constants: train an f32 master and convert it.
//~ ERROR: a tensor of `
//~ ERROR: bf16` carries no gradient
use forge::prelude::*;
axes! { In }

fn main() {
    let _ = Tensor::<In>::ones(3).to::<bf16>().requires_grad();
}
