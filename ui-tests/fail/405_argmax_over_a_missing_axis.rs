// Every op along an axis asks for it in the same words.
//~ ERROR: no axis `Class` in `Batch`
use forge::prelude::*;
axes! { Batch, Class }

fn main() {
    let scores = Tensor::<(Batch, Class)>::ones((2, 3));
    let _ = scores.max(Class).argmax(Class);
}
