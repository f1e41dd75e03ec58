//! The quantised formats against what ggml reads and writes.
//!
//! `tests/data/quants` holds a part of the reference data; the folder `ggml-quants` under `FORGE_ORACLES` holds all of it.

#![allow(clippy::print_stderr, reason = "a skip is said aloud")]

mod decode;
mod golden;
