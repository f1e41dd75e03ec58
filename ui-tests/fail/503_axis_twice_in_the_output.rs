// So has the result.
//~ ERROR: axis `Batch` appears twice in this list
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = einsum!(x[Batch, In] -> [Batch, Batch]);
}
