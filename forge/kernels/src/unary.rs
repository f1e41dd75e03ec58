//! Functions of one element and their slopes, on dense slices.

use crate::elementwise::{self, BLOCK};
use crate::layout::Strided;
use crate::math::{self, Real};
use crate::multiversion;

/// A function of one element; `p` is its parameter where it has one.
pub trait Unary<T> {
    /// The value at `x`.
    fn f(x: T, p: T) -> T;
    /// The slope, from the saved value: the output `y` if [`UnaryOp::saves_output`], else the input `x`.
    fn slope(saved: T, p: T) -> T;
}

macro_rules! unary_ops {
    ($($(#[$doc:meta])* $name:ident $saves:ident |$x:ident, $p:ident| $f:expr, |$s:ident| $df:expr;)*) => {
        /// Which function. The parameter, where there is one, travels beside it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum UnaryOp {
            $($(#[$doc])* $name,)*
        }

        impl UnaryOp {
            /// Every function.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Whether the slope is computed from the output (else from the input).
            pub const fn saves_output(self) -> bool {
                match self { $(Self::$name => unary_ops!(@ $saves),)* }
            }
        }

        $(
            struct $name;
            impl<T: Real> Unary<T> for $name {
                #[inline(always)]
                #[allow(unused_variables, reason = "most functions have no parameter")]
                fn f($x: T, $p: T) -> T { $f }
                #[inline(always)]
                #[allow(unused_variables, reason = "most functions have no parameter")]
                fn slope($s: T, $p: T) -> T { $df }
            }
        )*

        impl UnaryKernels for f32 {
            fn forward(op: UnaryOp, p: Self, out: &mut [Self], x: &[Self]) {
                // The first two look at the largest magnitude, to stay with a branch-free loop.
                match op {
                    UnaryOp::Sin => math::sin_slice(out, x),
                    UnaryOp::Cos => math::cos_slice(out, x),
                    $(#[allow(unreachable_patterns, reason = "two are served above")] UnaryOp::$name => map::<Self, $name>(out, x, p),)*
                }
            }
            fn backward(op: UnaryOp, p: Self, dx: &mut [Self], saved: &[Self], g: &[Self]) {
                match op { $(UnaryOp::$name => pull::<Self, $name>(dx, saved, g, p),)* }
            }
        }

        impl UnaryKernels for f64 {
            fn forward(op: UnaryOp, p: Self, out: &mut [Self], x: &[Self]) {
                match op { $(UnaryOp::$name => map_plain::<Self, $name>(out, x, p),)* }
            }
            fn backward(op: UnaryOp, p: Self, dx: &mut [Self], saved: &[Self], g: &[Self]) {
                match op { $(UnaryOp::$name => pull_plain::<Self, $name>(dx, saved, g, p),)* }
            }
        }
    };
    (@ input) => { false };
    (@ output) => { true };
}

#[inline(always)]
fn c<T: Real>(v: f64) -> T {
    T::from_f64(v)
}
/// `if yes { a } else { b }` without a branch.
#[inline(always)]
fn pick<T: Real>(yes: bool, a: T, b: T) -> T {
    if yes { a } else { b }
}
const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
const GELU_CUBIC: f64 = 0.044_715;
const FRAC_2_SQRT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;

unary_ops! {
    /// `-x`.
    Neg input |x, p| -x, |s| c(-1.0);
    /// `|x|`; slope 0 at 0.
    Abs input |x, p| x.abs(), |s| sign(s);
    /// `x * x`.
    Square input |x, p| x * x, |s| s + s;
    /// `1 / x`.
    Reciprocal output |x, p| T::ONE / x, |y| -(y * y);
    /// Square root.
    Sqrt output |x, p| x.sqrt(), |y| c::<T>(0.5) / y;
    /// `1 / sqrt(x)`.
    Rsqrt output |x, p| T::ONE / x.sqrt(), |y| c::<T>(-0.5) * y * y * y;
    /// `e^x`.
    Exp output |x, p| x.exp(), |y| y;
    /// `e^x - 1`.
    ExpM1 output |x, p| x.exp_m1(), |y| y + T::ONE;
    /// Natural logarithm.
    Log input |x, p| x.log(), |s| T::ONE / s;
    /// `ln(1 + x)`.
    Log1p input |x, p| x.log1p(), |s| T::ONE / (T::ONE + s);
    /// Sine, in radians.
    Sin input |x, p| x.sin(), |s| s.cos();
    /// Cosine, in radians.
    Cos input |x, p| x.cos(), |s| -s.sin();
    /// Hyperbolic tangent.
    Tanh output |x, p| x.tanh(), |y| T::ONE - y * y;
    /// The rational approximation of tanh that neural amp profiles call fast tanh.
    FastTanh input |x, p| fast_tanh(x), |s| fast_tanh_slope(s);
    /// `1 / (1 + e^-x)`.
    Sigmoid output |x, p| x.sigmoid(), |y| y * (T::ONE - y);
    /// `x * sigmoid(x)`.
    Silu input |x, p| x * x.sigmoid(), |s| { let g = s.sigmoid(); g * (T::ONE + s * (T::ONE - g)) };
    /// `max(x, 0)`; NaN stays.
    Relu output |x, p| pick(x <= T::ZERO, T::ZERO, x), |y| pick(y <= T::ZERO, T::ZERO, T::ONE);
    /// `x`, or `p * x` below 0.
    LeakyRelu input |x, p| pick(x < T::ZERO, p * x, x), |s| pick(s > T::ZERO, T::ONE, p);
    /// `x`, or `p (e^x - 1)` below 0.
    Elu input |x, p| pick(x > T::ZERO, x, p * x.exp_m1()), |s| pick(s > T::ZERO, T::ONE, p * s.exp());
    /// `ln(1 + e^x)`, in the form that does not overflow.
    Softplus input |x, p| x.nan_max(T::ZERO) + (-x.abs()).exp().log1p(), |s| s.sigmoid();
    /// GELU by tanh: `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`.
    Gelu input |x, p| c::<T>(0.5) * x * (T::ONE + (c::<T>(SQRT_2_OVER_PI) * (x + c::<T>(GELU_CUBIC) * x * x * x)).tanh()), |s| gelu_slope(s);
    /// GELU by the error function: `x/2 (1 + erf(x / sqrt 2))`.
    GeluErf input |x, p| c::<T>(0.5) * x * (T::ONE + (x * c::<T>(std::f64::consts::FRAC_1_SQRT_2)).erf()),
        |s| c::<T>(0.5) * (T::ONE + (s * c::<T>(std::f64::consts::FRAC_1_SQRT_2)).erf())
            + s * c::<T>(0.398_942_280_401_432_7) * (c::<T>(-0.5) * s * s).exp();
    /// `x * sigmoid(1.702 x)`.
    QuickGelu input |x, p| x * (c::<T>(1.702) * x).sigmoid(),
        |s| { let g = (c::<T>(1.702) * s).sigmoid(); g * (T::ONE + c::<T>(1.702) * s * (T::ONE - g)) };
    /// Error function.
    Erf input |x, p| x.erf(), |s| c::<T>(FRAC_2_SQRT_PI) * (-(s * s)).exp();
    /// `p * tanh(x / p)`: a soft bound of +-p.
    Softcap output |x, p| p * (x / p).tanh(), |y| { let t = y / p; T::ONE - t * t };
    /// `x / (1 + |x|)`.
    Softsign input |x, p| x / (T::ONE + x.abs()), |s| { let d = T::ONE + s.abs(); T::ONE / (d * d) };
    /// `x * min(max(x + 3, 0), 6) / 6`.
    HardSwish input |x, p| x * clamp(x + c(3.0), T::ZERO, c(6.0)) * c(1.0 / 6.0),
        |s| pick(s <= c(-3.0), T::ZERO, pick(s >= c(3.0), T::ONE, (s + s + c(3.0)) * c(1.0 / 6.0)));
    /// `min(max(x, -1), 1)`.
    HardTanh input |x, p| clamp(x, c(-1.0), T::ONE), |s| pick(s > c(-1.0) && s < T::ONE, T::ONE, T::ZERO);
    /// Largest integer not above `x`; slope 0.
    Floor input |x, p| x.floor(), |s| T::ZERO;
    /// Smallest integer not below `x`; slope 0.
    Ceil input |x, p| x.ceil(), |s| T::ZERO;
    /// Nearest integer, ties to even; slope 0.
    Round input |x, p| x.round_even(), |s| T::ZERO;
    /// -1, 0 or 1; +-0 and NaN stay; slope 0.
    Sign input |x, p| sign(x), |s| T::ZERO;
}

#[inline(always)]
fn sign<T: Real>(x: T) -> T {
    pick(x > T::ZERO, T::ONE, pick(x < T::ZERO, -T::ONE, x))
}
#[inline(always)]
fn clamp<T: Real>(x: T, lo: T, hi: T) -> T {
    let low = pick(x < lo, lo, x);
    pick(low > hi, hi, low)
}

const FT: [f64; 5] =
    [2.455_507_507_029_56, 0.893_229_853_513_558, 0.821_226_666_969_744, 2.445_066_346_522_99, 0.814_642_734_961_073];

#[inline(always)]
fn fast_tanh<T: Real>(x: T) -> T {
    let (a, x2) = (x.abs(), x * x);
    let top = x * (c::<T>(FT[0]) + c::<T>(FT[0]) * a + (c::<T>(FT[1]) + c::<T>(FT[2]) * a) * x2);
    let bottom = c::<T>(FT[3]) + (c::<T>(FT[3]) + x2) * (x + c::<T>(FT[4]) * x * a).abs();
    top / bottom
}
#[inline(always)]
fn fast_tanh_slope<T: Real>(x: T) -> T {
    // Both halves as functions of a = |x|: the function is odd, its slope even.
    let (a, x2) = (x.abs(), x * x);
    let (k0, k1, k2, d, e) = (c::<T>(FT[0]), c::<T>(FT[1]), c::<T>(FT[2]), c::<T>(FT[3]), c::<T>(FT[4]));
    let top = a * (k0 + k0 * a + (k1 + k2 * a) * x2);
    let top1 = k0 + c::<T>(2.0) * k0 * a + c::<T>(3.0) * k1 * x2 + c::<T>(4.0) * k2 * x2 * a;
    let q = a + e * x2;
    let q1 = T::ONE + c::<T>(2.0) * e * a;
    let bottom = d + (d + x2) * q;
    let bottom1 = c::<T>(2.0) * a * q + (d + x2) * q1;
    (top1 * bottom - top * bottom1) / (bottom * bottom)
}
#[inline(always)]
fn gelu_slope<T: Real>(x: T) -> T {
    let inner = c::<T>(SQRT_2_OVER_PI) * (x + c::<T>(GELU_CUBIC) * x * x * x);
    let t = inner.tanh();
    let inner1 = c::<T>(SQRT_2_OVER_PI) * (T::ONE + c::<T>(3.0 * GELU_CUBIC) * x * x);
    c::<T>(0.5) * (T::ONE + t) + c::<T>(0.5) * x * (T::ONE - t * t) * inner1
}

/// The loops over dense slices, compiled here once for each type. (f64 is for checking gradients: its functions are the
/// standard library's, which no instruction set makes faster.)
pub trait UnaryKernels: Real {
    /// `out[i] = op(x[i])`; `p` is the function's parameter, 0 where it has none.
    fn forward(op: UnaryOp, p: Self, out: &mut [Self], x: &[Self]);
    /// `dx[i] = g[i] * slope(saved[i])`, `saved` being what [`UnaryOp::saves_output`] says.
    fn backward(op: UnaryOp, p: Self, dx: &mut [Self], saved: &[Self], g: &[Self]);
    /// `out = op(x)` for a tensor of any layout.
    fn unary(op: UnaryOp, p: Self, out: &mut [Self], x: &Strided<Self>) {
        elementwise::unary(out, x, |o, x| Self::forward(op, p, o, x));
    }
    /// `x = op(x)`.
    fn unary_in_place(op: UnaryOp, p: Self, x: &mut [Self]) {
        elementwise::unary_in_place(x, |x| {
            let mut block = [Self::ZERO; BLOCK];
            for x in x.chunks_mut(BLOCK) {
                let from = &mut block[..x.len()];
                from.copy_from_slice(x);
                Self::forward(op, p, x, from);
            }
        });
    }
    /// `dx = g * slope(saved)` for tensors of any layout.
    fn pull(op: UnaryOp, p: Self, dx: &mut [Self], saved: &Strided<Self>, g: &Strided<Self>) {
        elementwise::binary(dx, saved, g, |dx, s, g| Self::backward(op, p, dx, s, g));
    }
}

multiversion! {
    fn map<T: Real, O: Unary<T>>(out: &mut [T], x: &[T], p: T) {
        map_plain::<T, O>(out, x, p);
    }
}
multiversion! {
    fn pull<T: Real, O: Unary<T>>(dx: &mut [T], saved: &[T], g: &[T], p: T) {
        pull_plain::<T, O>(dx, saved, g, p);
    }
}

#[inline(always)]
fn map_plain<T: Real, O: Unary<T>>(out: &mut [T], x: &[T], p: T) {
    for (o, &x) in out.iter_mut().zip(x) {
        *o = O::f(x, p);
    }
}
#[inline(always)]
fn pull_plain<T: Real, O: Unary<T>>(dx: &mut [T], saved: &[T], g: &[T], p: T) {
    for ((d, &s), &g) in dx.iter_mut().zip(saved).zip(g) {
        *d = g * O::slope(s, p);
    }
}
