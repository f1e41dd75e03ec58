//! Blocks of 256 with AVX2.

use super::lanes::{SuperLanes, additions, halves_at, multiply, sums, transpose};
use crate::quant::activation::Activations;
use crate::quant::dot::{GROUP, PANEL_FROM, Work};
use crate::scratch::Scratch;
use core::arch::x86_64::*;

/// Rows of activations that share what is loaded of a panel.
const TOKENS: usize = 4;

/// Weights of blocks of 256.
pub(in crate::quant::dot) fn super_block<F: SuperLanes>(work: &Work<'_>, put: &mut dyn FnMut(usize, &[f32; GROUP])) {
    let blocks = work.x.cols / 256;
    assert!(work.rows.iter().all(|r| r.len() == blocks * F::BYTES), "rows of weights are whole");
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
        codes: Scratch::new(blocks * 2048),
        scales: Scratch::new(blocks * 256),
        offsets: Scratch::new(blocks * 128),
        d: Scratch::new(blocks * 2 * GROUP),
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

/// The scales of the scales and of the minima of the block at byte `at` of every row.
///
/// # Safety
/// AVX2, FMA and F16C; the block is inside every row.
#[inline(always)]
unsafe fn block_scales<F: SuperLanes>(rows: &[&[u8]; GROUP], at: usize) -> (__m256, __m256) {
    let at = at + F::SCALE;
    // SAFETY: the caller's.
    unsafe { (halves_at(rows, at), if F::MIN { halves_at(rows, at + 2) } else { _mm256_setzero_ps() }) }
}

/// One row of activations with the blocks as they are stored.
///
/// # Safety
/// AVX2, FMA and F16C; the rows of weights hold `x.cols` elements.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn row<F: SuperLanes>(work: &Work<'_>, t: usize, y: &mut [f32; GROUP]) {
    let blocks = work.x.cols / 256;
    let codes = work.x.codes[t * work.x.cols..][..work.x.cols].as_chunks::<256>().0;
    let scale = &work.x.scales[t * blocks..][..blocks];
    let sum = work.x.sums[t * 16 * blocks..][..16 * blocks].as_chunks::<16>().0;
    let mut acc = _mm256_setzero_ps();
    for b in 0..blocks {
        let mut total = [_mm256_setzero_si256(); GROUP];
        let mut total_m = [_mm256_setzero_si256(); GROUP];
        // SAFETY: 32 bytes.
        let sum_x = unsafe { _mm256_loadu_si256(sum[b].as_ptr().cast()) };
        for r in 0..GROUP {
            // SAFETY: block `b` is inside every row.
            let block = unsafe { work.rows[r].as_ptr().add(b * F::BYTES) };
            // SAFETY: as above.
            let (w, (s, o)) = unsafe { (F::load(block), F::factors(block)) };
            let offset = _mm256_madd_epi16(o, sum_x);
            let mut part = if !F::MIN && F::ZERO != 0 {
                _mm256_sub_epi32(_mm256_setzero_si256(), offset)
            } else {
                _mm256_setzero_si256()
            };
            for p in 0..8 {
                // SAFETY: 32 bytes of 256.
                let x = unsafe { _mm256_loadu_si256(codes[b].as_ptr().add(32 * p).cast()) };
                let pick = _mm256_set1_epi16((2 * p + ((2 * p + 1) << 8)) as i16);
                let s = _mm256_shuffle_epi8(s, pick);
                // SAFETY: AVX2.
                let products = unsafe { product::<F>(w[p], x) };
                part = _mm256_add_epi32(part, _mm256_madd_epi16(products, s));
            }
            total[r] = part;
            total_m[r] = offset;
        }
        // SAFETY: AVX2; block `b` is inside every row.
        let (total, (d, dmin)) = unsafe { (sums(&total), block_scales::<F>(&work.rows, b * F::BYTES)) };
        let dx = _mm256_set1_ps(scale[b]);
        acc = _mm256_fmadd_ps(_mm256_mul_ps(d, dx), _mm256_cvtepi32_ps(total), acc);
        if F::MIN {
            // SAFETY: as above.
            let total = unsafe { sums(&total_m) };
            acc = _mm256_fnmadd_ps(_mm256_mul_ps(dmin, dx), _mm256_cvtepi32_ps(total), acc);
        }
    }
    // SAFETY: eight elements.
    unsafe { _mm256_storeu_ps(y.as_mut_ptr(), acc) };
}

