// Probabilities are floats: convert first.
//~ ERROR: this operation needs floats, not `i64`
use forge::prelude::*;
axes! { Batch, Class }

fn main() {
    let votes = Tensor::<(Batch, Class), i64>::ones((2, 3));
    let _ = votes.softmax(Class);
}
