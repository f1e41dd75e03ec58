//! `exp` and `exp_m1`: `x = n ln 2 + r`, a polynomial of `r`, and `2^n` put into the exponent bits.

use super::poly;

/// Adding it rounds to the nearest integer (half to even), which then stands in the low mantissa bits.
const MAGIC: f32 = 12_582_912.0; // 1.5 * 2^23
/// `ln 2` in two pieces; the first has 10 bits, so its product with an exponent is exact.
pub(super) const LN2_HI: f32 = 0.693_359_375;
pub(super) const LN2_LO: f32 = -2.121_944_4e-4;

/// `n` and `r` with `x = n ln 2 + r`, `|r| <= ln 2 / 2` and a little. For `|x| < 2^21`.
#[inline(always)]
fn reduce(x: f32) -> (i32, f32) {
    let t = x * std::f32::consts::LOG2_E + MAGIC;
    let n = t - MAGIC;
    let r = (x - n * LN2_HI) - n * LN2_LO;
    (t.to_bits().wrapping_sub(MAGIC.to_bits()) as i32, r)
}

/// `2^n` for `-126 <= n <= 127` (`n = 128` gives infinity).
#[inline(always)]
fn pow2(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// `e^x`, at most 1.2 ULP; subnormal results are rounded once, as they should be.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Beyond these bounds the result is infinity or zero anyway. Written as selections that keep NaN.
    let x = if x > 89.5 { 89.5 } else { x };
    let x = if x < -104.5 { -104.5 } else { x };
    let (n, r) = reduce(x);
    // (e^r - 1 - r) / r^2, minimax on |r| <= ln 2 / 2.
    let q = poly(r, [0.5, 0.166_665_76, 0.041_666_556, 0.008_363_203, 0.001_392_621_3]);
    let p = 1.0 + (r + r * r * q);
    // Two factors: 2^n itself may be outside the normal range.
    let half = n >> 1;
    p * pow2(half) * pow2(n.wrapping_sub(half))
}

/// `e^x - 1`, at most 1.6 ULP, exact in the limit of small `x`.
#[inline(always)]
pub fn exp_m1(x: f32) -> f32 {
    let c = if x > 89.0 { 89.0 } else { x };
    let c = if c < -20.0 { -20.0 } else { c };
    let (n, r) = reduce(c);
    let q = poly(r, [0.5, 0.166_666_67, 0.041_666_463, 0.008_333_31, 0.001_393_368_6, 1.989_103e-4]);
    let p = r + r * r * q;
    // 2 (2^(n-1) p + (2^(n-1) - 1/2)): with n = 128 no intermediate value overflows before the result does.
    let s = pow2(n.wrapping_sub(1));
    let y = (s * p + (s - 0.5)) * 2.0;
    let y = if n == 0 { p } else { y };
    // The sign of the result is that of x, which saves the sign of zero.
    y.copysign(x)
}
