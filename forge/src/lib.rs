//! Forge: axis names live in the type.
