// The left operand lacks the axis: contract over one that both have. (Both sizes are 64; the names still differ.)
//~ ERROR: no axis `In` in `(Batch, Hidden)`
use forge::prelude::*;
axes! { Batch, In, Hidden, Out }

fn main() {
    let x = Tensor::<(Batch, Hidden)>::zeros((32, 64));
    let w = Tensor::<(In, Out)>::zeros((64, 10));
    let y = x.dot(&w, In);
}
