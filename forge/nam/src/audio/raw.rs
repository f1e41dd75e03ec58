//! Files of bare samples: little-endian 32-bit floats, one channel, no header.

use super::{AudioError, write_atomic};
use std::{fs, path::Path};

/// Reads a file of bare samples.
///
/// # Errors
/// When it cannot be read, is empty, ends within a sample, or holds a sample that is not finite.
pub fn read_raw(path: impl AsRef<Path>) -> Result<Vec<f32>, AudioError> {
    let path = path.as_ref();
    let bytes = fs::read(path).map_err(|source| AudioError::Read { path: path.to_owned(), source })?;
    let (samples, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(AudioError::Truncated {
            path: path.to_owned(),
            expected: "4 bytes a sample".to_owned(),
            got: format!("{} bytes", bytes.len()),
        });
    }
    checked(path, samples.iter().map(|b| f32::from_le_bytes(*b)).collect())
}

/// Writes bare samples, whole or not at all.
///
/// # Errors
/// [`AudioError::Write`].
pub fn write_raw(path: impl AsRef<Path>, samples: &[f32]) -> Result<(), AudioError> {
    write_atomic(path, &samples.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())
}

/// The samples, if there are some and all are finite.
pub(super) fn checked(path: &Path, samples: Vec<f32>) -> Result<Vec<f32>, AudioError> {
    if samples.is_empty() {
        return Err(AudioError::Empty { path: path.to_owned() });
    }
    match samples.iter().position(|v| !v.is_finite()) {
        None => Ok(samples),
        Some(index) => Err(AudioError::NotFinite { path: path.to_owned(), index, value: samples[index] }),
    }
}
