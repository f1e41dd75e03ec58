// `over_to` names what goes in and what comes out; the block does as it says.
//~ ERROR: expected `Tensor<(Rest, Class)>`, found `Tensor<Rest>`
use forge::prelude::*;
axes! { Batch, In, Class }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = x.over_to::<In, Class>(|x| x.sum(In));
}
