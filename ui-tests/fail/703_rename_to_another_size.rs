// Two fixed sizes that differ can never be equal.
//~ ERROR: axes `In` and `Out` have different fixed sizes: 784 and 10
use forge::prelude::*;
axes! { Batch, In = 784, Out = 10 }

fn main() {
    let x = Tensor::<(Batch, In)>::zeros((2, In));
    let _ = x.rename(In, Out);
}
