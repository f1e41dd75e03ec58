//! Normalisation along an axis by name, and per-channel functions.

use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::dyn_tensor::DynAxis;
use crate::error::{Error, Result};
use crate::raw::norm::{self as raw, NormArgs};
use crate::raw::{At, Names, RawTensor};
use crate::tensor::{Tensor, at, names, wrap};
use forge_axes::plan::{PointwisePlan, pos};
use forge_axes::{Axes, Axis, Has, Lacks, Remove, SubsetOf, list_ops};
use forge_kernels::norm::Norm as Kind;
use forge_macros::fallible;
use std::marker::PhantomData;

/// The numbers of a norm along axis `A`: what is added under the root, and an optional weight and bias.
///
/// ```
/// use forge::Normalize;
/// use forge::prelude::*;
/// axes! { Token, Model }
/// let x = Tensor::<(Token, Model)>::from_vec((1, 2), vec![3., 4.]);
/// let w = Tensor::<Model>::from_vec(2, vec![1., 2.]);
/// let y = x.rms_norm(Model, Normalize::eps(0.0).weight(&w));
/// assert!((y.get((0, 1)) - 2.0 * 4.0 / 12.5f32.sqrt()).abs() < 1e-6);
/// ```
pub struct Normalize<'a, A, D = f32> {
    eps: f64,
    weight: Option<&'a RawTensor>,
    bias: Option<&'a RawTensor>,
    axis: PhantomData<fn() -> (A, D)>,
}

impl<A, D> Clone for Normalize<'_, A, D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A, D> Copy for Normalize<'_, A, D> {}

impl<'a, A: Axis, D: Dtype> Normalize<'a, A, D> {
    /// No weight, no bias.
    #[must_use]
    pub fn eps(eps: f64) -> Self {
        Self { eps, weight: None, bias: None, axis: PhantomData }
    }

    /// Multiplies the result by `weight`.
    #[must_use]
    pub fn weight(self, weight: &'a Tensor<A, D>) -> Self {
        Self { weight: Some(weight.raw()), ..self }
    }

    /// Adds `bias` at last.
    #[must_use]
    pub fn bias(self, bias: &'a Tensor<A, D>) -> Self {
        Self { bias: Some(bias.raw()), ..self }
    }

