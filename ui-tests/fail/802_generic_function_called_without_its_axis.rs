// The bound of a generic function is checked where it is called.
//~ ERROR: no axis `In` in `(Batch, Seq)`
use forge::prelude::*;
axes! { Batch, Seq, In }

fn squash<X: Axes + Has<In>>(x: &Tensor<X>) -> Tensor<X> {
    x.softmax(In)
}

fn main() {
    let _ = squash(&Tensor::<(Batch, Seq)>::ones((2, 3)));
}
