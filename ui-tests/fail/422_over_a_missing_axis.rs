// `over` names axes of the tensor; everything else is `Rest`.
//~ ERROR: no axis `Seq` in `(Batch, In)`
use forge::prelude::*;
axes! { Batch, In, Seq }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = x.over::<Seq>(|x| x.clone());
}
