// The right operand may lack axes and have the others in any order.
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let bias = Tensor::<In>::ones(3);
    let turned = Tensor::<(In, Batch)>::ones((3, 2));
    let y: Tensor<(Batch, In)> = &x + &bias - &turned;
    assert_eq!(y.to_vec(), [1.0; 6]);
}
