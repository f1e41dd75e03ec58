// Each axis stands in the new order once.
//~ ERROR: axis `In` appears twice in `(In, Batch, In)`
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = x.permute::<(In, Batch, In)>();
}
