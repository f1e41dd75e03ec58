// The same name, another declaration: write the axis as the operand does.
//~ ERROR: no axis `forge::axes::Batch` in
use forge::prelude::*;
axes! { Batch, In }

fn main() {
    let x = Tensor::<(Batch, In)>::ones((2, 3));
    let _ = einsum!(x[Batch, In] -> [forge::axes::Batch]);
}
