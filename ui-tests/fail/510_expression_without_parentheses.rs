// An operand that is an expression stands in parentheses: `(&x + &y)[Batch]`.
//~ ERROR: expected the axes of `x` in brackets
use forge::prelude::*;
axes! { Batch }

fn main() {
    let x = Tensor::<Batch>::ones(2);
    let y = Tensor::<Batch>::ones(2);
    let _ = einsum!(x + y[Batch] -> [Batch]);
}
