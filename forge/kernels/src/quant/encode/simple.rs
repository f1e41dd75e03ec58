//! One scale, and perhaps one minimum, for a short block: `Q1_0` to `Q8_1`.

use super::number::{extreme, inverse, put_half, whole_part};
use super::row_encoder;
use super::search::{Grid, affine, symmetric, weigh};

row_encoder! {
    /// The scale is the mean magnitude.
    q1_0 = block_q1_0, 128 => 18;
    /// The scale is the largest magnitude.
    q2_0 = block_q2_0, 64 => 18;
    /// The element of largest magnitude becomes -8.
    q4_0 = block_q4_0, 32 => 18;
    /// From the smallest to the largest in fifteen steps.
    q4_1 = block_q4_1, 32 => 20;
    /// The element of largest magnitude becomes -16.
    q5_0 = block_q5_0, 32 => 22;
    /// From the smallest to the largest in 31 steps.
    q5_1 = block_q5_1, 32 => 24;
    /// The largest magnitude becomes 127.
    q8_0 = block_q8_0, 32 => 34;
    /// The largest magnitude becomes 127; the scaled sum of the codes follows the scale.
    q8_1 = block_q8_1, 32 => 36;
}

#[inline(always)]
fn block_q1_0(x: &[f32; 128], b: &mut [u8; 18], _: Option<(&[f32; 128], f32)>) {
    put_half(b, 0, x.iter().fold(0.0, |s, v| s + v.abs()) / 128.0);
    for (b, x) in b[2..].iter_mut().zip(x.as_chunks::<8>().0) {
        *b = (0..8).fold(0, |bits, j| bits | u8::from(x[j] >= 0.0) << j);
    }
}

#[inline(always)]
fn block_q2_0(x: &[f32; 64], b: &mut [u8; 18], _: Option<(&[f32; 64], f32)>) {
    let d = extreme(x).abs();
    let id = inverse(d);
    put_half(b, 0, d);
    for (b, x) in b[2..].iter_mut().zip(x.as_chunks::<4>().0) {
        *b = (0..4).fold(0, |bits, j| bits | (whole_part((x[j] * id).round()).wrapping_add(1).clamp(0, 3) << (2 * j)))
            as u8;
    }
}

/// Low four bits of the codes of a block of 32, the second half above the first.
#[inline(always)]
fn put_nibbles(b: &mut [u8], codes: &[u8; 32]) {
    for j in 0..16 {
        b[j] = codes[j] & 15 | codes[j + 16] << 4;
    }
}

/// The fifth bits of the codes of a block of 32.
#[inline(always)]
fn fifths(codes: &[u8; 32]) -> [u8; 4] {
    (0..32).fold(0, |bits: u32, j| bits | u32::from(codes[j] >> 4 & 1) << j).to_le_bytes()
}

/// Scale and codes from 0 to `2 n - 1`, of which `n` stands for zero.
#[inline(always)]
fn centred(x: &[f32; 32], n: i32, importance: Option<(&[f32; 32], f32)>) -> (f32, [u8; 32]) {
    let mut codes = [0; 32];
    if let Some((w, mean)) = importance {
        let d = symmetric(x, &weigh::<32>(x, w, mean), n, &mut codes);
        return (d, codes);
    }
    let d = extreme(x) / -n as f32;
    let id = inverse(d);
    for (c, &v) in codes.iter_mut().zip(x) {
        *c = whole_part(v * id + (n as f32 + 0.5)).min(2 * n - 1) as u8;
    }
    (d, codes)
}

/// Scale, minimum and codes from 0 to `n`.
#[inline(always)]
fn ranged(x: &[f32; 32], n: i32, importance: Option<(&[f32; 32], f32)>) -> (f32, f32, [u8; 32]) {
    let mut codes = [0; 32];
    if let Some((w, mean)) = importance {
        let grid = Grid { first: -0.9, step: 0.05, steps: 36, magnitude: false };
        let (d, m) = affine(x, &weigh::<32>(x, w, mean), n, grid, &mut codes);
        return (d, -m, codes);
    }
    let min = x.iter().fold(f32::MAX, |m, &v| if v < m { v } else { m });
    let max = x.iter().fold(-f32::MAX, |m, &v| if v > m { v } else { m });
    let d = (max - min) / n as f32;
    let id = inverse(d);
    for (c, &v) in codes.iter_mut().zip(x) {
        *c = whole_part((v - min) * id + 0.5).min(n) as u8;
    }
    (d, min, codes)
}

#[inline(always)]
fn block_q4_0(x: &[f32; 32], b: &mut [u8; 18], importance: Option<(&[f32; 32], f32)>) {
    let (d, codes) = centred(x, 8, importance);
    put_half(b, 0, d);
    put_nibbles(&mut b[2..], &codes);
}

#[inline(always)]
fn block_q4_1(x: &[f32; 32], b: &mut [u8; 20], importance: Option<(&[f32; 32], f32)>) {
    let (d, m, codes) = ranged(x, 15, importance);
    put_half(b, 0, d);
    put_half(b, 2, m);
    put_nibbles(&mut b[4..], &codes);
}

#[inline(always)]
fn block_q5_0(x: &[f32; 32], b: &mut [u8; 22], importance: Option<(&[f32; 32], f32)>) {
    let (d, codes) = centred(x, 16, importance);
    put_half(b, 0, d);
    b[2..6].copy_from_slice(&fifths(&codes));
    put_nibbles(&mut b[6..], &codes);
}

#[inline(always)]
fn block_q5_1(x: &[f32; 32], b: &mut [u8; 24], importance: Option<(&[f32; 32], f32)>) {
    let (d, m, codes) = ranged(x, 31, importance);
    put_half(b, 0, d);
    put_half(b, 2, m);
    b[4..8].copy_from_slice(&fifths(&codes));
    put_nibbles(&mut b[8..], &codes);
}

/// Scale and signed bytes.
#[inline(always)]
fn bytes(x: &[f32; 32]) -> (f32, [i8; 32]) {
    let d = extreme(x).abs() / 127.0;
    let id = inverse(d);
    (d, x.map(|v| whole_part((v * id).round()) as i8))
}

#[inline(always)]
fn block_q8_0(x: &[f32; 32], b: &mut [u8; 34], _: Option<(&[f32; 32], f32)>) {
    let (d, codes) = bytes(x);
    put_half(b, 0, d);
    for (b, c) in b[2..].iter_mut().zip(codes) {
        *b = c as u8;
    }
}

#[inline(always)]
fn block_q8_1(x: &[f32; 32], b: &mut [u8; 36], _: Option<(&[f32; 32], f32)>) {
    let (d, codes) = bytes(x);
    put_half(b, 0, d);
    put_half(b, 2, codes.iter().map(|&c| i32::from(c)).sum::<i32>() as f32 * d);
    for (b, c) in b[4..].iter_mut().zip(codes) {
        *b = c as u8;
    }
}
