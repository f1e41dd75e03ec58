//! AVX2.

use super::{LANES, ROWS, Work};
use core::arch::x86_64::*;

/// A number type that eight lanes are loaded from.
pub(super) trait Load {
    /// Bytes of a number.
    const BYTES: usize;
    /// Eight numbers.
    ///
    /// # Safety
    /// AVX2 and F16C; eight numbers at `p`.
    unsafe fn load(p: *const u8) -> __m256;
}

/// Single precision.
pub(super) struct F32;
/// Half precision.
pub(super) struct F16;
/// The upper half of single precision.
pub(super) struct BF16;

impl Load for F32 {
    const BYTES: usize = 4;
    #[inline(always)]
    unsafe fn load(p: *const u8) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_loadu_ps(p.cast()) }
    }
}

impl Load for F16 {
    const BYTES: usize = 2;
    #[inline(always)]
    unsafe fn load(p: *const u8) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(p.cast())) }
    }
}

impl Load for BF16 {
    const BYTES: usize = 2;
    #[inline(always)]
    unsafe fn load(p: *const u8) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast())), 16)) }
    }
}

/// Rows of activations that share what is loaded of four rows of weights: twelve sums.
const TOKENS: usize = 3;

/// The products of all rows of activations.
pub(super) fn products<L: Load>(work: &Work<'_>, put: &mut dyn FnMut(usize, &[f32; ROWS])) {
    let cols = work.cols;
    assert!(work.w.iter().all(|w| w.len() == cols * L::BYTES), "rows of weights are whole");
    let m = work.x.len() / cols;
    let mut t = 0;
    while t < m {
        let tokens = TOKENS.min(m - t);
        let x = &work.x[t * cols..][..tokens * cols];
        let mut y = [[0.0; ROWS]; TOKENS];
        // SAFETY: this arm was chosen because the CPU has its features; the rows were checked to be whole, and `x` holds
        // so many rows.
        unsafe {
            match tokens {
                1 => tile::<L, 8, 1>(work, 0, x, &mut y),
                2 => {
                    tile::<L, 4, 2>(work, 0, x, &mut y);
                    tile::<L, 4, 2>(work, 4, x, &mut y);
                }
                _ => {
                    tile::<L, 4, TOKENS>(work, 0, x, &mut y);
                    tile::<L, 4, TOKENS>(work, 4, x, &mut y);
                }
            }
        }
        for (i, y) in y[..tokens].iter().enumerate() {
            put(t + i, y);
        }
        t += tokens;
    }
}

/// The products of `R` rows of weights from `first` on with the `T` rows of `x`.
///
/// # Safety
/// AVX2, FMA and F16C; rows of weights and of `x` hold `work.cols` numbers.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn tile<L: Load, const R: usize, const T: usize>(
    work: &Work<'_>,
    first: usize,
    x: &[f32],
    y: &mut [[f32; ROWS]; TOKENS],
) {
    let cols = work.cols;
    let whole = cols / LANES * LANES;
    let mut acc = [[_mm256_setzero_ps(); T]; R];
    let mut k = 0;
    while k < whole {
        let mut xs = [_mm256_setzero_ps(); T];
        for t in 0..T {
            // SAFETY: `k + 8 <= cols`.
            xs[t] = unsafe { _mm256_loadu_ps(x.as_ptr().add(t * cols + k)) };
        }
        for r in 0..R {
            // SAFETY: as above.
            let w = unsafe { L::load(work.w.get_unchecked(first + r).as_ptr().add(k * L::BYTES)) };
            for t in 0..T {
                acc[r][t] = _mm256_fmadd_ps(w, xs[t], acc[r][t]);
            }
        }
        k += LANES;
    }
    if k < cols {
        let mut xs = [_mm256_setzero_ps(); T];
        for t in 0..T {
            let mut last = [0.0f32; LANES];
            last[..cols - k].copy_from_slice(&x[t * cols + k..(t + 1) * cols]);
            // SAFETY: eight numbers.
            xs[t] = unsafe { _mm256_loadu_ps(last.as_ptr()) };
        }
        for r in 0..R {
            let mut last = [0u8; 4 * LANES];
            last[..(cols - k) * L::BYTES].copy_from_slice(&work.w[first + r][k * L::BYTES..]);
            // SAFETY: eight numbers of at most four bytes.
            let w = unsafe { L::load(last.as_ptr()) };
            for t in 0..T {
                acc[r][t] = _mm256_fmadd_ps(w, xs[t], acc[r][t]);
            }
        }
    }
    for r in 0..R {
        for t in 0..T {
            let four = _mm_add_ps(_mm256_castps256_ps128(acc[r][t]), _mm256_extractf128_ps(acc[r][t], 1));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            let one = _mm_add_ss(two, _mm_shuffle_ps(two, two, 1));
            y[t][first + r] = _mm_cvtss_f32(one);
        }
    }
}

/// Decodes numbers.
pub(in crate::quant) fn decode_f16(bytes: &[u8], out: &mut [f32]) {
    assert_eq!(bytes.len(), 2 * out.len(), "a number is two bytes");
    // SAFETY: this arm was chosen because the CPU has its features.
    unsafe { decode::<F16>(bytes, out) };
}

/// # Safety
/// AVX2 and F16C; `bytes` hold `out.len()` numbers.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn decode<L: Load>(bytes: &[u8], out: &mut [f32]) {
    let (eights, rest) = out.as_chunks_mut::<LANES>();
    let whole = eights.len() * LANES * L::BYTES;
    for (i, out) in eights.iter_mut().enumerate() {
        // SAFETY: eight numbers each.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), L::load(bytes.as_ptr().add(i * LANES * L::BYTES))) };
    }
    if !rest.is_empty() {
        let mut last = [0u8; 4 * LANES];
        last[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
        let mut numbers = [0.0f32; LANES];
        // SAFETY: eight numbers of at most four bytes.
        unsafe { _mm256_storeu_ps(numbers.as_mut_ptr(), L::load(last.as_ptr())) };
        rest.copy_from_slice(&numbers[..rest.len()]);
    }
}
