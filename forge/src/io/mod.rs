//! Files: tensors in, tensors out. Nothing here panics on a file, and every file is written whole or not at all.

pub mod npy;
pub mod safetensors;

mod atomic;
