//! [`Real`]: what `f32` and `f64` have in common.

use super::{erf, erf_f64, erfc, erfc_f64, exp, exp_m1, log, log1p, tanh, trig};
use crate::dtype::Element;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// `f32` or `f64`: a kernel over it is written once, and vectorises on `f32`.
///
/// The methods of `f32` are the functions of [`math`](super) with their error bounds, those of `f64` the standard
/// library's. On a concrete `f32` the inherent methods of the standard library win, so call these in generic code or as
/// `Real::exp(x)`.
///
/// ```
/// use forge_kernels::math::Real;
/// fn softsign<T: Real>(x: T) -> T {
///     x / (T::ONE + x.abs())
/// }
/// assert_eq!(softsign(1.0f32), 0.5);
/// assert_eq!(softsign(-3.0f64), -0.75);
/// ```
pub trait Real:
    Element
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// Negative infinity.
    const NEG_INFINITY: Self;
    /// A quiet NaN.
    const NAN: Self;
    /// The distance from 1 to the next larger number.
    const EPSILON: Self;
    /// The largest finite number.
    const MAX: Self;
    /// The smallest positive normal number.
    const MIN_POSITIVE: Self;
    /// From this magnitude on (2^23 or 2^52) every number is an integer.
    const INTEGERS: Self;
    /// The largest magnitude that [`Real::sin_bounded`] takes.
    const TRIG_MAX: Self;

    /// Rounds to this type.
    fn from_f64(x: f64) -> Self;
    /// Widens or keeps.
    fn to_f64(self) -> f64;
    /// Widens or keeps.
    fn from_f32(x: f32) -> Self;
    /// Rounds or keeps.
    fn to_f32(self) -> f32;

    /// Whether this is NaN.
    fn is_nan(self) -> bool;
    /// Whether this is neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// Without the sign.
    fn abs(self) -> Self;
    /// This magnitude with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// The largest number below.
    fn next_down(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// `self * a + b`, in one rounding where `FMA` says that it is one instruction, else in two.
    fn mul_add_if<const FMA: bool>(self, a: Self, b: Self) -> Self;

    /// `e^x`.
    fn exp(self) -> Self;
    /// `e^x - 1`.
    fn exp_m1(self) -> Self;
    /// `ln x`.
    fn log(self) -> Self;
    /// `ln(1 + x)`.
    fn log1p(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Error function.
    fn erf(self) -> Self;
    /// `1 - erf(x)`.
    fn erfc(self) -> Self;
    /// Sine; any argument.
    fn sin(self) -> Self;
    /// Cosine; any argument.
    fn cos(self) -> Self;
    /// Sine of a magnitude up to [`Real::TRIG_MAX`], branch-free on `f32`. [`super::sin_slice`] checks for you.
    fn sin_bounded(self) -> Self;
    /// Cosine of a magnitude up to [`Real::TRIG_MAX`], branch-free on `f32`.
    fn cos_bounded(self) -> Self;
    /// `x` to the power `y` as C's `pow`; scalar.
    fn powf(self, y: Self) -> Self;

    /// `1 / x`.
    #[inline(always)]
    fn recip(self) -> Self {
        Self::ONE / self
    }

    /// `1 / sqrt(x)`.
    #[inline(always)]
    fn rsqrt(self) -> Self {
        Self::ONE / self.sqrt()
    }

    /// The larger; NaN when either is (unlike `f32::max`).
    #[inline(always)]
    fn nan_max(self, other: Self) -> Self {
        if self > other || self.is_nan() { self } else { other }
    }

    /// The smaller; NaN when either is (unlike `f32::min`).
    #[inline(always)]
    fn nan_min(self, other: Self) -> Self {
        if self < other || self.is_nan() { self } else { other }
    }

    /// To the nearest integer, halves to the even one.
    #[inline(always)]
    fn round_even(self) -> Self {
        // Adding 2^23 (2^52) leaves no fraction bits.
        let a = self.abs();
        let r = (a + Self::INTEGERS) - Self::INTEGERS;
        if a < Self::INTEGERS { r.copysign(self) } else { self }
    }

    /// The largest integer not above.
    #[inline(always)]
    fn floor(self) -> Self {
        let r = self.round_even();
        if r > self { r - Self::ONE } else { r }
    }

    /// The smallest integer not below.
    #[inline(always)]
    fn ceil(self) -> Self {
        let r = self.round_even();
        // The sum may be zero, whose sign is that of the argument.
        if r < self { (r + Self::ONE).copysign(self) } else { r }
    }

    /// `1 / (1 + e^-x)`.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        // e^-|x| is at most 1, so neither side overflows, and small results keep their precision.
        let z = (-self.abs()).exp();
        let top = if self < Self::ZERO { z } else { Self::ONE };
        top / (Self::ONE + z)
    }

    /// `x sigmoid(x)`.
    #[inline(always)]
    fn silu(self) -> Self {
        bounded_below(self) * self.sigmoid()
    }

    /// `x sigmoid(1.702 x)`.
    #[inline(always)]
    fn quick_gelu(self) -> Self {
        bounded_below(self) * (self * Self::from_f64(1.702)).sigmoid()
    }

    /// `x/2 (1 + tanh(0.7978845608 (x + 0.044715 x^3)))`.
    #[inline(always)]
    fn gelu(self) -> Self {
        // (1 + tanh u) / 2 = sigmoid(2 u)
        let x = bounded_below(self);
        let u = x * (Self::ONE + Self::from_f64(0.044_715) * (x * x));
        x * (Self::from_f64(2.0 * 0.797_884_560_8) * u).sigmoid()
    }

    /// `x/2 (1 + erf(x / sqrt 2))`.
    #[inline(always)]
    fn gelu_erf(self) -> Self {
        let x = bounded_below(self);
        x * (Self::from_f64(0.5) * (x * Self::from_f64(-std::f64::consts::FRAC_1_SQRT_2)).erfc())
    }

    /// `ln(1 + e^x)`.
    #[inline(always)]
    fn softplus(self) -> Self {
        let above = if self > Self::ZERO { self } else { Self::ZERO };
        above + (-self.abs()).exp().log1p()
    }

    /// `x` above zero, `e^x - 1` below.
    #[inline(always)]
    fn elu(self) -> Self {
        let below = self.exp_m1();
        if self > Self::ZERO { self } else { below }
    }

    /// `x (a + a|x| + (b + c|x|) x^2) / (d + (d + x^2) |x + e x|x||)`.
    #[inline(always)]
    fn fast_tanh(self) -> Self {
        let f = Self::from_f64;
        let (a, b, c) = (f(2.455_507_507_029_56), f(0.893_229_853_513_558), f(0.821_226_666_969_744));
        let (d, e) = (f(2.445_066_346_522_99), f(0.814_642_734_961_073));
        // Past 1e8 the quotient is c / e to the last bit; the bound keeps x^4 finite.
        let most = f(1e8);
        let x = if self > most { most } else { self };
        let x = if x < -most { -most } else { x };
        let (ax, x2) = (x.abs(), x * x);
        x * (a + a * ax + (b + c * ax) * x2) / (d + (d + x2) * (x + e * x * ax).abs())
    }
}

