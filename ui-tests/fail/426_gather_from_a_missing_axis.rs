// An embedding is gathered along the axis of its vocabulary.
//~ ERROR: no axis `Token` in `(Vocab, Model)`
use forge::prelude::*;
axes! { Vocab, Model, Token }

fn main() {
    let table = Tensor::<(Vocab, Model)>::ones((10, 4));
    let _ = table.gather(Token, &[3usize, 1], Token);
}
