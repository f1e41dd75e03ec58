//! Blocks of 256 whose sub-blocks have small integer scales of their own: `Q2_K` to `Q8_K`.

use super::number::{extreme, nearest, nearest_product, put_half};
use super::row_encoder;
use super::search::{Grid, TINY, affine, mean_square, positive, square_sum, symmetric, symmetric_by_moves, weigh};
use crate::quant::bytes::{scales6, scales6_signed};

row_encoder! {
    /// Sixteen scales and minima of four bits.
    q2_k = block_q2_k, 256 => 84;
    /// Sixteen signed scales of six bits.
    q3_k = block_q3_k, 256 => 110;
    /// Eight scales and minima of six bits.
    q4_k = block_q4_k, 256 => 144;
    /// Eight scales and minima of six bits.
    q5_k = block_q5_k, 256 => 176;
    /// Sixteen signed scales of eight bits.
    q6_k = block_q6_k, 256 => 210;
    /// The element of largest magnitude becomes -127.
    q8_k = block_q8_k, 256 => 292;
}

type Importance<'a> = Option<(&'a [f32; 256], f32)>;

/// The grid of scales where importances are given.
const FINE: Grid = Grid { first: -0.9, step: 0.05, steps: 36, magnitude: false };

/// Codes of sixteen sub-blocks by scales `d s` and minima `m` that are settled; codes from `-zero` to `top - zero` are
/// stored plus `zero`. A sub-block whose scale is zero keeps what it has.
#[inline(always)]
fn requantise(x: &[f32], d: f32, m: f32, zero: i32, top: i32, codes: &mut [u8]) {
    if d != 0.0 {
        for (c, &v) in codes.iter_mut().zip(x) {
            *c = (nearest((v + m) / d) + zero).clamp(0, top) as u8;
        }
    }
}

/// Two bits of each code, four codes to a byte: those of 32 elements side by side, of 128 above each other.
#[inline(always)]
fn put_pairs(b: &mut [u8], codes: &[u8; 256], shift: u32) {
    for (b, c) in b.chunks_exact_mut(32).zip(codes.as_chunks::<128>().0) {
        for l in 0..32 {
            b[l] = (0..4).fold(0, |bits, s| bits | (c[32 * s + l] >> shift & 3) << (2 * s));
        }
    }
}

/// Unsigned codes of `s` by the largest: the scale of the codes, which are at most `n`.
#[inline(always)]
fn by_largest(s: &[f32], n: i32, codes: &mut [u8]) -> f32 {
    let max = s.iter().fold(0.0, |m: f32, &v| if v > m { v } else { m });
    let inverse = if max > 0.0 { n as f32 / max } else { 0.0 };
    for (c, &v) in codes.iter_mut().zip(s) {
        *c = n.min(i32::from(nearest_product(inverse, v) as u8)) as u8;
    }
    max / n as f32
}

#[inline(always)]
fn block_q2_k(x: &[f32; 256], b: &mut [u8; 84], importance: Importance<'_>) {
    let grid = Grid { first: -0.5, step: 0.1, steps: 15, magnitude: true };
    let (mut codes, mut scales, mut mins, mut sums) = ([0; 256], [0.0; 16], [0.0; 16], [0.0f32; 16]);
    let mean = mean_square(x);
    for (s, (x, codes)) in x.as_chunks::<16>().0.iter().zip(codes.as_chunks_mut::<16>().0).enumerate() {
        (scales[s], mins[s]) = if let Some((w, _)) = importance {
            let w = weigh::<16>(x, &w[16 * s..], mean);
            sums[s] = w.iter().fold(0.0, |sum, w| sum + w);
            affine(x, &w, 3, FINE, codes)
        } else {
            affine(x, &x.map(f32::abs), 3, grid, codes)
        };
    }
    let (mut s, mut m) = ([0; 16], [0; 16]);
    let (d, dmin) = if importance.is_some() {
        (positive(&scales, &sums, 15, &mut s), positive(&mins, &sums, 15, &mut m))
    } else {
        (by_largest(&scales, 15, &mut s), by_largest(&mins, 15, &mut m))
    };
    let (d, dmin) = (put_half(b, 80, d), put_half(b, 82, dmin));
    for j in 0..16 {
        b[j] = s[j] | m[j] << 4;
        let of = 16 * j..16 * (j + 1);
        requantise(&x[of.clone()], d * f32::from(s[j]), dmin * f32::from(m[j]), 0, 3, &mut codes[of]);
    }
    put_pairs(&mut b[16..80], &codes, 0);
}

