//! 4-bit floating point with scales that are floating point too: `MXFP4` and `NVFP4`.

use super::row_decoder;
use crate::quant::levels::{E2M1, e4m3_half, e8m0_half};

row_decoder! {
    /// `2^(e - 127) v[q]`.
    mxfp4 = block_mxfp4, 17 => 32;
    /// `s v[q]`, four sub-blocks.
    nvfp4 = block_nvfp4, 36 => 64;
}

#[inline(always)]
fn block_mxfp4(b: &[u8; 17], y: &mut [f32; 32]) {
    let d = e8m0_half(b[0]);
    for j in 0..16 {
        y[j] = f32::from(E2M1[usize::from(b[1 + j] & 15)]) * d;
        y[j + 16] = f32::from(E2M1[usize::from(b[1 + j] >> 4)]) * d;
    }
}

#[inline(always)]
fn block_nvfp4(b: &[u8; 36], y: &mut [f32; 64]) {
    for s in 0..4 {
        let d = e4m3_half(b[s]);
        for j in 0..8 {
            let q = b[4 + 8 * s + j];
            y[16 * s + j] = f32::from(E2M1[usize::from(q & 15)]) * d;
            y[16 * s + j + 8] = f32::from(E2M1[usize::from(q >> 4)]) * d;
        }
    }
}
