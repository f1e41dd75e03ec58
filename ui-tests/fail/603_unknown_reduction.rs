// Five words are known; for others, call the method.
//~ ERROR: `avg` is no reduction: use `sum`, `mean`, `max`, `min` or `prod`
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = rearrange!(avg x[Batch, In] -> [Batch]);
}
