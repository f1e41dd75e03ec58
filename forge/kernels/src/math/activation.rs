//! The smooth activations of networks on `f32`. The formulas stand in [`Real`], once for both types.

use super::{Real, exp_m1};

macro_rules! from_real {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: f32) -> f32 {
            Real::$name(x)
        }
    )*};
}

from_real! {
    /// `1 / (1 + e^-x)`, at most 2.5 ULP, subnormal results included.
    sigmoid;
    /// `x / (1 + e^-x)`, at most 3.5 ULP for `x > -87` (below, the result nears the subnormals); 0 at `-inf`.
    silu;
    /// `x sigmoid(1.702 x)`, at most `4 + 2 |1.702 x|` ULP; 0 at `-inf`.
    quick_gelu;
    /// `x/2 (1 + tanh(0.7978845608 (x + 0.044715 x^3)))`, computed as `x sigmoid(2 ..)`, which does not cancel:
    /// at most `4 + 4 u` ULP with `u` the argument of that sigmoid; 0 at `-inf`.
    gelu;
    /// `x/2 (1 + erf(x / sqrt 2))`, computed with the complement below zero, which does not cancel: at most
    /// `6 + 2 x^2` ULP; 0 at `-inf`.
    gelu_erf;
    /// `ln(1 + e^x)` as `max(x, 0) + log1p(e^-|x|)`, at most 2 ULP.
    softplus;
    /// `x` above zero, `e^x - 1` below, at most 1.6 ULP.
    elu;
    /// The rational function that amplifier models use for `tanh` ("fast tanh"); within 0.01 of it, not bounded by 1.
    /// At most 7 ULP from the formula.
    fast_tanh;
}

/// `tanh x`, at most 2.7 ULP, exact in the limit of small `x`.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    // From 10 on the quotient is 1.
    let a = x.abs();
    let a = if a > 10.0 { 10.0 } else { a };
    let t = exp_m1(2.0 * a);
    (t / (t + 2.0)).copysign(x)
}