/// Eight rows of weights side by side.
struct Panel {
    /// `[cols / 4, 8, 4]`.
    codes: Scratch<i8>,
    /// `[cols / 16, 8, 2]`: the scale of each sixteenth, twice.
    scales: Scratch<i16>,
    /// `[cols / 32, 8, 2]`: what the sums of two sixteenths are multiplied by.
    offsets: Scratch<i16>,
    /// `[cols / 256, 2, 8]`: the scales of the scales and of the minima.
    d: Scratch<f32>,
}

/// Sixteen bytes of each of eight rows, as 16-bit elements twice: `[16, 8, 2]`.
///
/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn store_scales(s: &[__m128i; GROUP], out: &mut [i16; 256]) {
    // SAFETY: the caller's; 32 bytes each of 512.
    unsafe {
        // Transposed in three steps: pairs of rows, fours, eights. Then each register holds two sixteenths of all rows.
        let mut a = [_mm_setzero_si128(); 8];
        for i in 0..4 {
            a[i] = _mm_unpacklo_epi8(s[2 * i], s[2 * i + 1]);
            a[i + 4] = _mm_unpackhi_epi8(s[2 * i], s[2 * i + 1]);
        }
        let mut b = [_mm_setzero_si128(); 8];
        for half in 0..2 {
            for i in 0..2 {
                b[4 * half + 2 * i] = _mm_unpacklo_epi16(a[4 * half + 2 * i], a[4 * half + 2 * i + 1]);
                b[4 * half + 2 * i + 1] = _mm_unpackhi_epi16(a[4 * half + 2 * i], a[4 * half + 2 * i + 1]);
            }
        }
        for half in 0..2 {
            for i in 0..2 {
                let (x, y) = (b[4 * half + i], b[4 * half + i + 2]);
                let g = 8 * half + 4 * i;
                for (g, v) in [(g, _mm_unpacklo_epi32(x, y)), (g + 2, _mm_unpackhi_epi32(x, y))] {
                    let out = out.as_mut_ptr().add(16 * g).cast::<__m256i>();
                    let (first, second) = (_mm_unpacklo_epi8(v, v), _mm_unpackhi_epi8(v, v));
                    _mm256_storeu_si256(out, _mm256_cvtepi8_epi16(first));
                    _mm256_storeu_si256(out.add(1), _mm256_cvtepi8_epi16(second));
                }
            }
        }
    }
}

/// Fills a panel.
///
/// # Safety
/// AVX2, FMA and F16C; the rows of weights hold `x.cols` elements.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn pack<F: SuperLanes>(work: &Work<'_>, panel: &mut Panel) {
    let (codes, _) = panel.codes.as_chunks_mut::<2048>();
    let (scale, _) = panel.scales.as_chunks_mut::<256>();
    let (offset, _) = panel.offsets.as_chunks_mut::<128>();
    let (d, _) = panel.d.as_chunks_mut::<16>();
    for b in 0..work.x.cols / 256 {
        let mut w = [[_mm256_setzero_si256(); 8]; GROUP];
        let mut offsets = [_mm256_setzero_si256(); GROUP];
        let mut scales = [_mm_setzero_si128(); GROUP];
        for r in 0..GROUP {
            let block = &work.rows[r][b * F::BYTES..(b + 1) * F::BYTES];
            // SAFETY: the block is whole.
            w[r] = unsafe { F::load(block.as_ptr()) };
            // SAFETY: AVX2.
            offsets[r] = unsafe { F::factors(block.as_ptr()) }.1;
            // SAFETY: as above.
            scales[r] = unsafe { F::scales_minima(block.as_ptr()) }.0;
        }
        // SAFETY: AVX2; 512 bytes.
        unsafe { store_scales(&scales, &mut scale[b]) };
        // SAFETY: block `b` is inside every row; eight elements each.
        unsafe {
            let (scale, min) = block_scales::<F>(&work.rows, b * F::BYTES);
            _mm256_storeu_ps(d[b].as_mut_ptr(), scale);
            _mm256_storeu_ps(d[b].as_mut_ptr().add(GROUP), min);
        }
        for p in 0..8 {
            // SAFETY: AVX2.
            let quads = unsafe { transpose([w[0][p], w[1][p], w[2][p], w[3][p], w[4][p], w[5][p], w[6][p], w[7][p]]) };
            for q in 0..8 {
                // SAFETY: 32 bytes of 2048.
                unsafe { _mm256_storeu_si256(codes[b].as_mut_ptr().add(256 * p + 32 * q).cast(), quads[q]) };
            }
        }
        // Two offsets are an element of 32 bits: pair `p` of each row side by side.
        // SAFETY: AVX2.
        let pairs = unsafe { transpose(offsets) };
        for p in 0..8 {
            // SAFETY: 32 bytes of 256.
            unsafe { _mm256_storeu_si256(offset[b].as_mut_ptr().add(16 * p).cast(), pairs[p]) };
        }
    }
}

