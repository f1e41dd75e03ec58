// Attention is normalised over `Key`; after the contraction it is gone.
//~ ERROR: no axis `Key` in `(Seq, Dim)`
use forge::prelude::*;
axes! { Seq, Key, Dim }

fn main() {
    let _ = Tensor::<(Seq, Dim)>::ones((2, 3)).softmax(Key);
}
