// An unknown list has no axis until the function says so: `X: Axes + Has<In>`.
//~ ERROR: no axis `In` in `X`
use forge::prelude::*;
axes! { In }

fn total<X: Axes>(x: &Tensor<X>) -> Tensor<()> {
    x.sum(In).sum_all()
}

fn main() {
    let _ = total(&Tensor::<In>::ones(3));
}
