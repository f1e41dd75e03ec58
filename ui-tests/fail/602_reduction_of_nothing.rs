// Every axis is kept: drop the word, or an axis.
//~ ERROR: nothing to reduce
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = rearrange!(mean x[Batch, In] -> [In, Batch]);
}
