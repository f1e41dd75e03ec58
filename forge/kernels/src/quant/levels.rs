//! What the codes of the formats stand for.

use super::points;

/// The sixteen levels of `IQ4_NL` and `IQ4_XS`.
pub(crate) static UNEVEN: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Twice the sixteen values of E2M1 (OCP MX).
pub(crate) static E2M1: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// How far the points of the `IQ1` formats are shifted.
pub(crate) const SHIFT: f32 = 0.125;

/// `2^(e - 127) / 2`: the scale of `MXFP4` for doubled values.
#[inline(always)]
pub(crate) fn e8m0_half(e: u8) -> f32 {
    f32::from_bits(if e < 2 { 0x0020_0000 << e } else { u32::from(e - 1) << 23 })
}

/// Half of an unsigned E4M3 number: the scale of `NVFP4` for doubled values. The code of NaN stands for zero.
#[inline(always)]
pub(crate) fn e4m3_half(x: u8) -> f32 {
    let (exponent, fraction) = (u32::from(x >> 3 & 15), f32::from(x & 7));
    if x == 0x7f {
        0.0
    } else if exponent == 0 {
        // 2^-9 for the fraction, and a half.
        fraction * f32::from_bits((127 - 10) << 23)
    } else {
        (1.0 + fraction / 8.0) * f32::from_bits((exponent + 127 - 8) << 23)
    }
}

/// Digit `n` of a byte of `TQ1_0`, from -1 to 1: the byte is a fraction of 256 in base three, rounded up.
#[inline(always)]
pub(crate) fn trit(byte: u8, n: usize) -> i8 {
    const POWERS: [u8; 5] = [1, 3, 9, 27, 81];
    ((u16::from(byte.wrapping_mul(POWERS[n])) * 3) >> 8) as i8 - 1
}

/// Eight signs from seven: the last makes the number of negative ones even.
#[inline(always)]
pub(crate) fn parity_signs(code: u32) -> u8 {
    let seven = (code & 127) as u8;
    seven | ((seven.count_ones() & 1) << 7) as u8
}

/// Spells out points of `N` digits of `bits` bits.
const fn expand<const N: usize, const P: usize>(codes: &[u16; P], bits: u32, levels: &[i8]) -> [[i8; N]; P] {
    let mut out = [[0; N]; P];
    let mut p = 0;
    while p < P {
        let mut j = 0;
        while j < N {
            out[p][j] = levels[(codes[p] >> (bits * j as u32)) as usize & ((1 << bits) - 1)];
            j += 1;
        }
        p += 1;
    }
    out
}

pub(crate) static IQ2_XXS: [[i8; 8]; 256] = expand(&points::IQ2_XXS, 2, &[8, 25, 43]);
pub(crate) static IQ2_XS: [[i8; 8]; 512] = expand(&points::IQ2_XS, 2, &[8, 25, 43]);
pub(crate) static IQ2_S: [[i8; 8]; 1024] = expand(&points::IQ2_S, 2, &[8, 25, 43]);
pub(crate) static IQ3_XXS: [[i8; 4]; 256] = expand(&points::IQ3_XXS, 3, &[4, 12, 20, 28, 36, 44, 52, 62]);
pub(crate) static IQ3_S: [[i8; 4]; 512] = expand(&points::IQ3_S, 3, &[1, 3, 5, 7, 9, 11, 13, 15]);
pub(crate) static IQ1: [[i8; 8]; 2048] = expand(&points::IQ1, 2, &[-1, 0, 1]);
