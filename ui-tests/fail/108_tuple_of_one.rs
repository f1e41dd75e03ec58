// One axis stands bare: `Tensor<In>`, not `Tensor<(In,)>`.
//~ ERROR: `(In,)` is not a list of axes
use forge::prelude::*;
axes! { In }

pub struct Layer {
    pub bias: Tensor<(In,)>,
}

fn main() {}
