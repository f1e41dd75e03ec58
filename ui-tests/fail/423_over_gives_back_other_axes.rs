// The block gives back the axes that it was given: `Rest` and those named.
//~ ERROR: expected `Tensor<(Rest, In)>`, found `Tensor<Rest>`
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = x.over::<In>(|x| x.sum(In));
}
