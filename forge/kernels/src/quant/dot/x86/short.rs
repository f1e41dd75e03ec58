//! Short blocks with AVX2.

use super::lanes::{ShortLanes, additions, dots, halves_at, multiply, transpose};
use crate::quant::activation::Activations;
use crate::quant::dot::{GROUP, PANEL_FROM, Work};
use crate::scratch::Scratch;
use core::arch::x86_64::*;

/// Rows of activations that share what is loaded of a panel.
const TOKENS: usize = 4;

/// Weights of short blocks.
pub(in crate::quant::dot) fn short<F: ShortLanes>(work: &Work<'_>, put: &mut dyn FnMut(usize, &[f32; GROUP])) {
    let parts = work.x.cols / 32;
    assert!(work.rows.iter().all(|r| r.len() == parts / F::PARTS * F::BYTES), "rows of weights are whole");
    if work.x.rows < PANEL_FROM {
        for t in 0..work.x.rows {
            let mut y = [0.0; GROUP];
            // SAFETY: this arm was chosen because the CPU has its features; the rows were checked to be whole.
            unsafe { row::<F>(work, t, &mut y) };
            put(t, &y);
        }
        return;
    }
    let mut panel = Panel {
        codes: Scratch::new(parts * 256),
        scales: Scratch::new(parts * GROUP),
        mins: Scratch::new(parts * GROUP),
    };
    // SAFETY: as above.
    unsafe { pack::<F>(work, &mut panel) };
    let mut t = 0;
    while t < work.x.rows {
        let tokens = TOKENS.min(work.x.rows - t);
        let mut y = [[0.0; GROUP]; TOKENS];
        // SAFETY: as above; the panel is of this work, and there are so many rows of activations from `t`.
        unsafe {
            match tokens {
                1 => tile::<F, 1>(&panel, work.x, t, &mut y),
                2 => tile::<F, 2>(&panel, work.x, t, &mut y),
                3 => tile::<F, 3>(&panel, work.x, t, &mut y),
                _ => tile::<F, TOKENS>(&panel, work.x, t, &mut y),
            }
        }
        for (i, y) in y[..tokens].iter().enumerate() {
            put(t + i, y);
        }
        t += tokens;
    }
}

/// Scales and minima of the block at byte `at` of every row.
///
/// # Safety
/// AVX2, FMA and F16C; the block is inside every row.
#[inline(always)]
unsafe fn scales<F: ShortLanes>(rows: &[&[u8]; GROUP], at: usize) -> (__m256, __m256) {
    // SAFETY: the caller's.
    unsafe { (halves_at(rows, at), if F::MIN { halves_at(rows, at + 2) } else { _mm256_setzero_ps() }) }
}

/// The codes of part `j` of the block at byte `at` of every row.
///
/// # Safety
/// AVX2; the block is inside every row.
#[inline(always)]
unsafe fn load_rows<F: ShortLanes>(rows: &[&[u8]; GROUP], at: usize, j: usize) -> [__m256i; GROUP] {
    // SAFETY: the caller's.
    unsafe {
        let mut w = [_mm256_setzero_si256(); GROUP];
        for r in 0..GROUP {
            w[r] = F::load(rows[r].as_ptr().add(at), j);
        }
        w
    }
}

/// One row of activations with the blocks as they are stored.
///
/// # Safety
/// AVX2, FMA and F16C; the rows of weights hold `x.cols` elements.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn row<F: ShortLanes>(work: &Work<'_>, t: usize, y: &mut [f32; GROUP]) {
    let parts = work.x.cols / 32;
    let codes = work.x.codes[t * work.x.cols..][..work.x.cols].as_chunks::<32>().0;
    let scale = &work.x.scales[t * parts..][..parts];
    let sum = work.x.sums[t * 2 * parts..][..2 * parts].as_chunks::<2>().0;
    let mut acc = _mm256_setzero_ps();
    for p in 0..parts {
        let (at, j) = (p / F::PARTS * F::BYTES, p % F::PARTS);
        // SAFETY: 32 bytes.
        let x = unsafe { _mm256_loadu_si256(codes[p].as_ptr().cast()) };
        // SAFETY: block `p / PARTS` is inside every row.
        let w = unsafe { load_rows::<F>(&work.rows, at, j) };
        // SAFETY: AVX2.
        let mut total = unsafe { dots::<F>(&w, x) };
        let sum_x = i32::from(sum[p][0]) + i32::from(sum[p][1]);
        if F::ZERO != 0 {
            total = _mm256_sub_epi32(total, _mm256_set1_epi32(F::ZERO * sum_x));
        }
        // SAFETY: as above.
        let (d, m) = unsafe { scales::<F>(&work.rows, at) };
        acc = _mm256_fmadd_ps(_mm256_mul_ps(d, _mm256_set1_ps(scale[p])), _mm256_cvtepi32_ps(total), acc);
        if F::MIN {
            acc = _mm256_fmadd_ps(m, _mm256_set1_ps(scale[p] * sum_x as f32), acc);
        }
    }
    // SAFETY: eight elements.
    unsafe { _mm256_storeu_ps(y.as_mut_ptr(), acc) };
}

