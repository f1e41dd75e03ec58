//! Neural amp profiles (.nam) on Forge.
pub mod profile;
