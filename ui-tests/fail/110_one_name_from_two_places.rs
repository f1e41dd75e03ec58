// Two declarations are two axes, whatever their names: import one and drop the other.
//~ ERROR: `Batch` and `forge::axes::Batch` have similar names, but are actually distinct types
use forge::prelude::*;
axes! { Batch }

fn main() {
    let _: Tensor<forge::axes::Batch> = Tensor::<Batch>::ones(2);
}
