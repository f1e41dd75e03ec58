// The lists in brackets are types, and misspelt as such.
//~ ERROR: cannot find type `Hiden` in this scope
use forge::prelude::*;
axes! { Batch, Hidden, Out }

fn main() {
    let x = Tensor::<(Batch, Hidden)>::ones((2, 3));
    let w = Tensor::<(Hidden, Out)>::ones((3, 4));
    let _ = einsum!(x[Batch, Hiden], w[Hidden, Out] -> [Batch, Out]);
}
