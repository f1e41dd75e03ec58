// A result that grows is asked for.
use forge::prelude::*;
axes! { Rows, Cols }

fn main() {
    let a = Tensor::<Rows>::ones(2);
    let b = Tensor::<Cols>::ones(3);
    let table: Tensor<(Rows, Cols)> = a.outer_mul(&b);
    assert_eq!(table.shape(), [2, 3]);
}
