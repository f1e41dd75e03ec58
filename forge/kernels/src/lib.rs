//! Untyped CPU kernels of Forge: slices in, slices out, no axes, no graph.
//!
//! A kernel is unchecked in the sense of *meaning* (its caller has validated sizes), allocation-free, and has one
//! scalar meaning that every instruction set agrees with. The instruction set is chosen once, at run time ([`isa`]);
//! work is divided by size alone, never by the number of threads ([`team`]), so the same inputs give the same bits on
//! one thread and on eight.

pub mod arith;
pub mod assemble;
pub mod attention;
pub mod buffer;
pub mod cast;
pub mod clamp;
pub mod compare;
pub mod conv;
mod disjoint;
pub mod dropout;
pub mod dtype;
pub mod elementwise;
pub mod fold;
pub mod gated;
pub mod gemm;
pub mod index;
pub mod integer;
pub mod isa;
pub mod lanes;
pub mod layout;
pub mod linear_loss;
pub mod loss;
pub mod map;
pub mod math;
pub mod norm;
pub mod optim;
pub mod pool;
pub mod quant;
pub mod reduce;
pub mod rng;
pub mod rope;
pub mod scan;
mod scratch;
pub mod select;
pub mod softmax;
pub mod stream;
pub mod team;
pub mod unary;

pub use dtype::{DType, Element, bf16, f16};
pub use layout::{Layout, MAX_RANK, Strided};
