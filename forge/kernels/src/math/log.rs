//! `log` and `log1p`: `x = 2^e m` with `m` between `sqrt(1/2)` and `sqrt(2)`, and a polynomial of `m - 1`.

use super::exp::{LN2_HI, LN2_LO};
use super::poly;

/// The bits of `sqrt(1/2)`, where the exponent steps.
const SPLIT: i32 = 0x3f35_04f3;

/// `e` and `m - 1` of a positive normal number.
#[inline(always)]
fn split(x: f32) -> (i32, f32) {
    let i = (x.to_bits() as i32).wrapping_sub(SPLIT);
    let m = f32::from_bits((i & 0x007f_ffff).wrapping_add(SPLIT) as u32);
    (i >> 23, m - 1.0)
}

/// `e ln 2 + ln(1 + f) + c` for a small correction `c`.
#[inline(always)]
fn join(e: f32, f: f32, c: f32) -> f32 {
    // (ln(1 + f) - f + f^2 / 2) / f^3, minimax on sqrt(1/2) <= 1 + f <= sqrt(2).
    let p = poly(
        f,
        [
            0.333_333_31,
            -0.249_999_97,
            0.200_007_16,
            -0.166_678_03,
            0.142_490_58,
            -0.124_256_87,
            0.116_854_198,
            -0.114_797_34,
            0.069_716_118,
        ],
    );
    let z = f * f;
    let y = f * z * p + (e * LN2_LO + c);
    (f + (y - 0.5 * z)) + e * LN2_HI
}

/// `ln x`, at most 0.9 ULP: `-inf` at zeros, NaN below.
#[inline(always)]
pub fn log(x: f32) -> f32 {
    // Subnormals are scaled up first.
    let tiny = x < f32::MIN_POSITIVE;
    let (e, f) = split(if tiny { x * 8_388_608.0 } else { x });
    let e = e as f32 - if tiny { 23.0 } else { 0.0 };
    let y = join(e, f, 0.0);
    let y = if x < f32::INFINITY { y } else { x };
    let y = if x < 0.0 { f32::NAN } else { y };
    if x == 0.0 { f32::NEG_INFINITY } else { y }
}

/// `ln(1 + x)`, at most 1 ULP, exact in the limit of small `x`: `-inf` at -1, NaN below.
#[inline(always)]
pub fn log1p(x: f32) -> f32 {
    let u = 1.0 + x;
    // What the sum lost (Knuth's two-sum), as a correction of the logarithm.
    let v = u - 1.0;
    let lost = (1.0 - (u - v)) + (x - v);
    let (e, f) = split(u);
    // Near zero `x` itself is the argument, with nothing lost.
    let near = e == 0;
    let f = if near { x } else { f };
    let c = if near { 0.0 } else { lost / u };
    // The sign of the result is that of x, which saves the sign of zero.
    let y = join(e as f32, f, c).copysign(x);
    let y = if x < f32::INFINITY { y } else { x };
    let y = if x < -1.0 { f32::NAN } else { y };
    if x == -1.0 { f32::NEG_INFINITY } else { y }
}
