// What is left would not have the fixed size: rename to a dynamic axis first.
//~ ERROR: axis `In` has a fixed size, so it cannot be cut or joined
use forge::prelude::*;
axes! { Batch, In = 784 }

fn main() {
    let x = Tensor::<(Batch, In)>::zeros((2, In));
    let _ = x.narrow(In, 0..100);
}
