//! The public operations: typed methods on [`Tensor`](crate::Tensor) and, beside each, its erased twin on
//! [`DynTensor`](crate::DynTensor). Both call one untyped operation in `raw`, under the same file name.

mod arith;
mod construct;
mod contract;
mod reduce;
mod shape;
mod unary;

pub use arith::Arith;
