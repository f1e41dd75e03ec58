//! Weights of -1, 0 and 1 with one scale: `TQ1_0` and `TQ2_0`.

use super::row_decoder;
use crate::quant::bytes::half;
use crate::quant::levels::trit;

row_decoder! {
    /// `(q - 1) d`, five digits to a byte.
    tq1_0 = block_tq1_0, 54 => 256;
    /// `(q - 1) d`, four digits to a byte.
    tq2_0 = block_tq2_0, 66 => 256;
}

#[inline(always)]
fn block_tq1_0(b: &[u8; 54], y: &mut [f32; 256]) {
    let d = half(b, 52);
    for n in 0..5 {
        for m in 0..32 {
            y[32 * n + m] = f32::from(trit(b[m], n)) * d;
        }
        for m in 0..16 {
            y[160 + 16 * n + m] = f32::from(trit(b[32 + m], n)) * d;
        }
    }
    for n in 0..4 {
        for m in 0..4 {
            y[240 + 4 * n + m] = f32::from(trit(b[48 + m], n)) * d;
        }
    }
}

#[inline(always)]
fn block_tq2_0(b: &[u8; 66], y: &mut [f32; 256]) {
    let d = half(b, 64);
    for s in 0..8 {
        for m in 0..32 {
            y[32 * s + m] = f32::from((b[s / 4 * 32 + m] >> (s % 4 * 2) & 3) as i8 - 1) * d;
        }
    }
}
