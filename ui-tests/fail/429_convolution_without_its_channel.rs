// The filter and the signal share the channel axis; here it is called `In`.
//~ ERROR: no axis `Channel` in `(Batch, In, Time)`
use forge::prelude::*;
axes! { Batch, In, Out, Channel, Time, Tap }

fn main() {
    let x = Tensor::<(Batch, In, Time)>::ones((2, 3, 50));
    let w = Tensor::<(Out, Channel, Tap)>::ones((4, 3, 5));
    let _ = x.conv1d(&w, Time, Channel, Tap, Default::default());
}
