//! Points of a codebook with signs or shifts: `IQ1`, `IQ2` and `IQ3`.

use super::row_decoder;
use crate::quant::bytes::{half, half_bits, u16_at, u32_at};
use crate::quant::levels::{IQ1, IQ2_S, IQ2_XS, IQ2_XXS, IQ3_S, IQ3_XXS, SHIFT, parity_signs};

row_decoder! {
    /// `±d (½ + s) ¼ v`, eight sub-blocks.
    iq2_xxs = block_iq2_xxs, 66 => 256;
    /// `±d (½ + s) ¼ v`, sixteen sub-blocks.
    iq2_xs = block_iq2_xs, 74 => 256;
    /// `±d (½ + s) ¼ v`, sixteen sub-blocks.
    iq2_s = block_iq2_s, 82 => 256;
    /// `±d (½ + s) ½ v`, eight sub-blocks.
    iq3_xxs = block_iq3_xxs, 98 => 256;
    /// `±d (1 + 2 s) v`, eight sub-blocks.
    iq3_s = block_iq3_s, 110 => 256;
    /// `d (1 + 2 s) (v ± ⅛)`, eight sub-blocks.
    iq1_s = block_iq1_s, 50 => 256;
    /// `d (1 + 2 s) (v ± ⅛)`, sixteen sub-blocks.
    iq1_m = block_iq1_m, 56 => 256;
}

/// `scale` times a point, element `j` negative where bit `j` of `signs` is set.
#[inline(always)]
fn signed<const N: usize>(scale: f32, point: &[i8; N], signs: u8, y: &mut [f32]) {
    for j in 0..N {
        let v = scale * f32::from(point[j]);
        y[j] = if signs >> j & 1 == 1 { -v } else { v };
    }
}

#[inline(always)]
fn block_iq2_xxs(b: &[u8; 66], y: &mut [f32; 256]) {
    let d = half(b, 0);
    for s in 0..8 {
        let rest = u32_at(b, 2 + 8 * s + 4);
        let scale = d * (0.5 + (rest >> 28) as f32) * 0.25;
        for l in 0..4 {
            let point = &IQ2_XXS[usize::from(b[2 + 8 * s + l])];
            signed(scale, point, parity_signs(rest >> (7 * l)), &mut y[32 * s + 8 * l..]);
        }
    }
}

#[inline(always)]
fn block_iq2_xs(b: &[u8; 74], y: &mut [f32; 256]) {
    let d = half(b, 0);
    for s in 0..16 {
        let scale = d * (0.5 + f32::from(b[66 + s / 2] >> (s % 2 * 4) & 15)) * 0.25;
        for l in 0..2 {
            let code = u16_at(b, 2 + 4 * s + 2 * l);
            let point = &IQ2_XS[usize::from(code & 511)];
            signed(scale, point, parity_signs(u32::from(code >> 9)), &mut y[16 * s + 8 * l..]);
        }
    }
}

#[inline(always)]
fn block_iq2_s(b: &[u8; 82], y: &mut [f32; 256]) {
    let d = half(b, 0);
    for g in 0..32 {
        let scale = d * (0.5 + f32::from(b[74 + g / 4] >> (g % 4 / 2 * 4) & 15)) * 0.25;
        let high = usize::from(b[66 + g / 4] >> (2 * (g % 4)) & 3) << 8;
        signed(scale, &IQ2_S[usize::from(b[2 + g]) | high], b[34 + g], &mut y[8 * g..]);
    }
}

#[inline(always)]
fn block_iq3_xxs(b: &[u8; 98], y: &mut [f32; 256]) {
    let d = half(b, 0);
    for s in 0..8 {
        let rest = u32_at(b, 66 + 4 * s);
        let scale = d * (0.5 + (rest >> 28) as f32) * 0.5;
        for l in 0..4 {
            let signs = parity_signs(rest >> (7 * l));
            let at = 2 + 8 * s + 2 * l;
            signed(scale, &IQ3_XXS[usize::from(b[at])], signs, &mut y[32 * s + 8 * l..]);
            signed(scale, &IQ3_XXS[usize::from(b[at + 1])], signs >> 4, &mut y[32 * s + 8 * l + 4..]);
        }
    }
}

#[inline(always)]
fn block_iq3_s(b: &[u8; 110], y: &mut [f32; 256]) {
    let d = half(b, 0);
    for g in 0..64 {
        let s = g / 8;
        let scale = d * f32::from(1 + 2 * (b[106 + s / 2] >> (s % 2 * 4) & 15));
        let high = usize::from(b[66 + s] >> (g % 8) & 1) << 8;
        let signs = b[74 + g / 2] >> (g % 2 * 4);
        signed(scale, &IQ3_S[usize::from(b[2 + g]) | high], signs, &mut y[4 * g..]);
    }
}

/// `scale` times a point that is shifted by an eighth, down when `down`.
#[inline(always)]
fn shifted(scale: f32, point: &[i8; 8], down: bool, y: &mut [f32]) {
    let shift = if down { -SHIFT } else { SHIFT };
    for j in 0..8 {
        y[j] = scale * (f32::from(point[j]) + shift);
    }
}

#[inline(always)]
fn block_iq1_s(b: &[u8; 50], y: &mut [f32; 256]) {
    let d = half(b, 0);
    for s in 0..8 {
        let rest = u16_at(b, 34 + 2 * s);
        let scale = d * f32::from(2 * (rest >> 12 & 7) + 1);
        for l in 0..4 {
            let high = usize::from(rest >> (3 * l) & 7) << 8;
            let point = &IQ1[usize::from(b[2 + 4 * s + l]) | high];
            shifted(scale, point, rest >> 15 == 1, &mut y[32 * s + 8 * l..]);
        }
    }
}

#[inline(always)]
fn block_iq1_m(b: &[u8; 56], y: &mut [f32; 256]) {
    let words = [u16_at(b, 48), u16_at(b, 50), u16_at(b, 52), u16_at(b, 54)];
    let d = half_bits(words[0] >> 12 | words[1] >> 8 & 0xf0 | words[2] >> 4 & 0xf00 | words[3] & 0xf000);
    for g in 0..32 {
        let s = g / 2;
        let scale = d * f32::from(2 * (words[s / 4] >> (s % 4 * 3) & 7) + 1);
        let high = b[32 + g / 2] >> (g % 2 * 4);
        let point = &IQ1[usize::from(b[g]) | usize::from(high & 7) << 8];
        shifted(scale, point, high & 8 != 0, &mut y[8 * g..]);
    }
}
