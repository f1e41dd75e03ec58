//! WAV files.

use super::raw::checked;
use super::{AudioError, write_atomic};
use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use std::{
    fs::File,
    io::{self, BufReader, Cursor, Read},
    path::Path,
};

/// One channel of sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Sound {
    /// Samples a second.
    pub sample_rate: u32,
    /// The samples; full scale is 1.
    pub samples: Vec<f32>,
    /// How many channels the file has. `samples` is the first.
    pub channels: u16,
}

/// Reads the first channel of a WAV file.
///
/// Integers of 8 to 32 bits become numbers in -1..1 (divided by 2^(bits - 1)); 32-bit floats are taken as they are.
///
/// # Errors
/// When it cannot be read, is no WAV file of these kinds, holds no samples, ends too early, or holds a sample that is not
/// finite.
pub fn read_wav(path: impl AsRef<Path>) -> Result<Sound, AudioError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|source| AudioError::Read { path: path.to_owned(), source })?;
    let mut reader = WavReader::new(BufReader::new(file)).map_err(|e| refuse(path, e, "a header", "less"))?;
    let spec = reader.spec();
    let unsupported = |message: String| AudioError::Format { path: path.to_owned(), message };
    if spec.channels == 0 || spec.sample_rate == 0 {
        return Err(unsupported("it states no channel or no sample rate".to_owned()));
    }
    let samples = match (spec.sample_format, spec.bits_per_sample) {
        (SampleFormat::Float, 32) => collect(path, &mut reader, |v: f32| v),
        (SampleFormat::Int, bits @ 8..=32) => {
            // An integer of 32 bits is rounded to the nearest 32-bit float.
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "rounding is meant")]
            let scale = |v: i32| (f64::from(v) / f64::from(1u32 << (bits - 1))) as f32;
            collect(path, &mut reader, scale)
        }
        (format, bits) => {
            let kind = if format == SampleFormat::Float { "float" } else { "integer" };
            return Err(unsupported(format!(
                "{bits}-bit {kind} samples; convert it to 24-bit integer or 32-bit float"
            )));
        }
    }?;
    Ok(Sound { sample_rate: spec.sample_rate, samples: checked(path, samples)?, channels: spec.channels })
}

/// The samples of the first channel. The header's count is believed only as far as there are samples.
fn collect<R: Read, S: hound::Sample>(
    path: &Path,
    reader: &mut WavReader<R>,
    scale: impl Fn(S) -> f32,
) -> Result<Vec<f32>, AudioError> {
    let channels = usize::from(reader.spec().channels);
    let total = reader.len();
    let mut samples = Vec::new();
    let mut got = 0usize;
    for sample in reader.samples::<S>() {
        let sample = sample.map_err(|e| refuse(path, e, &format!("{total} samples"), &got.to_string()))?;
        if got.is_multiple_of(channels) {
            samples.push(scale(sample));
        }
        got += 1;
    }
    Ok(samples)
}

fn refuse(path: &Path, error: hound::Error, expected: &str, got: &str) -> AudioError {
    let path = path.to_owned();
    match error {
        hound::Error::IoError(source) => match source.kind() {
            // How a file that ends is reported depends on where it ends.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::Other => {
                AudioError::Truncated { path, expected: expected.to_owned(), got: got.to_owned() }
            }
            _ => AudioError::Read { path, source },
        },
        hound::Error::FormatError(message) => AudioError::Format { path, message: message.to_owned() },
        other => AudioError::Format { path, message: other.to_string() },
    }
}

/// Writes one channel as a WAV file of 32-bit floats, whole or not at all.
///
/// # Errors
/// [`AudioError::Write`].
pub fn write_wav(path: impl AsRef<Path>, sample_rate: u32, samples: &[f32]) -> Result<(), AudioError> {
    let path = path.as_ref();
    let bytes = encode(sample_rate, samples).map_err(|e| {
        let source = match e {
            hound::Error::IoError(source) => source,
            other => io::Error::other(other.to_string()),
        };
        AudioError::Write { path: path.to_owned(), source }
    })?;
    write_atomic(path, &bytes)
}

fn encode(sample_rate: u32, samples: &[f32]) -> Result<Vec<u8>, hound::Error> {
    // Sizes in a WAV file have 32 bits.
    if samples.len() > (u32::MAX as usize - 1024) / 4 {
        return Err(hound::Error::TooWide);
    }
    let spec = WavSpec { channels: 1, sample_rate, bits_per_sample: 32, sample_format: SampleFormat::Float };
    let mut bytes = Cursor::new(Vec::with_capacity(samples.len() * 4 + 128));
    let mut writer = WavWriter::new(&mut bytes, spec)?;
    for &v in samples {
        writer.write_sample(v)?;
    }
    writer.finalize()?;
    Ok(bytes.into_inner())
}
