//! AVX2.

mod lanes;
mod short;
mod super_block;

pub(super) use short::short;
pub(super) use super_block::super_block;
