//! Neural amp profiles (.nam) on Forge.
//!
//! [`profile`] reads the files, [`model`] makes typed networks of them that run block by block, [`player`] plays one
//! channel of sound through them, [`audio`] reads and writes sound.

pub mod audio;
pub mod model;
pub mod player;
pub mod profile;
