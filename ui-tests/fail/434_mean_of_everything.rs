// `mean` is along an axis; over all elements it is `mean_all()`.
//~ ERROR: this method takes 1 argument but 0 arguments were supplied
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let _ = Tensor::<(Batch, In)>::ones((2, 3)).mean();
}