/// `x`, but not so far below zero that its product with a vanishing factor would be `-inf * 0`.
#[inline(always)]
fn bounded_below<T: Real>(x: T) -> T {
    let least = T::from_f64(-1000.0);
    if x < least { least } else { x }
}

macro_rules! real {
    ($t:ident, integers: $integers:expr, trig_max: $trig:expr, $($name:ident => $f:expr),* $(,)?) => {
        impl Real for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const INFINITY: Self = $t::INFINITY;
            const NEG_INFINITY: Self = $t::NEG_INFINITY;
            const NAN: Self = $t::NAN;
            const EPSILON: Self = $t::EPSILON;
            const MAX: Self = $t::MAX;
            const MIN_POSITIVE: Self = $t::MIN_POSITIVE;
            const INTEGERS: Self = $integers;
            const TRIG_MAX: Self = $trig;

            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as Self
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_f32(x: f32) -> Self {
                x as Self
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $t::is_nan(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t::abs(self)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                $t::copysign(self, sign)
            }
            #[inline(always)]
            fn next_down(self) -> Self {
                $t::next_down(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn mul_add_if<const FMA: bool>(self, a: Self, b: Self) -> Self {
                if FMA { $t::mul_add(self, a, b) } else { self * a + b }
            }
            #[inline(always)]
            fn powf(self, y: Self) -> Self {
                $t::powf(self, y)
            }
            $(
                #[inline(always)]
                fn $name(self) -> Self {
                    $f(self)
                }
            )*
        }
    };
}

real!(f32, integers: 8_388_608.0, trig_max: trig::TRIG_MAX,
    exp => exp, exp_m1 => exp_m1, log => log, log1p => log1p, tanh => tanh, erf => erf, erfc => erfc,
    sin => trig::sin, cos => trig::cos, sin_bounded => trig::sin_bounded, cos_bounded => trig::cos_bounded,
);
real!(f64, integers: 4_503_599_627_370_496.0, trig_max: f64::INFINITY,
    exp => f64::exp, exp_m1 => f64::exp_m1, log => f64::ln, log1p => f64::ln_1p, tanh => f64::tanh,
    erf => erf_f64, erfc => erfc_f64,
    sin => f64::sin, cos => f64::cos, sin_bounded => f64::sin, cos_bounded => f64::cos,
);
