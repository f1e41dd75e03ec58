//! One scale, and perhaps one minimum, for a short block: `Q1_0` to `Q8_1`.

use super::row_decoder;
use crate::quant::bytes::{half, u32_at};

row_decoder! {
    /// `±d` by one bit.
    q1_0 = block_q1_0, 18 => 128;
    /// `(q - 1) d`, four codes to a byte.
    q2_0 = block_q2_0, 18 => 64;
    /// `(q - 8) d`.
    q4_0 = block_q4_0, 18 => 32;
    /// `q d + m`.
    q4_1 = block_q4_1, 20 => 32;
    /// `(q - 16) d`.
    q5_0 = block_q5_0, 22 => 32;
    /// `q d + m`.
    q5_1 = block_q5_1, 24 => 32;
    /// `q d`.
    q8_0 = block_q8_0, 34 => 32;
    /// `q d`; the sum is not needed.
    q8_1 = block_q8_1, 36 => 32;
}

#[inline(always)]
fn block_q1_0(b: &[u8; 18], y: &mut [f32; 128]) {
    let d = half(b, 0);
    for j in 0..128 {
        y[j] = if b[2 + j / 8] >> (j % 8) & 1 == 1 { d } else { -d };
    }
}

#[inline(always)]
fn block_q2_0(b: &[u8; 18], y: &mut [f32; 64]) {
    let d = half(b, 0);
    for j in 0..64 {
        y[j] = (i32::from(b[2 + j / 4] >> (2 * (j % 4)) & 3) - 1) as f32 * d;
    }
}

#[inline(always)]
fn block_q4_0(b: &[u8; 18], y: &mut [f32; 32]) {
    let d = half(b, 0);
    for j in 0..16 {
        y[j] = (i32::from(b[2 + j] & 15) - 8) as f32 * d;
        y[j + 16] = (i32::from(b[2 + j] >> 4) - 8) as f32 * d;
    }
}

#[inline(always)]
fn block_q4_1(b: &[u8; 20], y: &mut [f32; 32]) {
    let (d, m) = (half(b, 0), half(b, 2));
    for j in 0..16 {
        y[j] = f32::from(b[4 + j] & 15) * d + m;
        y[j + 16] = f32::from(b[4 + j] >> 4) * d + m;
    }
}

/// The fifth bit of element `j`, in place.
#[inline(always)]
fn fifth(high: u32, j: usize) -> u8 {
    ((high >> j & 1) << 4) as u8
}

#[inline(always)]
fn block_q5_0(b: &[u8; 22], y: &mut [f32; 32]) {
    let (d, high) = (half(b, 0), u32_at(b, 2));
    for j in 0..16 {
        y[j] = (i32::from(b[6 + j] & 15 | fifth(high, j)) - 16) as f32 * d;
        y[j + 16] = (i32::from(b[6 + j] >> 4 | fifth(high, j + 16)) - 16) as f32 * d;
    }
}

#[inline(always)]
fn block_q5_1(b: &[u8; 24], y: &mut [f32; 32]) {
    let (d, m, high) = (half(b, 0), half(b, 2), u32_at(b, 4));
    for j in 0..16 {
        y[j] = f32::from(b[8 + j] & 15 | fifth(high, j)) * d + m;
        y[j + 16] = f32::from(b[8 + j] >> 4 | fifth(high, j + 16)) * d + m;
    }
}

#[inline(always)]
fn block_q8_0(b: &[u8; 34], y: &mut [f32; 32]) {
    let d = half(b, 0);
    for j in 0..32 {
        y[j] = f32::from(b[2 + j] as i8) * d;
    }
}

#[inline(always)]
fn block_q8_1(b: &[u8; 36], y: &mut [f32; 32]) {
    let d = half(b, 0);
    for j in 0..32 {
        y[j] = f32::from(b[4 + j] as i8) * d;
    }
}
