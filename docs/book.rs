//! The book, compiled: every chapter under `docs/src` is included here, so that each of its Rust blocks is a doctest.
