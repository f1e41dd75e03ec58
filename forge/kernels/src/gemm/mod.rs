//! The one matrix-product door: every contraction ends here.
//!
//! - [`gemm`] and [`gemm_batched`]: `C = A B` with any strides, also zero (a broadcast) and negative (a flip), over
//!   any number of batch loops;
//! - [`gemm_grouped`] and [`gemm_routed`]: rows sorted by group, one right operand for each group (experts, ragged
//!   batches), the rows of A in place or picked by an index.
//!
//! # What the bits depend on
//! Every element of C is the same function of its row of A, its column of B and the old value, on every path:
//!
//! 1. the contracted axis is cut into blocks of 256;
//! 2. in a block, `sum = a * b + sum` in the order of k, from `sum = 0`, with one rounding for each step where the
//!    instruction set has a fused multiply-add (AVX2, AVX-512, aarch64) and two where not;
//! 3. the sums of the blocks are added in order, to the old value of C first when accumulating.
//!
//! So the bits do not depend on the number of threads, on m and n, on the strides, on the batch (a chunked prefill
//! equals one row at a time), nor on the arm among those with fused multiply-add. No product is skipped and nothing is
//! padded: a NaN or an infinity in A or B reaches exactly the elements that mathematics says.
//!
//! # How it is fast
//! The path is chosen by size and layout alone: register tiles over packed, cache-sized panels; tiles straight on the
//! operands when they are small or few rows pass by; for one to four rows, B is streamed once, by rows or
//! (weights stored `[out, in]`) by columns transposed in registers. Pack buffers are thread-local and reused. Large
//! products are cut into rectangles of C for the [`team`](crate::team), never along k; a few for each thread, since the
//! cuts do not show in the bits.

mod arm;
mod batch;
mod blocked;
mod check;
mod micro;
mod pack;
mod rect;
mod routed;
mod scratch;
#[cfg(test)]
mod tests;
pub(crate) mod vector;

pub use batch::{BatchDim, gemm_batched};
pub use routed::{gemm_grouped, gemm_routed};

use crate::math::Real;

/// The floats that matrices are multiplied in: `f32`, `f64`. Sealed.
pub trait GemmFloat: Real + arm::Kernels {}
impl GemmFloat for f32 {}
impl GemmFloat for f64 {}

/// A matrix to read: element `(i, j)` is `data[offset + i * row_stride + j * col_stride]`. Strides are in elements and
/// may be zero or negative.
#[derive(Clone, Copy, Debug)]
pub struct MatRef<'a, T> {
    /// The elements.
    pub data: &'a [T],
    /// Position of element `(0, 0)`.
    pub offset: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Distance of two rows.
    pub row_stride: isize,
    /// Distance of two columns.
    pub col_stride: isize,
}

impl<'a, T> MatRef<'a, T> {
    /// A dense row-major matrix at the start of `data`.
    pub fn row_major(data: &'a [T], rows: usize, cols: usize) -> Self {
        Self { data, offset: 0, rows, cols, row_stride: cols as isize, col_stride: 1 }
    }

    /// The transpose of this matrix.
    #[must_use]
    pub fn t(self) -> Self {
        Self { rows: self.cols, cols: self.rows, row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }
}

/// A matrix to write: element `(i, j)` is `data[offset + i * row_stride + j * col_stride]`. Distinct elements must lie
/// at distinct places, so a stride of zero is an error where the size is more than one.
#[derive(Debug)]
pub struct MatMut<'a, T> {
    /// The elements.
    pub data: &'a mut [T],
    /// Position of element `(0, 0)`.
    pub offset: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Distance of two rows.
    pub row_stride: isize,
    /// Distance of two columns.
    pub col_stride: isize,
}

impl<'a, T> MatMut<'a, T> {
    /// A dense row-major matrix at the start of `data`.
    pub fn row_major(data: &'a mut [T], rows: usize, cols: usize) -> Self {
        Self::with_row_stride(data, rows, cols, cols)
    }

    /// A row-major matrix at the start of `data` whose rows are `row_stride >= cols` apart.
    pub fn with_row_stride(data: &'a mut [T], rows: usize, cols: usize, row_stride: usize) -> Self {
        Self { data, offset: 0, rows, cols, row_stride: row_stride as isize, col_stride: 1 }
    }
}

/// What else happens to C. [`Default`] is plain `C = A B`.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a, T> {
    /// `C += A B`: the old values are the start of each sum, and must be initialised.
    pub accumulate: bool,
    /// Added to each row of C after the product: one value for each column.
    pub bias: Option<&'a [T]>,
    /// Maps dense runs of finished elements of C in place, after the bias; element by element, since where the runs
    /// begin and end is not specified. The kernels of activations have this form.
    pub activation: Option<fn(&mut [T])>,
}

impl<T> Default for Options<'_, T> {
    fn default() -> Self {
        Self { accumulate: false, bias: None, activation: None }
    }
}

/// `C = A B`, `[m, k] x [k, n] -> [m, n]`, with the [`Options`] applied. With `k = 0` the product is zero.
///
/// # Panics
/// When the sizes do not agree, a stride leads outside of `data`, or two elements of C would coincide.
///
/// ```
/// use forge_kernels::gemm::{gemm, MatMut, MatRef, Options};
/// let a = [1.0f32, 2.0, 3.0, 4.0];
/// let mut c = [0.0; 4];
/// let a = MatRef::row_major(&a, 2, 2);
/// gemm(a, a.t(), MatMut::row_major(&mut c, 2, 2), &Options::default());
/// assert_eq!(c, [5.0, 11.0, 11.0, 25.0]);
/// ```
pub fn gemm<T: GemmFloat>(a: MatRef<T>, b: MatRef<T>, c: MatMut<T>, options: &Options<T>) {
    gemm_batched(&[], a, b, c, options);
}
