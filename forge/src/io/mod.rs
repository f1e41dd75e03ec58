//! Files: tensors in, tensors out. Nothing here panics on a file, and every file is written whole or not at all.

mod atomic;
pub mod checkpoint;
pub mod npy;
pub mod safetensors;

pub use checkpoint::{Checkpoint, TrainerState};
