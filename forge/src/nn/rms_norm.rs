//! [`RmsNorm`]: root mean square 1 along an axis.

use super::Module;
use super::debug::debug_layer;
use super::init::filled;
use super::param::Param;
use crate::Normalize;
use crate::dtype::Differentiable;
use crate::tensor::Tensor;
use forge_axes::{Axes, Axis, Has, SizeArg};
use forge_macros::fallible;

/// `x / sqrt(mean(x^2) + eps) * weight` along the axis `A`, whatever the other axes are
/// ([Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467)).
///
/// ```
/// use forge::axes::{Model, Token};
/// use forge::nn::RmsNorm;
/// use forge::prelude::*;
/// let norm = RmsNorm::<Model>::new(4);
/// let y = norm.forward(&Tensor::<(Token, Model)>::full((3, 4), 5.0));
/// assert!(y.to_vec().iter().all(|v| (v - 1.0).abs() < 1e-6));
/// ```
#[derive(Clone, Module)]
pub struct RmsNorm<A: Axis, D: Differentiable = f32> {
    /// Multiplies the result.
    pub weight: Param<A, D>,
    /// Added to the mean of squares.
    #[module(skip)]
    pub eps: f64,
}

debug_layer!(RmsNorm<A: Axis, D: Differentiable>);

impl<A: Axis, D: Differentiable> RmsNorm<A, D> {
    /// Weight 1, eps 1e-6.
    pub fn new(size: SizeArg<A>) -> Self {
        Self { weight: Param::new(filled(size, 1.0)), eps: 1e-6 }
    }

    /// The same with another `eps`.
    #[must_use]
    pub fn eps(self, eps: f64) -> Self {
        Self { eps, ..self }
    }

    /// The norm of each vector along `A`.
    ///
    /// # Errors
    /// When `x`'s axis `A` has another size than the layer's.
    #[fallible]
    pub fn forward<X: Axes + Has<A>>(&self, x: &Tensor<X, D>) -> Tensor<X, D> {
        x.try_rms_norm(A::default(), Normalize::eps(self.eps).weight(&self.weight))
    }
}