#[inline(always)]
fn block_q3_k(x: &[f32; 256], b: &mut [u8; 110], importance: Importance<'_>) {
    let (mut codes, mut scales, mut sums, mut s) = ([0; 256], [0.0; 16], [0.0f32; 16], [0; 16]);
    let mean = 2.0 * square_sum(x) / 256.0;
    for (j, (x, codes)) in x.as_chunks::<16>().0.iter().zip(codes.as_chunks_mut::<16>().0).enumerate() {
        scales[j] = if let Some((w, _)) = importance {
            let w = weigh::<16>(x, &w[16 * j..], mean);
            sums[j] = w.iter().fold(0.0, |sum, w| sum + w);
            symmetric(x, &w, 4, codes)
        } else {
            symmetric_by_moves(x, 4, codes)
        };
    }
    let d = if importance.is_some() {
        symmetric(&scales, &sums, 32, &mut s)
    } else {
        let max = extreme(&scales);
        let inverse = -32.0 / max;
        if max != 0.0 {
            s = scales.map(|v| (i32::from(nearest_product(inverse, v) as i8).clamp(-32, 31) + 32) as u8);
            1.0 / inverse
        } else {
            0.0
        }
    };
    let d = put_half(b, 108, d);
    b[96..108].fill(0);
    for j in 0..16 {
        b[96 + j % 8] |= (s[j] & 15) << (j / 8 * 4);
        b[104 + j % 4] |= s[j] >> 4 << (2 * (j / 4));
    }
    for (j, s) in scales6_signed(&b[96..108]).into_iter().enumerate() {
        let of = 16 * j..16 * (j + 1);
        requantise(&x[of.clone()], d * f32::from(s), 0.0, 4, 7, &mut codes[of]);
    }
    for l in 0..32 {
        b[l] = (0..8).fold(0, |bits, s| bits | (codes[32 * s + l] >> 2) << s);
    }
    put_pairs(&mut b[32..96], &codes, 0);
}

/// Scales, minima and codes of `Q4_K` and `Q5_K`, whose codes are at most `n`; writes the first sixteen bytes.
#[inline(always)]
fn eight(x: &[f32; 256], n: i32, grid: Grid, importance: Importance<'_>, b: &mut [u8]) -> [u8; 256] {
    let (mut codes, mut scales, mut mins, mut sums) = ([0; 256], [0.0; 8], [0.0; 8], [0.0f32; 8]);
    let mean = 2.0 * square_sum(x) / 256.0;
    for (j, (x, codes)) in x.as_chunks::<32>().0.iter().zip(codes.as_chunks_mut::<32>().0).enumerate() {
        (scales[j], mins[j]) = if let Some((w, _)) = importance {
            let w = weigh::<32>(x, &w[32 * j..], mean);
            sums[j] = w.iter().fold(0.0, |sum, w| sum + w);
            affine(x, &w, n, FINE, codes)
        } else {
            let root = mean_square(x).sqrt();
            affine(x, &x.map(|v| root + v.abs()), n, grid, codes)
        };
    }
    let (mut s, mut m) = ([0; 8], [0; 8]);
    let (d, dmin) = if importance.is_some() {
        (positive(&scales, &sums, 63, &mut s), positive(&mins, &sums, 63, &mut m))
    } else {
        (by_largest(&scales, 63, &mut s), by_largest(&mins, 63, &mut m))
    };
    let (d, dmin) = (put_half(b, 0, d), put_half(b, 2, dmin));
    for j in 0..4 {
        b[4 + j] = s[j] & 63 | s[j + 4] >> 4 << 6;
        b[8 + j] = m[j] & 63 | m[j + 4] >> 4 << 6;
        b[12 + j] = s[j + 4] & 15 | m[j + 4] << 4;
    }
    let (s, m) = scales6(&b[4..16]);
    for j in 0..8 {
        let of = 32 * j..32 * (j + 1);
        requantise(&x[of.clone()], d * f32::from(s[j]), dmin * f32::from(m[j]), 0, n, &mut codes[of]);
    }
    codes
}

