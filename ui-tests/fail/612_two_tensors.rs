// One tensor is rearranged; for products use einsum!.
//~ ERROR: expected the axes of the result
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let w = Tensor::<(In, Out)>::ones((3, 4));
    let _ = rearrange!(x[Batch, In], w[In, Out] -> [Batch, Out]);
}
