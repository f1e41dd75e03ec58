// Only integers and truth values have bits: compare first, as in `x.gt_scalar(0.0)`.
//~ ERROR: this operation works on bits, which `f32` does not offer
use forge::prelude::*;
axes! { Batch }

fn main() {
    let x = Tensor::<Batch>::ones(2);
    let _ = x.bit_and(&x);
}
