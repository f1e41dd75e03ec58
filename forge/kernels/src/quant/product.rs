//! [`matmul`]: the product of activations with stored weights.

use super::activation::Activations;
use super::{Matrix, QuantError, dense, dot};

/// How a product treats quantised weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Activations are rounded to signed bytes with a scale per 32 or 256 of them, and integers are multiplied, where the
    /// format has an integer kernel.
    #[default]
    Fast,
    /// Activations stay as they are, weights are decoded, and everything is single precision.
    Exact,
}

/// `out[t][r] = sum_k w[r][k] x[t][k]`: `m` rows of activations `x` (`[m, w.cols]`) times the weights `w`, to `out`
/// (`[m, w.rows]`).
///
/// A row of `out` depends on its row of `x` alone, to the bit: a batch gives what its rows give one by one, on any
/// number of threads. In [`Mode::Fast`] a quantised format also gives the same bits on every instruction set.
///
/// # Errors
/// [`QuantError::WrongLength`] when `x` or `out` does not have the size that `m` and `w` ask for.
///
/// ```
/// use forge_kernels::quant::{Format, Matrix, Mode, matmul};
/// let bytes: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
/// let w = Matrix::new(Format::F32, 2, 2, &bytes)?;
/// let mut out = [0.0; 2];
/// matmul(&w, &[10.0, 1.0], 1, &mut out, Mode::Fast)?;
/// assert_eq!(out, [12.0, 34.0]);
/// # Ok::<(), forge_kernels::quant::QuantError>(())
/// ```
pub fn matmul(w: &Matrix<'_>, x: &[f32], m: usize, out: &mut [f32], mode: Mode) -> Result<(), QuantError> {
    let size = |what, n: usize, found| {
        let expected = n.checked_mul(m).ok_or(QuantError::TooLarge { format: w.format(), len: n })?;
        if found == expected { Ok(()) } else { Err(QuantError::WrongLength { what, expected, found }) }
    };
    size("x", w.cols(), x.len())?;
    size("out", w.rows(), out.len())?;
    if out.is_empty() {
        return Ok(());
    }
    if w.cols() == 0 {
        out.fill(0.0);
        return Ok(());
    }
    match dot::block(w.format()) {
        Some(block) if mode == Mode::Fast => dot::matmul(w, &Activations::new(x, m, w.cols(), block), out),
        _ => dense::matmul(w, x, out),
    }
    Ok(())
}
