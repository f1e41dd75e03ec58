// The left operand comes first in a product: annotate what it is, or permute.
//~ ERROR: expected `Tensor<(Out, Batch)>`, found `Tensor<(Batch, Out)>`
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let w = Tensor::<(In, Out)>::ones((3, 4));
    let _: Tensor<(Out, Batch)> = x.dot(&w, In);
}
