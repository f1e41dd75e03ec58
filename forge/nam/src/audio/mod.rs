//! Sound in files: WAV and raw samples in, 32-bit float WAV and raw samples out, and the spectrum of a signal.
//!
//! Output files appear whole or not at all: they are written beside their place under another name, flushed to the disk
//! and then renamed.

mod atomic;
mod raw;
mod spectrum;
mod wav;

pub use atomic::write_atomic;
pub use raw::{read_raw, write_raw};
pub use spectrum::{Spectrum, welch};
pub use wav::{Sound, read_wav, write_wav};

use std::{io, path::PathBuf};

/// Why a file of sound cannot be read or written, in one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AudioError {
    /// The file cannot be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not sound of the kind that is expected.
    #[error("{} is not a WAV file that can be read: {message}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// There is not one sample in it.
    #[error("{} holds no samples: record or export it again", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is shorter than it says.
    #[error("{} was cut short: it should hold {expected}, but ends after {got}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How much it should hold.
        expected: String,
        /// How much it holds.
        got: String,
    },
    /// A sample is infinite or not a number.
    #[error("{}: sample {index} is {value}, not a finite number: export it again", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// Number of the sample in its channel, from 0.
        index: usize,
        /// What it is.
        value: f32,
    },
    /// The file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
