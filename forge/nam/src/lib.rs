//! Neural amp profiles (.nam) on Forge.
//!
//! [`profile`] reads the files, [`engine`] plays them in a callback that may not wait, [`model`] says what it plays as
//! typed networks that run block by block, [`player`] plays one channel of sound through those, [`audio`] reads and writes
//! sound.

pub mod audio;
mod cursor;
pub mod engine;
pub mod model;
mod options;
pub mod player;
pub mod profile;
