//! [`LayerNorm`]: mean 0 and variance 1 along an axis.

use super::Module;
use super::debug::debug_layer;
use super::init::filled;
use super::param::Param;
use crate::Normalize;
use crate::dtype::Differentiable;
use crate::tensor::Tensor;
use forge_axes::{Axes, Axis, Has, SizeArg};
use forge_macros::fallible;

/// `(x - mean(x)) / sqrt(var(x) + eps) * weight + bias` along the axis `A`, whatever the other axes are
/// ([Ba et al. 2016](https://arxiv.org/abs/1607.06450)). The variance is the biased one.
///
/// ```
/// use forge::axes::{Batch, Model, Seq};
/// use forge::nn::LayerNorm;
/// use forge::prelude::*;
/// let norm = LayerNorm::<Model>::new(4);
/// let x = Tensor::<(Batch, Seq, Model)>::from_fn((2, 3, 4), |i| i as f32);
/// let y = norm.forward(&x); // Tensor<(Batch, Seq, Model)>
/// assert!(y.mean(Model).abs().sum_all().item() < 1e-5);
/// ```
#[derive(Clone, Module)]
pub struct LayerNorm<A: Axis, D: Differentiable = f32> {
    /// Multiplies the result.
    pub weight: Param<A, D>,
    /// What is added at last, if anything.
    pub bias: Option<Param<A, D>>,
    /// Added to the variance, so that a constant input has no infinite slope.
    #[module(skip)]
    pub eps: f64,
}

debug_layer!(LayerNorm<A: Axis, D: Differentiable>);

impl<A: Axis, D: Differentiable> LayerNorm<A, D> {
    /// Weight 1, bias 0, eps 1e-5: torch's `LayerNorm`.
    pub fn new(size: SizeArg<A>) -> Self {
        Self { bias: Some(Param::new(filled(size, 0.0))), ..Self::without_bias(size) }
    }

    /// [`Self::new`] without a bias.
    pub fn without_bias(size: SizeArg<A>) -> Self {
        Self { weight: Param::new(filled(size, 1.0)), bias: None, eps: 1e-5 }
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
        let norm = Normalize::eps(self.eps).weight(&self.weight);
        x.try_layer_norm(A::default(), self.bias.as_ref().map_or(norm, |b| norm.bias(b)))
    }
}
