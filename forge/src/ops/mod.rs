//! The public operations: typed methods on [`Tensor`](crate::Tensor) and, beside each, its erased twin on
//! [`DynTensor`](crate::DynTensor). Both call one untyped operation in `raw`, under the same file name.

mod arith;
mod assemble;
mod attention;
mod broadcast;
mod clamp;
mod compare;
mod construct;
mod contract;
mod conv1d;
mod conv2d;
mod conv_transpose;
mod dropout;
mod fold;
mod gated;
mod index;
mod integer;
mod linear_loss;
mod loss;
mod norm;
mod over;
mod pool;
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
pub use attention::{Attention, DynAttention};
#[cfg(feature = "ndarray")]
pub(crate) use construct::named;
pub use conv_transpose::ConvTranspose1d;
pub use conv1d::{CausalConv1d, Conv1d, ConvOf};
pub use conv2d::{Conv2d, Pair};
pub use fold::Unfold;
pub use index::{Indices, Selected};
pub use linear_loss::{Distill, DynDistill};
pub use loss::{CrossEntropy, Each, Mean, Reduce, Reduction, Sum};
pub use norm::Normalize;
pub use over::{Over, OverTensors};
pub use pool::Pool2d;
pub use ranges::Step;
pub use reduce::{AxisNames, Masked};
pub use softmax::{DynSoftmax, Softmax};
