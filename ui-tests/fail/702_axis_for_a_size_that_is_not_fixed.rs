// The size of `Batch` is known only when the program runs: write a number.
//~ ERROR: expected `usize`, found `Batch`
use forge::prelude::*;
axes! { Batch, In = 784 }

fn main() {
    let _ = Tensor::<(Batch, In)>::zeros((Batch, In));
}
