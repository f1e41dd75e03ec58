// Even that `X` is a subset of itself must be stated of an unknown list, as `X: SubsetOf<X>`; or use `over`.
//~ ERROR: an unknown list of axes is not known to be a subset of another
use forge::prelude::*;
axes! { In }

fn double<X: Axes>(x: &Tensor<X>) -> Tensor<X> {
    x.add(x)
}

fn main() {
    let _ = double(&Tensor::<In>::ones(2));
}
