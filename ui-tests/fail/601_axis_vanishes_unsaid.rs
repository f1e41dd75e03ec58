// An axis is never dropped silently: say how, as in `mean x[...]`.
//~ ERROR: axis `Height` vanishes: say how, with `sum`, `mean`, `max`, `min` or `prod`
use forge::prelude::*;
axes! { Batch, Height }

fn main() {
    let x = Tensor::<(Batch, Height)>::ones((2, 3));
    let _ = rearrange!(x[Batch, Height] -> [Batch]);
}
