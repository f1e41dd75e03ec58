// Names that are known only when the program runs: the same ops, checked then.
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3)).erase();
    let w = Tensor::<(In, Out)>::ones((3, 4)).erase();
    let y: Tensor<(Batch, Out)> = x.dot(&w, &["In"]).unwrap().typed().unwrap();
    assert_eq!(y.shape(), [2, 4]);
    assert!(x.dot(&w, &["Out"]).unwrap_err().to_string().contains("no axis `Out` in `(Batch, In)`"));
}
