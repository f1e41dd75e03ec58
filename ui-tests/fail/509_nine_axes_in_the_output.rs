// A tensor has at most 8 axes: merge some first.
//~ ERROR: a tensor may have at most 8 axes
use forge::prelude::*;
axes! { A, B, C, D, E, F, G, H, I }

fn main() {
    let x = Tensor::<(A, B, C, D)>::ones((1, 1, 1, 1));
    let y = Tensor::<(E, F, G, H, I)>::ones((1, 1, 1, 1, 1));
    let _ = einsum!(x[A, B, C, D], y[E, F, G, H, I] -> [A, B, C, D, E, F, G, H, I]);
}
