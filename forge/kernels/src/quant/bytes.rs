//! Little-endian numbers inside a block.

use half::f16;

/// The half-precision number at byte `at`.
#[inline(always)]
pub(crate) fn half(b: &[u8], at: usize) -> f32 {
    half_bits(u16_at(b, at))
}

/// Half to single precision in integer arithmetic: the same on every arm, and a payload of NaN is kept.
#[inline(always)]
pub(crate) fn half_bits(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32_const()
}

/// The 16-bit number at byte `at`.
#[inline(always)]
pub(crate) fn u16_at(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([b[at], b[at + 1]])
}

/// The 32-bit number at byte `at`.
#[inline(always)]
pub(crate) fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}

/// The 6-bit scales and minima of `Q4_K` and `Q5_K`, eight each, from their twelve bytes.
#[inline(always)]
pub(crate) fn scales6(b: &[u8]) -> ([u8; 8], [u8; 8]) {
    const SIX: u32 = 0x3f3f_3f3f;
    const FOUR: u32 = 0x0f0f_0f0f;
    const TOP: u32 = 0x3030_3030;
    let (s, m, rest) = (u32_at(b, 0), u32_at(b, 4), u32_at(b, 8));
    let scales = u64::from(s & SIX) | u64::from(rest & FOUR | s >> 2 & TOP) << 32;
    let mins = u64::from(m & SIX) | u64::from(rest >> 4 & FOUR | m >> 2 & TOP) << 32;
    (scales.to_le_bytes(), mins.to_le_bytes())
}

/// The sixteen 6-bit scales of `Q3_K`, from -32 to 31, from their twelve bytes.
#[inline(always)]
pub(crate) fn scales6_signed(b: &[u8]) -> [i8; 16] {
    let mut scale = [0; 16];
    for j in 0..16 {
        let low = if j < 8 { b[j] & 15 } else { b[j - 8] >> 4 };
        let high = b[8 + j % 4] >> (2 * (j / 4)) & 3;
        scale[j] = (low | high << 4) as i8 - 32;
    }
    scale
}
