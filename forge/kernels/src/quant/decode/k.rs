//! Blocks of 256 whose sub-blocks have small integer scales of their own: `Q2_K` to `Q8_K`.

use super::row_decoder;
use crate::quant::bytes::{half, scales6, scales6_signed};

row_decoder! {
    /// `(d s) q - dmin m`, sixteen sub-blocks.
    q2_k = block_q2_k, 84 => 256;
    /// `(d s) q`, sixteen sub-blocks.
    q3_k = block_q3_k, 110 => 256;
    /// `(d s) q - dmin m`, eight sub-blocks.
    q4_k = block_q4_k, 144 => 256;
    /// `(d s) q - dmin m`, eight sub-blocks.
    q5_k = block_q5_k, 176 => 256;
    /// `(d s) q`, sixteen sub-blocks.
    q6_k = block_q6_k, 210 => 256;
    /// `d q`.
    q8_k = block_q8_k, 292 => 256;
}

#[inline(always)]
fn block_q2_k(b: &[u8; 84], y: &mut [f32; 256]) {
    let (d, dmin) = (half(b, 80), half(b, 82));
    for s in 0..16 {
        let (scale, min) = (d * f32::from(b[s] & 15), dmin * f32::from(b[s] >> 4));
        let (from, shift) = (16 + s / 8 * 32 + s % 2 * 16, s % 8 / 2 * 2);
        for l in 0..16 {
            y[16 * s + l] = scale * f32::from(b[from + l] >> shift & 3) - min;
        }
    }
}

#[inline(always)]
fn block_q3_k(b: &[u8; 110], y: &mut [f32; 256]) {
    let d = half(b, 108);
    let scales = scales6_signed(&b[96..108]);
    for s in 0..16 {
        let scale = d * f32::from(scales[s]);
        let (from, shift) = (32 + s / 8 * 32 + s % 2 * 16, s % 8 / 2 * 2);
        for l in 0..16 {
            let high = b[s % 2 * 16 + l] >> (s / 2) & 1;
            y[16 * s + l] = scale * f32::from((b[from + l] >> shift & 3 | high << 2) as i8 - 4);
        }
    }
}

#[inline(always)]
fn block_q4_k(b: &[u8; 144], y: &mut [f32; 256]) {
    let (d, dmin) = (half(b, 0), half(b, 2));
    let (scales, mins) = scales6(&b[4..16]);
    for s in 0..8 {
        let (scale, min) = (d * f32::from(scales[s]), dmin * f32::from(mins[s]));
        for l in 0..32 {
            let q = b[16 + s / 2 * 32 + l] >> (s % 2 * 4) & 15;
            y[32 * s + l] = scale * f32::from(q) - min;
        }
    }
}

#[inline(always)]
fn block_q5_k(b: &[u8; 176], y: &mut [f32; 256]) {
    let (d, dmin) = (half(b, 0), half(b, 2));
    let (scales, mins) = scales6(&b[4..16]);
    for s in 0..8 {
        let (scale, min) = (d * f32::from(scales[s]), dmin * f32::from(mins[s]));
        for l in 0..32 {
            let q = b[48 + s / 2 * 32 + l] >> (s % 2 * 4) & 15 | (b[16 + l] >> s & 1) << 4;
            y[32 * s + l] = scale * f32::from(q) - min;
        }
    }
}

#[inline(always)]
fn block_q6_k(b: &[u8; 210], y: &mut [f32; 256]) {
    let d = half(b, 208);
    for s in 0..16 {
        let scale = d * f32::from(b[192 + s] as i8);
        let (part, quarter) = (s / 8, s % 8 / 2);
        let (low, high) = (part * 64 + quarter % 2 * 32 + s % 2 * 16, 128 + part * 32 + s % 2 * 16);
        for l in 0..16 {
            let q = b[low + l] >> (quarter / 2 * 4) & 15 | (b[high + l] >> (2 * quarter) & 3) << 4;
            y[16 * s + l] = scale * f32::from(q as i8 - 32);
        }
    }
}

#[inline(always)]
fn block_q8_k(b: &[u8; 292], y: &mut [f32; 256]) {
    let d = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    for l in 0..256 {
        y[l] = d * f32::from(b[4 + l] as i8);
    }
}
