//! Elementary functions, made to be called inside vectorised loops.
//!
//! The functions on `f32` are branch-free polynomials: plain `a * b + c` without fused multiply-add and without calls
//! into a C library, so a [`multiversion!`](crate::multiversion) loop around one becomes vector code on every
//! instruction set and gives the same bits on all of them (and in the scalar remainder of the loop). Infinities,
//! signed zeros, subnormals, overflow and NaN behave as in C's `libm` unless a function says otherwise.
//!
//! Error bounds are in units in the last place (ULP) of the `f32` result against exact arithmetic, tested over samples
//! of every exponent in `tests/math.rs`, which has an ignored test over all 2^32 arguments as well.
//!
//! [`Real`] joins `f32` and `f64`, so that a kernel is written once. On `f64` the elementary functions are the standard
//! library's: that type serves gradient checks and references, not speed.

mod activation;
mod erf;
mod exp;
mod log;
mod real;
mod trig;

pub use activation::{elu, fast_tanh, gelu, gelu_erf, quick_gelu, sigmoid, silu, softplus, tanh};
pub use erf::{erf, erf_f64, erfc, erfc_f64};
pub use exp::{exp, exp_m1};
pub use log::{log, log1p};
pub use real::Real;
pub use trig::{TRIG_MAX, cos, cos_bounded, cos_slice, sin, sin_bounded, sin_slice};

/// `1 / sqrt(x)`, at most 1.5 ULP.
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    Real::rsqrt(x)
}

/// `sqrt(x)`, correctly rounded.
#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
    Real::sqrt(x)
}

/// `1 / x`, correctly rounded.
#[inline(always)]
pub fn recip(x: f32) -> f32 {
    Real::recip(x)
}

/// To the nearest integer, halves to the even one; keeps signed zeros, infinities and NaN.
#[inline(always)]
pub fn round_even(x: f32) -> f32 {
    Real::round_even(x)
}

/// The largest integer not above `x`; keeps signed zeros, infinities and NaN.
#[inline(always)]
pub fn floor(x: f32) -> f32 {
    Real::floor(x)
}

/// The smallest integer not below `x`; keeps signed zeros, infinities and NaN.
#[inline(always)]
pub fn ceil(x: f32) -> f32 {
    Real::ceil(x)
}

/// `x` to the power `y` as C's `powf`: `0^0 = 1`, NaN for a negative `x` with a `y` that is no integer. Scalar.
#[inline(always)]
pub fn pow(x: f32, y: f32) -> f32 {
    Real::powf(x, y)
}

/// `c[0] + x (c[1] + x (..))`.
#[inline(always)]
fn poly<T: Real, const N: usize>(x: T, c: [T; N]) -> T {
    let mut y = c[N - 1];
    for i in (0..N - 1).rev() {
        y = y * x + c[i];
    }
    y
}
