// A block of many steps is written with `over`: inside, every list is known.
use forge::prelude::*;
axes! { Batch, Seq, In, Hidden }

fn block<X: Axes + Has<In>>(x: &Tensor<X>, w: &Tensor<(In, Hidden)>) -> Tensor<X> {
    x.over::<In>(|x| x + &x.dot(w, In).relu().dot(w, Hidden))
}

fn main() {
    let w = Tensor::<(In, Hidden)>::ones((3, 4));
    let y: Tensor<(Seq, In, Batch)> = block(&Tensor::<(Seq, In, Batch)>::ones((5, 3, 2)), &w);
    assert_eq!(y.shape(), [5, 3, 2]);
}
