//! Rounding to whole numbers and to half precision.

use half::f16;

/// Adding it leaves a whole number in the low bits, rounded to the nearest, ties to even.
const MAGIC: f32 = 12_582_912.0;

/// What [`MAGIC`] was added to, for magnitudes up to `2^22`; any number for others.
#[inline(always)]
fn whole(v: f32) -> i32 {
    (v.to_bits() & 0x007f_ffff) as i32 - 0x0040_0000
}

/// The whole number nearest to `v`, ties to even.
#[inline(always)]
pub(crate) fn nearest(v: f32) -> i32 {
    whole(v + MAGIC)
}

/// The whole number nearest to `a b`, ties to even.
#[inline(always)]
pub(crate) fn nearest_product(a: f32, b: f32) -> i32 {
    whole(a * b + MAGIC)
}

/// The whole part; the least number for what has none that 32 bits hold.
#[inline(always)]
pub(crate) fn whole_part(v: f32) -> i32 {
    if v.abs() < 2_147_483_648.0 { v as i32 } else { i32::MIN }
}

/// `1 / v`, and zero for zero.
#[inline(always)]
pub(crate) fn inverse(v: f32) -> f32 {
    if v == 0.0 { 0.0 } else { 1.0 / v }
}

/// Writes `v` in half precision at byte `at`, and gives what is read there again.
#[inline(always)]
pub(crate) fn put_half(b: &mut [u8], at: usize, v: f32) -> f32 {
    let half = f16::from_f32_const(v);
    b[at..at + 2].copy_from_slice(&half.to_bits().to_le_bytes());
    half.to_f32_const()
}

/// The element of largest magnitude, the first of several.
#[inline(always)]
pub(crate) fn extreme(x: &[f32]) -> f32 {
    x.iter().fold(0.0, |m: f32, &v| if v.abs() > m.abs() { v } else { m })
}