    fn args(self) -> NormArgs<'a> {
        NormArgs { eps: self.eps, weight: self.weight, bias: self.bias }
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// `x / sqrt(mean(x^2) + eps)` along `axis`, times the weight, plus the bias
    /// ([Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467)).
    ///
    /// # Errors
    /// When weight or bias has another size than the axis.
    #[fallible]
    pub fn rms_norm<A: Axis>(&self, axis: A, norm: Normalize<'_, A, D>) -> Self
    where
        X: Has<A>,
        D: Float,
    {
        let _ = axis;
        Ok(wrap(raw::norm(Kind::Rms, self.raw(), at::<X, A>(), &norm.args())?))
    }

    /// `(x - mean(x)) / sqrt(var(x) + eps)` along `axis`, times the weight, plus the bias; the variance is the biased
    /// one ([Ba et al. 2016](https://arxiv.org/abs/1607.06450)).
    ///
    /// # Errors
    /// When weight or bias has another size than the axis.
    #[fallible]
    pub fn layer_norm<A: Axis>(&self, axis: A, norm: Normalize<'_, A, D>) -> Self
    where
        X: Has<A>,
        D: Float,
    {
        let _ = axis;
        Ok(wrap(raw::norm(Kind::Layer, self.raw(), at::<X, A>(), &norm.args())?))
    }

    /// Layer norm of groups of channels ([Wu and He 2018](https://arxiv.org/abs/1803.08494)): `channel` is cut into
    /// `groups` equal groups of neighbours, and each is normalised over its channels and the axes `space` together.
    /// Weight and bias have one element for each channel. Statistics are computed in f64.
    ///
    /// ```
    /// use forge::Normalize;
    /// use forge::prelude::*;
    /// axes! { Time, Channel }
    /// let x = Tensor::<(Time, Channel)>::from_vec((1, 4), vec![1., 3., 5., 9.]);
    /// let y = x.group_norm(Channel, 2, Time, Normalize::eps(0.0));
    /// assert_eq!(y.to_vec(), [-1., 1., -1., 1.]);
    /// ```
    ///
    /// # Errors
    /// When the channels have no such groups, or weight or bias has another size than `channel`.
    #[fallible]
    pub fn group_norm<A: Axis, S: Axes>(&self, channel: A, groups: usize, space: S, norm: Normalize<'_, A, D>) -> Self
    where
        X: Has<A>,
        S: SubsetOf<X> + Lacks<A>,
        D: Float,
    {
        let _ = (channel, space);
        let spatial = super::reduce::positions::<X, S>();
        Ok(wrap(raw::group_norm(self.raw(), at::<X, A>(), groups, &spatial, &norm.args())?))
    }

    /// `x / sqrt(sum(x^2) + eps)` along `axis`.
    #[fallible]
    pub fn l2_normalize<A: Axis>(&self, axis: A, eps: f64) -> Self
    where
        X: Has<A>,
        D: Float,
    {
        let _ = axis;
        let args = NormArgs { eps, weight: None, bias: None };
        Ok(wrap(raw::norm(Kind::L2, self.raw(), at::<X, A>(), &args)?))
    }

    /// `sum(x y) / max(|x| |y|, eps)` along `axis`, which disappears. The axes of `other` must be among those of `self`;
    /// it is repeated along the others.
    ///
    /// # Errors
    /// When a shared axis has two sizes.
    #[fallible]
    pub fn cosine_similarity<R: Axes + SubsetOf<X>, A: Axis>(
        &self,
        other: &Tensor<R, D>,
        axis: A,
        eps: f64,
    ) -> Tensor<Remove<X, A>, D>
    where
        X: Has<A>,
        D: Float,
    {
        let _ = axis;
        let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
        Ok(wrap(raw::cosine_similarity(self.raw(), other.raw(), at::<X, A>(), eps, plan, names::<X, R>())?))
    }

    /// `x + inv_b sin^2(alpha x)`: an activation for periodic signals
    /// ([Ziyin et al. 2020](https://arxiv.org/abs/2006.08195)). Both parameters are repeated along the axes that they
    /// lack; `inv_b` is `1 / alpha` in the paper.
    ///
    /// # Errors
    /// When a shared axis has two sizes.
    #[fallible]
    pub fn snake<P: Axes + SubsetOf<X>, R: Axes + SubsetOf<X>>(
        &self,
        alpha: &Tensor<P, D>,
        inv_b: &Tensor<R, D>,
    ) -> Self
    where
        D: Float,
    {
        let a = (alpha.raw(), const { &PointwisePlan::new(X::KEYS, P::KEYS) }, names::<X, P>());
        let b = (inv_b.raw(), const { &PointwisePlan::new(X::KEYS, R::KEYS) }, names::<X, R>());
        Ok(wrap(raw::snake(self.raw(), a, b)?))
    }

    /// `x`, or `alpha x` below 0 ([He et al. 2015](https://arxiv.org/abs/1502.01852)). `alpha` is repeated along the axes
    /// that it lacks.
    ///
    /// # Errors
    /// When a shared axis has two sizes.
    #[fallible]
    pub fn prelu<R: Axes + SubsetOf<X>>(&self, alpha: &Tensor<R, D>) -> Self
    where
        D: Float,
    {
        let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
        Ok(wrap(raw::prelu(self.raw(), alpha.raw(), plan, names::<X, R>())?))
    }

    /// `x factor + shift`, in one pass. Both are repeated along the axes that they lack.
    ///
    /// # Errors
    /// When a shared axis has two sizes.
    #[fallible]
    pub fn channel_affine<P: Axes + SubsetOf<X>, R: Axes + SubsetOf<X>>(
        &self,
        factor: &Tensor<P, D>,
        shift: &Tensor<R, D>,
    ) -> Self
    where
        D: Float,
    {
        let a = (factor.raw(), const { &PointwisePlan::new(X::KEYS, P::KEYS) }, names::<X, P>());
        let b = (shift.raw(), const { &PointwisePlan::new(X::KEYS, R::KEYS) }, names::<X, R>());
        Ok(wrap(raw::channel_affine(self.raw(), a, b)?))
    }
}

impl DynTensor {
    /// [`Tensor::rms_norm`].
    ///
    /// # Errors
    /// When there is no such axis, or weight or bias is not a vector along it.
    pub fn rms_norm(
        &self,
        axis: impl Into<DynAxis>,
        eps: f64,
        weight: Option<&Self>,
        bias: Option<&Self>,
    ) -> Result<Self, Error> {
        self.normalized(Kind::Rms, "rms_norm", axis.into(), eps, weight, bias)
    }

    /// [`Tensor::layer_norm`].
    ///
    /// # Errors
    /// When there is no such axis, or weight or bias is not a vector along it.
    pub fn layer_norm(
        &self,
        axis: impl Into<DynAxis>,
        eps: f64,
        weight: Option<&Self>,
        bias: Option<&Self>,
    ) -> Result<Self, Error> {
        self.normalized(Kind::Layer, "layer_norm", axis.into(), eps, weight, bias)
    }

    /// [`Tensor::l2_normalize`].
    ///
    /// # Errors
    /// When there is no such axis, or the elements are not floats.
    pub fn l2_normalize(&self, axis: impl Into<DynAxis>, eps: f64) -> Result<Self, Error> {
        self.normalized(Kind::L2, "l2_normalize", axis.into(), eps, None, None)
    }

    fn normalized(
        &self,
        kind: Kind,
        op: &'static str,
        axis: DynAxis,
        eps: f64,
        weight: Option<&Self>,
        bias: Option<&Self>,
    ) -> Result<Self, Error> {
        let args = norm_args(op, &axis, eps, weight, bias)?;
        Ok(self.with_raw(self.at(op, &axis, |at| raw::norm(kind, self.raw(), at, &args))?))
    }

    /// [`Tensor::group_norm`].
    ///
    /// # Errors
    /// As [`Tensor::try_group_norm`], and when an axis is missing or `channel` is among `space`.
    pub fn group_norm(
        &self,
        channel: impl Into<DynAxis>,
        groups: usize,
        space: &[&str],
        eps: f64,
        weight: Option<&Self>,
        bias: Option<&Self>,
    ) -> Result<Self, Error> {
        const OP: &str = "group_norm";
        let channel = channel.into();
        let args = norm_args(OP, &channel, eps, weight, bias)?;
        let mut spatial = space.iter().map(|&a| self.position(OP, &a.into())).collect::<Result<Vec<_>, _>>()?;
        spatial.sort_unstable();
        spatial.dedup();
        Ok(self.with_raw(self.at(OP, &channel, |at| raw::group_norm(self.raw(), at, groups, &spatial, &args))?))
    }

    /// [`Tensor::cosine_similarity`].
    ///
    /// # Errors
    /// When there is no such axis, `other` has an axis that `self` lacks, or a shared axis has two sizes.
    pub fn cosine_similarity(&self, other: &Self, axis: impl Into<DynAxis>, eps: f64) -> Result<Self, Error> {
        const OP: &str = "cosine_similarity";
        let (lhs, rhs) = (self.keys(), other.keys());
        super::arith::subset(OP, &rhs, &lhs)?;
        let (plan, names) = (PointwisePlan::new(&lhs, &rhs), Names { lhs: &lhs, rhs: &rhs });
        self.reduced(OP, axis.into(), |x, over| {
            let at = At { axis: over.axes[0], keys: &lhs };
            raw::cosine_similarity(x, other.raw(), at, eps, &plan, names)
        })
    }

    /// [`Tensor::snake`].
    ///
    /// # Errors
    /// When a parameter has an axis that `self` lacks, or a shared axis has two sizes.
    pub fn snake(&self, alpha: &Self, inv_b: &Self) -> Result<Self, Error> {
        let (lhs, a, b) = (self.keys(), alpha.keys(), inv_b.keys());
        super::arith::subset("snake", &a, &lhs)?;
        super::arith::subset("snake", &b, &lhs)?;
        let (pa, pb) = (PointwisePlan::new(&lhs, &a), PointwisePlan::new(&lhs, &b));
        let a = (alpha.raw(), &pa, Names { lhs: &lhs, rhs: &a });
        Ok(self.with_raw(raw::snake(self.raw(), a, (inv_b.raw(), &pb, Names { lhs: &lhs, rhs: &b }))?))
    }

    /// [`Tensor::prelu`].
    ///
    /// # Errors
    /// When `alpha` has an axis that `self` lacks, or a shared axis has two sizes.
    pub fn prelu(&self, alpha: &Self) -> Result<Self, Error> {
        let (lhs, rhs) = (self.keys(), alpha.keys());
        super::arith::subset("prelu", &rhs, &lhs)?;
        let (plan, names) = (PointwisePlan::new(&lhs, &rhs), Names { lhs: &lhs, rhs: &rhs });
        Ok(self.with_raw(raw::prelu(self.raw(), alpha.raw(), &plan, names)?))
    }

    /// [`Tensor::channel_affine`].
    ///
    /// # Errors
    /// When an operand has an axis that `self` lacks, or a shared axis has two sizes.
    pub fn channel_affine(&self, factor: &Self, shift: &Self) -> Result<Self, Error> {
        const OP: &str = "channel_affine";
        let (lhs, a, b) = (self.keys(), factor.keys(), shift.keys());
        super::arith::subset(OP, &a, &lhs)?;
        super::arith::subset(OP, &b, &lhs)?;
        let (pa, pb) = (PointwisePlan::new(&lhs, &a), PointwisePlan::new(&lhs, &b));
        let a = (factor.raw(), &pa, Names { lhs: &lhs, rhs: &a });
        Ok(self.with_raw(raw::channel_affine(self.raw(), a, (shift.raw(), &pb, Names { lhs: &lhs, rhs: &b }))?))
    }
}

/// Weight and bias, which are vectors along `axis`.
fn norm_args<'a>(
    op: &'static str,
    axis: &DynAxis,
    eps: f64,
    weight: Option<&'a DynTensor>,
    bias: Option<&'a DynTensor>,
) -> Result<NormArgs<'a>, Error> {
    for t in [weight, bias].into_iter().flatten() {
        let keys = t.keys();
        if pos(&keys, &axis.key()) != 0 || keys.len() != 1 {
            let found = list_ops::Names(&keys);
            return Err(Error::axes(
                op,
                format!("weight and bias have the axis `{}` alone, not `{found}`", axis.name()),
            ));
        }
    }
    Ok(NormArgs { eps, weight: weight.map(DynTensor::raw), bias: bias.map(DynTensor::raw) })
}
