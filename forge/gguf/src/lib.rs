//! GGUF model files: read in place, written by streaming.
//!
//! A GGUF file is a header (metadata and the names, types, sizes and places of tensors) and the tensors' bytes. [`Gguf`]
//! reads versions 2 and 3, whole or [split](Gguf::open) over several files, with every type of value ([`Metadata`]) and
//! of tensor ([`GgmlType`]). [`Writer`] makes new files and changes old ones; a file that is not changed is written
//! again byte for byte.
//!
//! Nothing in a file is trusted: counts are held against the bytes that are left before anything is allocated
//! ([`Limits`] says how much that is), arithmetic is checked, and [`GgufError`] says what is wrong, where, and what to
//! do.
//!
//! The format is described in ggml's `docs/gguf.md`.

mod atomic;
mod error;
mod file;
mod kind;
mod limits;
mod metadata;
mod parse;
mod split;
mod storage;
mod value;
mod write;

pub use error::{GgufError, Result};
pub use file::{Gguf, Options, Tensor};
pub use kind::GgmlType;
pub use limits::Limits;
pub use metadata::Metadata;
pub use parse::TensorInfo;
pub use storage::{Load, TensorBytes};
pub use value::{Array, Element, Fixed, FromValue, Strings, ToValue, Value, ValueType, Values};
pub use write::{Output, Writer};