/// Eight rows of weights side by side.
struct Panel {
    /// `[cols / 4, 8, 4]`.
    codes: Scratch<i8>,
    /// `[cols / 32, 8]`.
    scales: Scratch<f32>,
    /// `[cols / 32, 8]`.
    mins: Scratch<f32>,
}

/// Fills a panel.
///
/// # Safety
/// AVX2, FMA and F16C; the rows of weights hold `x.cols` elements.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn pack<F: ShortLanes>(work: &Work<'_>, panel: &mut Panel) {
    let (codes, _) = panel.codes.as_chunks_mut::<256>();
    let (scale, _) = panel.scales.as_chunks_mut::<GROUP>();
    let (min, _) = panel.mins.as_chunks_mut::<GROUP>();
    for p in 0..work.x.cols / 32 {
        let (at, j) = (p / F::PARTS * F::BYTES, p % F::PARTS);
        // SAFETY: block `p / PARTS` is inside every row.
        let quads = unsafe { transpose(load_rows::<F>(&work.rows, at, j)) };
        for q in 0..8 {
            // SAFETY: 32 bytes of 256.
            unsafe { _mm256_storeu_si256(codes[p].as_mut_ptr().add(32 * q).cast(), quads[q]) };
        }
        // SAFETY: as above; eight elements each.
        unsafe {
            let (d, m) = scales::<F>(&work.rows, at);
            _mm256_storeu_ps(scale[p].as_mut_ptr(), d);
            _mm256_storeu_ps(min[p].as_mut_ptr(), m);
        }
    }
}

/// Eight outputs of `T` rows of activations from `t` on.
///
/// # Safety
/// AVX2, FMA and F16C; `panel` was filled for `x.cols` elements and the rows of activations are there.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn tile<F: ShortLanes, const T: usize>(
    panel: &Panel,
    x: &Activations,
    t: usize,
    y: &mut [[f32; GROUP]; TOKENS],
) {
    let adds = const { additions(F::SIGNED, F::TOP) };
    let parts = x.cols / 32;
    let xs: [&[[i8; 32]]; T] = std::array::from_fn(|i| x.codes[(t + i) * x.cols..][..x.cols].as_chunks().0);
    let scale: [&[f32]; T] = std::array::from_fn(|i| &x.scales[(t + i) * parts..][..parts]);
    let sum: [&[[i16; 2]]; T] = std::array::from_fn(|i| x.sums[(t + i) * 2 * parts..][..2 * parts].as_chunks().0);
    let (codes, _) = panel.codes.as_chunks::<256>();
    let (d, _) = panel.scales.as_chunks::<GROUP>();
    let (m, _) = panel.mins.as_chunks::<GROUP>();
    let ones = _mm256_set1_epi16(1);
    let mut acc = [_mm256_setzero_ps(); T];
    for p in 0..parts {
        let mut total = [_mm256_setzero_si256(); T];
        for first in (0..8).step_by(adds) {
            let mut pairs = [_mm256_setzero_si256(); T];
            for q in first..first + adds {
                // SAFETY: 32 bytes of 256.
                let w = unsafe { _mm256_loadu_si256(codes[p].as_ptr().add(32 * q).cast()) };
                for i in 0..T {
                    // SAFETY: 4 bytes of 32.
                    let four = unsafe { xs[i][p].as_ptr().add(4 * q).cast::<i32>().read_unaligned() };
                    // SAFETY: AVX2.
                    let products = unsafe { product::<F>(w, _mm256_set1_epi32(four)) };
                    pairs[i] = if q == first { products } else { _mm256_add_epi16(pairs[i], products) };
                }
            }
            for i in 0..T {
                total[i] = _mm256_add_epi32(total[i], _mm256_madd_epi16(pairs[i], ones));
            }
        }
        // SAFETY: eight elements each.
        let (d, m) = unsafe { (_mm256_loadu_ps(d[p].as_ptr()), _mm256_loadu_ps(m[p].as_ptr())) };
        for i in 0..T {
            let sum_x = i32::from(sum[i][p][0]) + i32::from(sum[i][p][1]);
            if F::ZERO != 0 {
                total[i] = _mm256_sub_epi32(total[i], _mm256_set1_epi32(F::ZERO * sum_x));
            }
            let s = _mm256_mul_ps(d, _mm256_set1_ps(scale[i][p]));
            acc[i] = _mm256_fmadd_ps(s, _mm256_cvtepi32_ps(total[i]), acc[i]);
            if F::MIN {
                acc[i] = _mm256_fmadd_ps(m, _mm256_set1_ps(scale[i][p] * sum_x as f32), acc[i]);
            }
        }
    }
    for i in 0..T {
        // SAFETY: eight elements.
        unsafe { _mm256_storeu_ps(y[i].as_mut_ptr(), acc[i]) };
    }
}

/// [`multiply`] by the format's kind of codes.
///
/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn product<F: ShortLanes>(w: __m256i, x: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe { if F::SIGNED { multiply::<true>(w, x) } else { multiply::<false>(w, x) } }
}
