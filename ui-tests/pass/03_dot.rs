// The axis that is summed is named; where it stands does not matter.
use forge::prelude::*;
axes! { Batch, In, Out }

fn main() {
    let x = Tensor::<(In, Batch)>::ones((3, 2));
    let w = Tensor::<(Out, In)>::ones((4, 3));
    let y: Tensor<(Batch, Out)> = x.dot(&w, In);
    assert_eq!(y.to_vec(), [3.0; 8]);
}
