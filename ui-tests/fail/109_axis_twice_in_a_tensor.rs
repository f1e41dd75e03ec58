// A tensor has an axis once: for a square matrix declare a second name.
//~ ERROR: axis `In` appears twice in `(In, In)`
use forge::prelude::*;
axes! { In }

fn main() {
    let _ = Tensor::<(In, In)>::zeros((3, 3));
}
