//! [`GroupNorm`]: mean 0 and variance 1 over groups of channels.

use super::Module;
use super::debug::debug_layer;
use super::init::filled;
use super::param::Param;
use crate::dtype::Differentiable;
use crate::error::Error;
use crate::raw::norm::{self, NormArgs};
use crate::tensor::{Tensor, at, sizes, wrap};
use forge_axes::plan;
use forge_axes::{Axes, Axis, Has, Lacks, SizeArg, SubsetOf};
use forge_macros::fallible;
use std::marker::PhantomData;

/// [`LayerNorm`](super::LayerNorm) over groups of the channels `C`, each together with the axes `S`
/// ([Wu and He 2018](https://arxiv.org/abs/1803.08494)). All other axes are examples, each normalised for itself.
///
/// ```
/// use forge::axes::{Batch, Channel, Height, Width};
/// use forge::nn::GroupNorm;
/// use forge::prelude::*;
/// // Two groups of three channels.
/// let norm = GroupNorm::<Channel, (Height, Width)>::new(6, 2);
/// let x = Tensor::<(Batch, Height, Width, Channel)>::from_fn((2, 3, 3, 6), |i| (i % 7) as f32);
/// let y = norm.forward(&x);
/// assert!(y.sum((Height, Width, Channel)).abs().sum_all().item() < 1e-4);
/// ```
#[derive(Clone, Module)]
pub struct GroupNorm<C: Axis, S: Axes, D: Differentiable = f32> {
    /// Multiplies each channel.
    pub weight: Param<C, D>,
    /// Added to each channel.
    pub bias: Param<C, D>,
    #[module(skip)]
    groups: usize,
    /// Added to the variance.
    #[module(skip)]
    pub eps: f64,
    #[module(skip)]
    space: PhantomData<fn() -> S>,
}

debug_layer!(GroupNorm<C: Axis, S: Axes, D: Differentiable>);

impl<C: Axis, S: Axes + Lacks<C>, D: Differentiable> GroupNorm<C, S, D> {
    /// `groups` groups of equally many neighbouring channels. Weight 1, bias 0, eps 1e-5: torch's `GroupNorm`.
    ///
    /// # Errors
    /// When `groups` does not divide the number of channels.
    #[fallible]
    pub fn new(size: SizeArg<C>, groups: usize) -> Self {
        let n = sizes::<C>(size).0[0];
        if groups == 0 || !n.is_multiple_of(groups) {
            let what = format!("the {n} positions of axis `{}` do not make {groups} equal groups", C::KEY.name);
            return Err(Error::argument("GroupNorm", what));
        }
        let (weight, bias) = (Param::new(filled(size, 1.0)), Param::new(filled(size, 0.0)));
        Ok(Self { weight, bias, groups, eps: 1e-5, space: PhantomData })
    }

    /// The same with another `eps`.
    #[must_use]
    pub fn eps(self, eps: f64) -> Self {
        Self { eps, ..self }
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The norm of each group.
    ///
    /// # Errors
    /// When `x`'s axis `C` has another size than the layer's.
    #[fallible]
    pub fn forward<X: Axes + Has<C>>(&self, x: &Tensor<X, D>) -> Tensor<X, D>
    where
        S: SubsetOf<X>,
    {
        let map = const { &plan::map(S::KEYS, X::KEYS) };
        let mut space: Vec<usize> = map[..S::RANK].iter().map(|&p| usize::from(p)).collect();
        space.sort_unstable();
        let args = NormArgs { eps: self.eps, weight: Some(self.weight.raw()), bias: Some(self.bias.raw()) };
        Ok(wrap(norm::group_norm(x.raw(), at::<X, C>(), self.groups, &space, &args)?))
    }
}
