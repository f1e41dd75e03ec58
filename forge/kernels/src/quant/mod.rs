//! Block-quantised weights: the formats of ggml, byte for byte.
//!
//! - [`Format`] says how elements are stored, [`decode()`] reads them to single precision, [`encode()`] writes them.
//! - [`Matrix`] views the weights of a layer, [`matmul`] multiplies activations with them.

mod activation;
mod bytes;
mod decode;
mod dense;
mod dot;
mod encode;
mod error;
mod format;
mod levels;
mod matrix;
mod points;
mod product;

pub use decode::decode;
pub use encode::encode;
pub use error::QuantError;
pub use format::Format;
pub use matrix::Matrix;
pub use product::{Mode, matmul};
