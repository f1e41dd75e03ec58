// `use forge::prelude::*` brings the macros too; without it, write `forge::einsum!`.
//~ ERROR: cannot find macro `einsum` in this scope
use forge::Tensor;
forge::axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = einsum!(x[Batch, In] -> [Batch]);
}
