//! The public operations: typed methods on [`Tensor`](crate::Tensor) and, beside each, its erased twin on
//! [`DynTensor`](crate::DynTensor). Both call one untyped operation in `raw`, under the same file name.

mod arith;
mod compare;
mod construct;
mod contract;
mod gated;
mod norm;
mod reduce;
mod rope;
mod scan;
mod select;
mod shape;
mod softmax;
mod unary;

pub use arith::Arith;
pub use norm::Normalize;
pub use reduce::{AxisNames, Masked};
pub use softmax::{DynSoftmax, Softmax};
