// Axes with documentation, a visibility, a fixed size; a shape names the fixed one.
use forge::prelude::*;
axes! {
    /// One example of many.
    Batch,
    pub(crate) In = 784,
}

fn main() {
    let x = Tensor::<(Batch, In)>::zeros((32, In));
    assert_eq!(x.shape(), [32, 784]);
}
