//! The public operations: typed methods on [`Tensor`](crate::Tensor) and, beside each, its erased twin on
//! [`DynTensor`](crate::DynTensor). Both call one untyped operation in `raw`, under the same file name.

mod arith;
mod assemble;
mod broadcast;
mod clamp;
mod compare;
mod construct;
mod contract;
mod dropout;
mod gated;
mod index;
mod integer;
mod norm;
mod over;
mod random;
mod ranges;
mod reduce;
mod rope;
mod scan;
mod select;
mod shape;
mod softmax;
mod unary;

pub use arith::Arith;
#[cfg(feature = "ndarray")]
pub(crate) use construct::named;
pub use index::{Indices, Selected};
pub use norm::Normalize;
pub use over::{Over, OverTensors};
pub use ranges::Step;
pub use reduce::{AxisNames, Masked};
pub use softmax::{DynSoftmax, Softmax};
