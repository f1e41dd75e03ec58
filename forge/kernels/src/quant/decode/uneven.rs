//! Sixteen uneven levels: `IQ4_NL` and `IQ4_XS`.

use super::row_decoder;
use crate::quant::bytes::{half, u16_at};
use crate::quant::levels::UNEVEN;

row_decoder! {
    /// `d v[q]`.
    iq4_nl = block_iq4_nl, 18 => 32;
    /// `(d s) v[q]`, eight sub-blocks.
    iq4_xs = block_iq4_xs, 136 => 256;
}

#[inline(always)]
fn block_iq4_nl(b: &[u8; 18], y: &mut [f32; 32]) {
    let d = half(b, 0);
    for j in 0..16 {
        y[j] = d * f32::from(UNEVEN[usize::from(b[2 + j] & 15)]);
        y[j + 16] = d * f32::from(UNEVEN[usize::from(b[2 + j] >> 4)]);
    }
}

#[inline(always)]
fn block_iq4_xs(b: &[u8; 136], y: &mut [f32; 256]) {
    let (d, high) = (half(b, 0), u16_at(b, 2));
    for s in 0..8 {
        let scale = b[4 + s / 2] >> (s % 2 * 4) & 15 | ((high >> (2 * s) & 3) << 4) as u8;
        let scale = d * f32::from(scale as i8 - 32);
        for j in 0..16 {
            let q = b[8 + 16 * s + j];
            y[32 * s + j] = scale * f32::from(UNEVEN[usize::from(q & 15)]);
            y[32 * s + j + 16] = scale * f32::from(UNEVEN[usize::from(q >> 4)]);
        }
    }
}
