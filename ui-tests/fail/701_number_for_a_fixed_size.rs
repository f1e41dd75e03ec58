// The size stands in the declaration: in a shape, write the axis itself.
//~ ERROR: expected `In`, found integer
use forge::prelude::*;
axes! { Batch, In = 784 }

fn main() {
    let _ = Tensor::<(Batch, In)>::zeros((32, 784));
}
