//! Dtype markers: the second parameter of [`Tensor`](crate::Tensor).
//!
//! The marker of an element type is the type itself: `Tensor<X, f32>`, `Tensor<X, bf16>`, `Tensor<X, bool>`.

pub use forge_kernels::{DType, Element, bf16, f16};

/// A type that says what a tensor holds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of a tensor",
    label = "not an element type",
    note = "element types are f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16 and bool",
    note = "several axes stand in parentheses: `Tensor<(A, B)>`"
)]
pub trait Dtype: 'static {
    /// The run-time twin.
    const DTYPE: DType;
}

// An error then speaks of `Dtype`, not of how it is implemented.
#[diagnostic::do_not_recommend]
impl<T: Element> Dtype for T {
    const DTYPE: DType = T::DTYPE;
}

/// Numbers: every element type but bool.
#[diagnostic::on_unimplemented(
    message = "a tensor of `{Self}` has no arithmetic",
    label = "arithmetic needs numbers, this tensor holds `{Self}`",
    note = "convert it first: `.to::<f32>()`"
)]
pub trait Number: Element {}

/// Floats: f32, f64, f16, bf16.
#[diagnostic::on_unimplemented(
    message = "this operation needs floats, not `{Self}`",
    label = "needs a tensor of floats, this one holds `{Self}`",
    note = "convert it first: `.to::<f32>()`"
)]
pub trait Float: Number {}

/// Element types that can be summed: all of them.
pub trait Summable: Element {
    /// The type of sums and products: f32 for 16-bit floats, i64 (wrapping) for integers and bools, the type itself for
    /// f32 and f64.
    type Sum: Number;
}

/// Floats that carry gradients: f32 and f64.
#[diagnostic::on_unimplemented(
    message = "a tensor of `{Self}` carries no gradient",
    label = "only f32 and f64 tensors carry gradients, this one holds `{Self}`",
    note = "16-bit and quantised tensors are constants: keep an f32 master and convert it with `.to::<{Self}>()`"
)]
pub trait Differentiable: Float + Summable<Sum = Self> {}

/// Integers.
#[diagnostic::on_unimplemented(
    message = "this operation needs integers, not `{Self}`",
    label = "needs a tensor of integers, this one holds `{Self}`"
)]
pub trait Integer: Number {}

/// Integers and bools: what has bits to work on.
#[diagnostic::on_unimplemented(
    message = "this operation works on bits, which `{Self}` does not offer",
    label = "needs a tensor of integers or bools, this one holds `{Self}`"
)]
pub trait Bits: Element {}

// An error says what is needed; which types those are need not be listed again.
macro_rules! mark {
    ($trait:ident: $($t:ty)*) => { $(#[diagnostic::do_not_recommend] impl $trait for $t {})* };
}
macro_rules! summable {
    ($($t:ty => $s:ty),*) => { $(impl Summable for $t { type Sum = $s; })* };
}
summable!(f32 => f32, f64 => f64, f16 => f32, bf16 => f32, i8 => i64, i16 => i64, i32 => i64, i64 => i64, u8 => i64, u16 => i64, bool => i64);
mark!(Number: f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16);
mark!(Float: f32 f64 f16 bf16);
mark!(Differentiable: f32 f64);
mark!(Integer: i8 i16 i32 i64 u8 u16);
mark!(Bits: i8 i16 i32 i64 u8 u16 bool);
