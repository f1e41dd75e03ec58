//! What may be wrong with quantised data.

use super::Format;
use std::fmt;

/// What is wrong with a request about stored elements, with the operands as data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuantError {
    /// No format has this id.
    UnknownFormat {
        /// The id that was asked for.
        id: u32,
    },
    /// The id belonged to a format that was withdrawn.
    RemovedFormat {
        /// The id that was asked for.
        id: u32,
        /// What it stood for.
        name: &'static str,
    },
    /// A row does not hold a whole number of blocks.
    PartialBlock {
        /// The format of the row.
        format: Format,
        /// Its elements.
        len: usize,
    },
    /// The bytes do not fit the elements.
    WrongBytes {
        /// The format of the bytes.
        format: Format,
        /// The elements that they are to hold.
        len: usize,
        /// The bytes that so many elements take.
        expected: usize,
        /// The bytes that are there.
        found: usize,
    },
    /// So many elements have more bytes than can be counted.
    TooLarge {
        /// The format.
        format: Format,
        /// The elements.
        len: usize,
    },
    /// The format holds integers, which have no meaning as weights.
    NotReal {
        /// The format.
        format: Format,
    },
    /// The format can be read, not written.
    NoEncoder {
        /// The format.
        format: Format,
    },
    /// An element is not finite, where elements share a scale.
    NotFinite {
        /// The element.
        index: usize,
    },
    /// An importance is negative, not finite or above `2^40`.
    BadImportance {
        /// The column.
        index: usize,
    },
    /// Elements are so large that the scale of their block overflows.
    ScaleOverflow {
        /// The format.
        format: Format,
        /// The first element of the block.
        index: usize,
    },
    /// An operand does not have the size that the others ask for.
    WrongLength {
        /// Which operand.
        what: &'static str,
        /// The elements that it should have.
        expected: usize,
        /// The elements that it has.
        found: usize,
    },
}

impl fmt::Display for QuantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFormat { id } => {
                write!(f, "tensor type {id} is unknown; the file is damaged or newer than this program")
            }
            Self::RemovedFormat { id, name } => {
                write!(f, "tensor type {id} ({name}) was withdrawn; convert the model again from its source")
            }
            Self::PartialBlock { format, len } => write!(
                f,
                "a row of {len} elements is not a whole number of {format} blocks of {}; store it in another format",
                format.block_len()
            ),
            Self::WrongBytes { format, len, expected, found } => {
                write!(f, "{len} elements of {format} take {expected} bytes, but there are {found}")
            }
            Self::TooLarge { format, len } => write!(f, "{len} elements of {format} are more than memory can address"),
            Self::NotReal { format } => write!(f, "{format} holds integers, not weights"),
            Self::NoEncoder { format } => write!(f, "{format} can be read but not written; store it in another format"),
            Self::NotFinite { index } => {
                write!(f, "element {index} is not finite, and others share its scale; repair the weights")
            }
            Self::BadImportance { index } => write!(f, "the importance of column {index} must be from 0 to 2^40"),
            Self::ScaleOverflow { format, index } => {
                write!(f, "the scale of the {format} block at element {index} overflows; scale the elements down")
            }
            Self::WrongLength { what, expected, found } => {
                write!(f, "{what} must have {expected} elements, but has {found}")
            }
        }
    }
}

impl std::error::Error for QuantError {}
