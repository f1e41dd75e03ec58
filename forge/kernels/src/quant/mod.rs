//! Block-quantised weights: the formats of ggml, byte for byte.
//!
//! - [`Format`] says how elements are stored, [`decode()`] reads them to single precision.

mod bytes;
mod decode;
mod error;
mod format;
mod levels;
mod points;

pub use decode::decode;
pub use error::QuantError;
pub use format::Format;
