//! Neural amp profiles (.nam) on Forge.
