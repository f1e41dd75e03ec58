//! Functions of one element.

use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::error::Error;
use crate::raw::unary as raw;
use crate::tensor::{Tensor, wrap};
use forge_axes::Axes;
use forge_kernels::unary::UnaryOp;
use forge_macros::fallible;

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident $(($p:ident))? $op:ident;)*) => {
        impl<X: Axes, D: Dtype> Tensor<X, D> {
            $(
                $(#[$doc])*
                #[must_use]
                #[fallible]
                pub fn $name(&self $(, $p: f64)?) -> Self where D: Float,
{
                    Ok(wrap(raw::unary(UnaryOp::$op, self.raw(), parameter!($($p)?), stringify!($name))?))
                }
            )*
        }
        impl DynTensor {
            $(
                #[doc = concat!("[`Tensor::", stringify!($name), "`].")]
                ///
                /// # Errors
                /// When the elements are not floats.
                pub fn $name(&self $(, $p: f64)?) -> Result<Self, Error> {
                    Ok(self.with_raw(raw::unary(UnaryOp::$op, self.raw(), parameter!($($p)?), stringify!($name))?))
                }
            )*
        }
    };
}
macro_rules! parameter {
    () => {
        0.0
    };
    ($p:ident) => {
        $p
    };
}

unary! {
    /// Absolute value; its slope at 0 is 0.
    abs Abs;
    /// `x * x`.
    square Square;
    /// `1 / x`.
    reciprocal Reciprocal;
    /// Square root.
    sqrt Sqrt;
    /// `1 / sqrt(x)`.
    rsqrt Rsqrt;
    /// `e^x`.
    exp Exp;
    /// `e^x - 1`, exact near 0.
    exp_m1 ExpM1;
    /// Natural logarithm.
    log Log;
    /// `ln(1 + x)`, exact near 0.
    log1p Log1p;
    /// Sine of an angle in radians.
    sin Sin;
    /// Cosine of an angle in radians.
    cos Cos;
    /// Hyperbolic tangent.
    tanh Tanh;
    /// The rational approximation of tanh that neural amp profiles call fast tanh (error about 1e-3).
    fast_tanh FastTanh;
    /// Logistic function `1 / (1 + e^-x)`.
    sigmoid Sigmoid;
    /// `x sigmoid(x)`, also called swish ([Ramachandran et al. 2017](https://arxiv.org/abs/1710.05941)).
    silu Silu;
    /// `max(x, 0)`.
    relu Relu;
    /// `x`, or `slope * x` below 0.
    leaky_relu(slope) LeakyRelu;
    /// `x`, or `alpha (e^x - 1)` below 0 ([Clevert et al. 2015](https://arxiv.org/abs/1511.07289)).
    elu(alpha) Elu;
    /// `ln(1 + e^x)`.
    softplus Softplus;
    /// GELU in its tanh form ([Hendrycks and Gimpel 2016](https://arxiv.org/abs/1606.08415)):
    /// `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`.
    gelu Gelu;
    /// GELU in its exact form: `x/2 (1 + erf(x / sqrt 2))`.
    gelu_erf GeluErf;
    /// `x sigmoid(1.702 x)`.
    quick_gelu QuickGelu;
    /// Error function.
    erf Erf;
    /// `cap tanh(x / cap)`: a soft bound, as on Gemma's logits.
    softcap(cap) Softcap;
    /// `x / (1 + |x|)`.
    softsign Softsign;
    /// `x min(max(x + 3, 0), 6) / 6`.
    hard_swish HardSwish;
    /// `min(max(x, -1), 1)`.
    hard_tanh HardTanh;
    /// Largest integer not above x; no gradient flows (it is 0).
    floor Floor;
    /// Smallest integer not below x; no gradient flows (it is 0).
    ceil Ceil;
    /// Nearest integer, ties to even; no gradient flows (it is 0).
    round Round;
    /// -1, 0 or 1; no gradient flows (it is 0).
    sign Sign;
}
