// `add` asks for the same as `+`: rename the axis of the bias first.
//~ ERROR: no axis `Out` in `(Batch, In)`
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let b = Tensor::<Out>::ones(3);
    let _ = x.add(&b);
}