/// Eight outputs of `T` rows of activations from `t` on.
///
/// # Safety
/// AVX2, FMA and F16C; `panel` was filled for `x.cols` elements and the rows of activations are there.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn tile<F: SuperLanes, const T: usize>(
    panel: &Panel,
    x: &Activations,
    t: usize,
    y: &mut [[f32; GROUP]; TOKENS],
) {
    // Quads of codes that share a scale, and those of them whose products may be added in 16 bits.
    let share = if F::PAIRED { 8 } else { 4 };
    let adds = const { additions(F::SIGNED, F::TOP) }.min(share);
    let blocks = x.cols / 256;
    let xs: [&[[i8; 256]]; T] = std::array::from_fn(|i| x.codes[(t + i) * x.cols..][..x.cols].as_chunks().0);
    let scale: [&[f32]; T] = std::array::from_fn(|i| &x.scales[(t + i) * blocks..][..blocks]);
    let sum: [&[[i16; 16]]; T] = std::array::from_fn(|i| x.sums[(t + i) * 16 * blocks..][..16 * blocks].as_chunks().0);
    let (codes, _) = panel.codes.as_chunks::<2048>();
    let (s, _) = panel.scales.as_chunks::<256>();
    let (offset, _) = panel.offsets.as_chunks::<128>();
    let (d, _) = panel.d.as_chunks::<16>();
    let mut acc = [_mm256_setzero_ps(); T];
    for b in 0..blocks {
        let mut total = [_mm256_setzero_si256(); T];
        for first in (0..64).step_by(adds) {
            let mut pairs = [_mm256_setzero_si256(); T];
            for q in first..first + adds {
                // SAFETY: 32 bytes of 2048.
                let w = unsafe { _mm256_loadu_si256(codes[b].as_ptr().add(32 * q).cast()) };
                for i in 0..T {
                    // SAFETY: 4 bytes of 256.
                    let four = unsafe { xs[i][b].as_ptr().add(4 * q).cast::<i32>().read_unaligned() };
                    // SAFETY: AVX2.
                    let products = unsafe { product::<F>(w, _mm256_set1_epi32(four)) };
                    pairs[i] = if q == first { products } else { _mm256_add_epi16(pairs[i], products) };
                }
            }
            // SAFETY: 32 bytes of 512: sixteenth `first / 4`.
            let s = unsafe { _mm256_loadu_si256(s[b].as_ptr().add(first / 4 * 16).cast()) };
            for i in 0..T {
                total[i] = _mm256_add_epi32(total[i], _mm256_madd_epi16(pairs[i], s));
            }
        }
        let mut total_m = [_mm256_setzero_si256(); T];
        if F::MIN || F::ZERO != 0 {
            for p in 0..8 {
                // SAFETY: 32 bytes of 256.
                let o = unsafe { _mm256_loadu_si256(offset[b].as_ptr().add(16 * p).cast()) };
                for i in 0..T {
                    // SAFETY: 4 bytes of 32.
                    let two = unsafe { sum[i][b].as_ptr().add(2 * p).cast::<i32>().read_unaligned() };
                    total_m[i] = _mm256_add_epi32(total_m[i], _mm256_madd_epi16(o, _mm256_set1_epi32(two)));
                }
            }
        }
        // SAFETY: sixteen elements.
        let (d, dmin) = unsafe { (_mm256_loadu_ps(d[b].as_ptr()), _mm256_loadu_ps(d[b].as_ptr().add(GROUP))) };
        for i in 0..T {
            if !F::MIN && F::ZERO != 0 {
                total[i] = _mm256_sub_epi32(total[i], total_m[i]);
            }
            let dx = _mm256_set1_ps(scale[i][b]);
            acc[i] = _mm256_fmadd_ps(_mm256_mul_ps(d, dx), _mm256_cvtepi32_ps(total[i]), acc[i]);
            if F::MIN {
                acc[i] = _mm256_fnmadd_ps(_mm256_mul_ps(dmin, dx), _mm256_cvtepi32_ps(total_m[i]), acc[i]);
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
unsafe fn product<F: SuperLanes>(w: __m256i, x: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe { if F::SIGNED { multiply::<true>(w, x) } else { multiply::<false>(w, x) } }
}
