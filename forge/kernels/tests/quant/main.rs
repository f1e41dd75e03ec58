//! The quantised formats against what ggml reads and writes, and the products with them.
//!
//! `tests/data/quants` holds a part of the reference data; the folder `ggml-quants` under `FORGE_ORACLES` holds all of it.

#![allow(clippy::print_stderr, reason = "a test that skips says so")]

mod decode;
mod encode;
mod golden;
mod product;
