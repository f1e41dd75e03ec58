//! [`Matrix`]: stored weights with their sizes.

use super::{Format, QuantError, decode};
use std::ops::Range;

/// Weights as they are stored, `[rows, cols]`, row after row: `rows` outputs of `cols` inputs each. A view of bytes.
///
/// ```
/// use forge_kernels::quant::{Format, Matrix};
/// let bytes = vec![0; 3 * 2 * 34];
/// let w = Matrix::new(Format::Q8_0, 3, 64, &bytes)?;
/// assert_eq!(w.row(2).len(), 68);
/// assert_eq!(w.narrow(1..3).rows(), 2);
/// # Ok::<(), forge_kernels::quant::QuantError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    format: Format,
    rows: usize,
    cols: usize,
    row_bytes: usize,
    bytes: &'a [u8],
}

impl<'a> Matrix<'a> {
    /// Views `bytes` as `rows` rows of `cols` elements.
    ///
    /// # Errors
    /// [`QuantError::NotReal`] for integers; [`QuantError::PartialBlock`], [`QuantError::TooLarge`] or
    /// [`QuantError::WrongBytes`] when the sizes do not fit.
    pub fn new(format: Format, rows: usize, cols: usize, bytes: &'a [u8]) -> Result<Self, QuantError> {
        if !format.is_real() {
            return Err(QuantError::NotReal { format });
        }
        let row_bytes = format.row_bytes(cols)?;
        let too_large = QuantError::TooLarge { format, len: cols };
        let expected = row_bytes.checked_mul(rows).ok_or(too_large.clone())?;
        let len = cols.checked_mul(rows).ok_or(too_large)?;
        if bytes.len() != expected {
            return Err(QuantError::WrongBytes { format, len, expected, found: bytes.len() });
        }
        Ok(Self { format, rows, cols, row_bytes, bytes })
    }

    /// How the elements are stored.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Outputs.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Inputs.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The bytes of all rows.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes of row `r`.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, r: usize) -> &'a [u8] {
        &self.bytes[r * self.row_bytes..][..self.row_bytes]
    }

    /// Some of the rows.
    ///
    /// # Panics
    /// When the range leaves the matrix.
    pub fn narrow(&self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        let bytes = &self.bytes[rows.start * self.row_bytes..rows.end * self.row_bytes];
        Self { rows: rows.len(), bytes, ..*self }
    }

    /// Row `r` in single precision.
    ///
    /// # Errors
    /// [`QuantError::PartialBlock`] or [`QuantError::WrongBytes`] when `out` does not have `cols` elements.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn decode_row(&self, r: usize, out: &mut [f32]) -> Result<(), QuantError> {
        decode(self.format, self.row(r), out)
    }
}
