// Two generic axes of an einsum! are taken for different: call it with two. (Found by `cargo build`.)
//~ ERROR: einsum: two output axes are the same axis
use forge::prelude::*;
axes! { In }

fn outer<I: Axis, J: Axis>(a: &Tensor<I>, b: &Tensor<J>) -> Tensor<(I, J)> {
    einsum!(a[I], b[J] -> [I, J])
}

fn main() {
    let a = Tensor::<In>::ones(2);
    let _ = outer(&a, &a);
}
