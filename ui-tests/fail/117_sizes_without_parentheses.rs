// A shape is one argument: `zeros((2, 3))`.
//~ ERROR: function takes 1 argument but 2 arguments were supplied
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let _ = Tensor::<(Batch, In)>::zeros(2, 3);
}
