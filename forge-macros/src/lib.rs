//! The macros of Forge.
