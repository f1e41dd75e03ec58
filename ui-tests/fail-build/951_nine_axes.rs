// A tensor has at most 8 axes: merge some first. (Found by `cargo build`, not by `cargo check`.)
//~ ERROR: a tensor may have at most 8 axes
use forge::prelude::*;
axes! { A, B, C, D, E, F, G, H, I }

fn main() {
    let x = Tensor::<(A, B, C, D, E, F, G, H)>::ones((1, 1, 1, 1, 1, 1, 1, 1));
    let _ = x.insert(I);
}
