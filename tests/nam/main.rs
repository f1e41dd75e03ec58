//! Neural amp profiles against the reference outputs of the original engine, and against files that are wrong.
//!
//! A small set of profiles and outputs stands in `tests/data/nam`; the full set is read from the folder that the variable
//! `FORGE_ORACLES` names. Where it is unset the rest is skipped with a word on stderr, and with `FORGE_NO_SKIP=1` that is
//! a failure.
#![allow(clippy::print_stderr, reason = "a test that skips says so")]

mod engine;
mod files;
mod fuzz;
mod oracle;
mod profiles;
mod render;
#[path = "../support/mod.rs"]
mod support;

#[global_allocator]
static ALLOCATOR: support::Counting = support::Counting;
