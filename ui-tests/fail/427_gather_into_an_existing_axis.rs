// The picked positions get a name that is free.
//~ ERROR: axis `Model` is already in `(Vocab, Model)`
use forge::prelude::*;
axes! { Vocab, Model }

fn main() {
    let table = Tensor::<(Vocab, Model)>::ones((10, 4));
    let _ = table.gather(Vocab, &[3usize, 1], Model);
}
