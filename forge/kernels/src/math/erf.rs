//! The error function and its complement.

use super::{exp, poly};

/// `erf(x) / x - 1` of `x^2`, minimax on `|x| <= 1`.
const SMALL: [f32; 7] =
    [0.128_379_17, -0.376_126_26, 0.112_835_944, -0.026_854_211, 0.005_189_087, -8.016_864_3e-4, 7.875_875e-5];

/// `erfc(a)` for `a >= 1`: `e^(-a^2) t g(t)` with `t = 1 / (1 + a / 2)`, where `g` is smooth.
#[inline(always)]
fn erfc_large(a: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.5 * a);
    let g = poly(
        t,
        [
            0.282_097_82,
            0.282_051_74,
            0.246_862_05,
            0.179_235_26,
            0.059_826_996,
            0.084_226_44,
            -0.227_692_11,
            0.093_973_65,
        ],
    );
    // a^2 in two pieces (the first from the upper 12 bits of a, exact), as its error grows in the exponential.
    let hi = f32::from_bits(a.to_bits() & 0xffff_f000);
    let lo = (a - hi) * (a + hi);
    let lo = if lo < 0.1 { lo } else { 0.1 };
    exp(-hi * hi) * (poly(lo, [1.0, -1.0, 0.5, -1.0 / 6.0, 1.0 / 24.0]) * (t * g))
}

/// `erf(x)` for `|x| <= 1`.
#[inline(always)]
fn erf_small(x: f32) -> f32 {
    x + x * poly(x * x, SMALL)
}

/// The error function, at most 1.5 ULP.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let a = x.abs();
    let large = (1.0 - erfc_large(a)).copysign(x);
    if a < 1.0 { erf_small(x) } else { large }
}

/// `1 - erf(x)`, at most 7 ULP; with less precision above 9, where the results are subnormal.
#[inline(always)]
pub fn erfc(x: f32) -> f32 {
    let a = x.abs();
    let c = erfc_large(a);
    let large = if x < 0.0 { 2.0 - c } else { c };
    if a < 1.0 { 1.0 - erf_small(x) } else { large }
}

/// Where the series of [`erf_f64`] gives way to the continued fraction of [`erfc_f64`].
const SERIES: f64 = 2.5;

/// The error function in `f64`, to about 1e-15: the series `2/sqrt(pi) e^(-x^2) sum 2^n x^(2n+1) / (1 3 .. (2n+1))`, all
/// of one sign, below 2.5, and [`erfc_f64`] above.
pub fn erf_f64(x: f64) -> f64 {
    let a = x.abs();
    if a >= SERIES {
        return (1.0 - tail(a)).copysign(x);
    }
    let z = 2.0 * x * x;
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        odd += 2.0;
        term *= z / odd;
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// `1 - erf(x)` in `f64`; above 2.5 to about 1e-15 of its value (times `x^2`, from the exponential).
pub fn erfc_f64(x: f64) -> f64 {
    if x >= SERIES { tail(x) } else { 1.0 - erf_f64(x) }
}

/// `erfc(a)` for `a >= 2.5` by Laplace's continued fraction `a + (1/2)/(a + 1/(a + (3/2)/(a + ..)))`, from the tail.
fn tail(a: f64) -> f64 {
    if a > 28.0 {
        return 0.0;
    }
    let mut f = a;
    for k in (1..=80).rev() {
        f = a + 0.5 * f64::from(k) / f;
    }
    (-a * a).exp() / (f * std::f64::consts::PI.sqrt())
}
