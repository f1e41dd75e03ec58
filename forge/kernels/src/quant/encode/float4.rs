//! 4-bit floating point with scales that are floating point too: `MXFP4` and `NVFP4`.

use super::number::extreme;
use super::row_encoder;
use crate::quant::levels::{E2M1, e4m3_half, e8m0_half};

row_encoder! {
    /// The scale is the power of two below the largest magnitude, over 4.
    mxfp4 = block_mxfp4, 32 => 17;
    /// The scale is a sixth of the largest magnitude, four sub-blocks.
    nvfp4 = block_nvfp4, 64 => 36;
}

/// The code of the doubled value nearest to `v / d`, the first of several.
#[inline(always)]
fn nearest(v: f32, d: f32) -> u8 {
    let (mut best, mut code) = ((-v).abs(), 0);
    for (i, &level) in E2M1.iter().enumerate() {
        let error = (f32::from(level) * d - v).abs();
        if error < best {
            best = error;
            code = i as u8;
        }
    }
    code
}

/// Half the codes low, half high.
#[inline(always)]
fn put(x: &[f32], d: f32, b: &mut [u8]) {
    let (low, high) = x.split_at(b.len());
    for ((b, &low), &high) in b.iter_mut().zip(low).zip(high) {
        *b = nearest(low, d) | nearest(high, d) << 4;
    }
}

#[inline(always)]
fn block_mxfp4(x: &[f32; 32], b: &mut [u8; 17], _: Option<(&[f32; 32], f32)>) {
    // The exponent of the largest magnitude, over the 4 that is the largest power of two below 6.
    let e = ((extreme(x).to_bits() >> 23 & 0xff) as u8).saturating_sub(2);
    b[0] = e;
    put(x, e8m0_half(e), &mut b[1..]);
}

/// The nearest E4M3 number of a magnitude, ties away from zero, at most 448.
#[inline(always)]
fn e4m3(v: f32) -> u8 {
    let v = if v > 448.0 { 448.0 } else { v };
    if v < 0.015625 {
        // In steps of 2^-9, below the normal ones.
        return ((v * 512.0 + 0.5) as u8).min(7);
    }
    let rounded = ((v.to_bits() >> 19) + 1) >> 1;
    (rounded - (120 << 3)).min(0x7e) as u8
}

#[inline(always)]
fn block_nvfp4(x: &[f32; 64], b: &mut [u8; 36], _: Option<(&[f32; 64], f32)>) {
    for s in 0..4 {
        let x = &x[16 * s..16 * (s + 1)];
        let code = e4m3(extreme(x).abs() / 6.0);
        b[s] = code;
        put(x, e4m3_half(code), &mut b[4 + 8 * s..12 + 8 * s]);
    }
}