/// Low four bits, 32 elements above the 32 before.
#[inline(always)]
fn put_low(b: &mut [u8], codes: &[u8; 256]) {
    for (b, c) in b.chunks_exact_mut(32).zip(codes.as_chunks::<64>().0) {
        for l in 0..32 {
            b[l] = c[l] & 15 | c[l + 32] << 4;
        }
    }
}

#[inline(always)]
fn block_q4_k(x: &[f32; 256], b: &mut [u8; 144], importance: Importance<'_>) {
    let grid = Grid { first: -1.0, step: 0.1, steps: 20, magnitude: false };
    let codes = eight(x, 15, grid, importance, b);
    put_low(&mut b[16..], &codes);
}

#[inline(always)]
fn block_q5_k(x: &[f32; 256], b: &mut [u8; 176], importance: Importance<'_>) {
    let grid = Grid { first: -0.5, step: 0.1, steps: 15, magnitude: false };
    let codes = eight(x, 31, grid, importance, b);
    for l in 0..32 {
        b[16 + l] = (0..8).fold(0, |bits, s| bits | (codes[32 * s + l] >> 4) << s);
    }
    put_low(&mut b[48..], &codes);
}

#[inline(always)]
fn block_q6_k(x: &[f32; 256], b: &mut [u8; 210], importance: Importance<'_>) {
    let (mut codes, mut scales) = ([0; 256], [0.0; 16]);
    for (j, (x, codes)) in x.as_chunks::<16>().0.iter().zip(codes.as_chunks_mut::<16>().0).enumerate() {
        scales[j] = match importance {
            Some((w, _)) => symmetric(x, &w[16 * j..16 * (j + 1)], 32, codes),
            None => symmetric(x, &x.map(|v| v * v), 32, codes),
        };
    }
    let max = extreme(&scales);
    if max.abs() < TINY {
        b.fill(0);
        return;
    }
    let inverse = -128.0 / max;
    let d = put_half(b, 208, 1.0 / inverse);
    for j in 0..16 {
        let s = nearest_product(inverse, scales[j]).min(127) as i8;
        b[192 + j] = s as u8;
        let of = 16 * j..16 * (j + 1);
        requantise(&x[of.clone()], d * f32::from(s), 0.0, 32, 63, &mut codes[of]);
    }
    for (b, c) in b[..128].as_chunks_mut::<64>().0.iter_mut().zip(codes.as_chunks::<128>().0) {
        for l in 0..64 {
            b[l] = c[l] & 15 | c[l + 64] << 4;
        }
    }
    put_pairs(&mut b[128..192], &codes, 4);
}

#[inline(always)]
fn block_q8_k(x: &[f32; 256], b: &mut [u8; 292], _: Importance<'_>) {
    b.fill(0);
    let max = extreme(x);
    if max == 0.0 {
        return;
    }
    let inverse = -127.0 / max;
    b[..4].copy_from_slice(&(1.0 / inverse).to_le_bytes());
    let codes = x.map(|v| nearest_product(inverse, v).min(127) as i8);
    for (b, c) in b[4..260].iter_mut().zip(codes) {
        *b = c as u8;
    }
    for (b, c) in b[260..].as_chunks_mut::<2>().0.iter_mut().zip(codes.as_chunks::<16>().0) {
        *b = c.iter().map(|&c| i16::from(c)).sum::<i16>().to_le_bytes();
    }
}
