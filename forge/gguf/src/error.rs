//! What can be wrong with a GGUF file, or with a request to read or write one.

use std::{io, path::PathBuf};

/// `Result` with a [`GgufError`].
pub type Result<T> = std::result::Result<T, GgufError>;

/// Why a GGUF file cannot be read or written: what, where, and what to do, in one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// Something is wrong with this file.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: Box<GgufError>,
    },
    /// The system refused.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no GGUF file.
    #[error("not a GGUF file: it begins with {found:02x?} instead of `GGUF`{hint}")]
    NotGguf {
        /// Its first bytes, at most four.
        found: Vec<u8>,
        /// What it looks like instead, with a leading separator; may be empty.
        hint: &'static str,
    },
    /// The numbers of the file are stored with the high byte first.
    #[error("the file is big-endian GGUF: convert it with llama.cpp's gguf_convert_endian.py")]
    BigEndian,
    /// A version of the format that this library does not read.
    #[error("GGUF version {found} is not supported (2 and 3 are): convert the model again with a current tool")]
    Version {
        /// The version of the file.
        found: u32,
    },
    /// The file ends too early.
    #[error("{what} needs {need} bytes at offset {at}, and the file has {have}: it is truncated, download it again")]
    Truncated {
        /// What stands there.
        what: String,
        /// Where in the file.
        at: u64,
        /// Bytes that it needs.
        need: u64,
        /// Bytes that are left.
        have: u64,
    },
    /// A count that the rest of the file cannot hold.
    #[error("{what} says {count}, but at most {most} fit in the rest of the file: it is damaged, download it again")]
    Count {
        /// What is counted.
        what: String,
        /// What the file says.
        count: u64,
        /// The most that fits.
        most: u64,
    },
    /// The file passes a limit of [`Limits`](crate::Limits).
    #[error("{what} is {got}, more than the limit of {limit}: if it is meant, raise `Limits::{name}`")]
    Limit {
        /// What is too large.
        what: String,
        /// How large it is.
        got: u64,
        /// The largest that is allowed.
        limit: u64,
        /// The field of [`Limits`](crate::Limits) that allows more.
        name: &'static str,
    },
    /// A name that is not UTF-8.
    #[error("{what} at offset {at} is not UTF-8: the file is damaged, download it again")]
    NotUtf8 {
        /// What stands there.
        what: String,
        /// Where in the file.
        at: u64,
    },
    /// A metadata value of a type that does not exist.
    #[error("metadata `{key}` has the unknown value type {id}: the file is damaged or newer than this library")]
    UnknownValueType {
        /// The key.
        key: String,
        /// The number in the file.
        id: u32,
    },
    /// Arrays nested too deeply.
    #[error("metadata `{key}` nests arrays deeper than {limit}: no tool writes this, get the file from its source")]
    TooDeep {
        /// The key.
        key: String,
        /// The deepest level read.
        limit: usize,
    },
    /// The same key or tensor twice.
    #[error("{what} `{name}` stands twice in the file: it is damaged, convert the model again")]
    Duplicate {
        /// `metadata` or `tensor`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// `general.alignment` is no usable alignment.
    #[error("general.alignment is {found}, not a power of two from 1 to 2^20: convert the model again")]
    Alignment {
        /// What the file says.
        found: u64,
    },
    /// A tensor of a type that does not exist or was withdrawn.
    #[error("tensor `{tensor}` has type {id}{name}, which {why}")]
    UnknownTensorType {
        /// The tensor.
        tensor: String,
        /// The number in the file.
        id: u32,
        /// Its former name in parentheses with a leading space; empty if it never had one.
        name: String,
        /// Why it cannot be read, and what to do.
        why: &'static str,
    },
    /// A tensor whose sizes make no sense.
    #[error("tensor `{tensor}` {what}: the file is damaged, convert the model again")]
    Shape {
        /// The tensor.
        tensor: String,
        /// What is wrong.
        what: String,
    },
    /// A tensor's bytes are not all in the file.
    #[error(
        "tensor `{tensor}` needs {need} bytes at offset {at}, and the file has {have} there: it is truncated, download it again"
    )]
    TensorTruncated {
        /// The tensor.
        tensor: String,
        /// Where its bytes begin in the file.
        at: u64,
        /// Bytes that it needs.
        need: u64,
        /// Bytes that are there.
        have: u64,
    },
    /// Two tensors share bytes.
    #[error("tensors `{first}` and `{second}` overlap in the file: it is damaged, convert the model again")]
    Overlap {
        /// The one that begins first.
        first: String,
        /// The other.
        second: String,
    },
    /// The parts of a split model do not belong together.
    #[error("{what}")]
    Split {
        /// What is wrong, and what to do.
        what: String,
    },
    /// Metadata that is needed is not there.
    #[error("metadata `{key}` is missing: the file is no model of the expected kind, or was converted by an old tool")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// Metadata of another type than asked for.
    #[error("metadata `{key}` is {found}, expected {expected}")]
    WrongType {
        /// The key.
        key: String,
        /// What was asked for.
        expected: &'static str,
        /// What the file has.
        found: String,
    },
    /// A tensor that is needed is not there.
    #[error("tensor `{tensor}` is missing{hint}")]
    MissingTensor {
        /// The tensor.
        tensor: String,
        /// A tensor of a similar name, with a leading separator; may be empty.
        hint: String,
    },
    /// A value that cannot be written.
    #[error("cannot write {what}: {why}")]
    Unwritable {
        /// What was to be written.
        what: String,
        /// Why it cannot.
        why: String,
    },
    /// Memory could not be had.
    #[error("{what} needs {bytes} bytes of memory, which the system refused: free some, or map the file instead")]
    OutOfMemory {
        /// What needs it.
        what: &'static str,
        /// How much.
        bytes: u64,
    },
}

impl GgufError {
    /// This error, said of the file at `path`.
    pub(crate) fn of(self, path: &std::path::Path) -> Self {
        match self {
            Self::File { .. } => self,
            other => Self::File { path: path.to_owned(), source: Box::new(other) },
        }
    }

    /// The error without the name of the file.
    ///
    /// ```
    /// use forge_gguf::{Gguf, GgufError};
    /// let e = Gguf::from_bytes(b"GGML".to_vec()).unwrap_err();
    /// assert!(matches!(e.cause(), GgufError::NotGguf { .. }));
    /// ```
    pub fn cause(&self) -> &Self {
        match self {
            Self::File { source, .. } => source.cause(),
            other => other,
        }
    }

    /// [`GgufError::Io`] while doing `what`.
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }

    /// [`GgufError::WrongType`].
    pub(crate) fn wrong(key: &str, expected: &'static str, found: impl Into<String>) -> Self {
        Self::WrongType { key: key.to_owned(), expected, found: found.into() }
    }
}
