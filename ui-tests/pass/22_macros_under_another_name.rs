// The macros hold wherever the crate is re-exported.
mod facade {
    pub use forge as deep;
}
use facade::deep;

fn main() {
    deep::axes! { Batch, In }
    let x = deep::Tensor::<(Batch, In)>::ones((2, 3));
    assert_eq!(deep::einsum!(x[Batch, In] -> [In]).to_vec(), [2.0; 3]);
}
