//! Softmax along an axis by name.

use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::dyn_tensor::DynAxis;
use crate::error::{Error, Result};
use crate::raw::softmax::{self as raw, SoftmaxArgs};
use crate::raw::{Names, RawTensor};
use crate::tensor::{Tensor, at, names, wrap};
use forge_axes::plan::{PointwisePlan, pos};
use forge_axes::{Axes, Axis, Has, SubsetOf};
use forge_macros::fallible;
use std::marker::PhantomData;

/// What [`Tensor::softmax_with`] does to the logits first.
///
/// The logit at each place is `scale * x + slope * mask`. The type remembers which axes mask, slopes, sinks and queries
/// have (`M`, `L`, `N`, `Q`), so a mask with an axis that the tensor lacks does not compile.
///
/// ```
/// use forge::Softmax;
/// use forge::prelude::*;
/// axes! { Head, Seq, Key }
/// let scores = Tensor::<(Head, Seq, Key)>::zeros((2, 3, 3));
/// let p = scores.softmax_with(Key, Softmax::new().scale(0.5).causal(Seq, 0));
/// assert_eq!(p.select(Head, 0).select(Seq, 1).to_vec(), [0.5, 0.5, 0.0]);
/// ```
pub struct Softmax<'a, D = f32, M = (), L = (), N = (), Q = ()> {
    scale: Option<f64>,
    mask: Option<&'a RawTensor>,
    max_bias: f64,
    sinks: Option<&'a RawTensor>,
    offset: isize,
    axes: PhantomData<fn() -> (D, M, L, N, Q)>,
}

impl<D, M, L, N, Q> Clone for Softmax<'_, D, M, L, N, Q> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D, M, L, N, Q> Copy for Softmax<'_, D, M, L, N, Q> {}

impl<D> Default for Softmax<'_, D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D> Softmax<'_, D> {
    /// Plain softmax.
    #[must_use]
    pub fn new() -> Self {
        Self { scale: None, mask: None, max_bias: 0.0, sinks: None, offset: 0, axes: PhantomData }
    }
}

impl<'a, D: Dtype, M, L, N, Q> Softmax<'a, D, M, L, N, Q> {
    fn with<M2, L2, N2, Q2>(self) -> Softmax<'a, D, M2, L2, N2, Q2> {
        let Self { scale, mask, max_bias, sinks, offset, .. } = self;
        Softmax { scale, mask, max_bias, sinks, offset, axes: PhantomData }
    }

    /// Multiplies the input by `scale`.
    #[must_use]
    pub fn scale(self, scale: f64) -> Self {
        Self { scale: Some(scale), ..self }
    }

    /// Adds `mask` after scaling; its axes are among the input's, and it is repeated along the others. `-inf` hides an
    /// element. Gradients flow into it.
    #[must_use]
    pub fn mask<M2: Axes>(self, mask: &'a Tensor<M2, D>) -> Softmax<'a, D, M2, L, N, Q> {
        Softmax { mask: Some(mask.raw()), ..self.with() }
    }

    /// Multiplies the mask by a slope for each position of `heads`, as ALiBi does
    /// ([Press et al. 2021](https://arxiv.org/abs/2108.12409)): with `n` the largest power of two that is at most the
    /// number of heads, head `h` has `2^(-max_bias (h + 1) / n)`, and those from `n` on the odd powers of the ratio for
    /// `2 n` heads. `max_bias` is 8 in the paper; the mask then holds minus the distance of query and key.
    #[must_use]
    pub fn alibi<A: Axis>(self, max_bias: f64, heads: A) -> Softmax<'a, D, M, A, N, Q> {
        let _ = heads;
        Softmax { max_bias, ..self.with() }
    }

    /// One more logit for each position of an axis. It takes its share of the probability and has no output, so a lane
    /// sums to less than 1 ([Xiao et al. 2023](https://arxiv.org/abs/2309.17453)). Gradients flow into it.
    #[must_use]
    pub fn sinks<A: Axis>(self, sinks: &'a Tensor<A, D>) -> Softmax<'a, D, M, L, A, Q> {
        Softmax { sinks: Some(sinks.raw()), ..self.with() }
    }

    /// Position `q` of `queries` sees the elements `0..=q + offset`. What follows gives exactly 0, whatever it holds.
    #[must_use]
    pub fn causal<A: Axis>(self, queries: A, offset: isize) -> Softmax<'a, D, M, L, N, A> {
        let _ = queries;
        Softmax { offset, ..self.with() }
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// `e^x / sum(e^x)` along `axis`, without overflow. A lane in which all is `-inf` gives zeros (not NaN); a NaN makes
    /// its lane NaN.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, Class }
    /// let x = Tensor::<(Batch, Class)>::zeros((2, 4));
    /// assert_eq!(x.softmax(Class).to_vec(), [0.25; 8]);
    /// ```
    #[fallible]
    pub fn softmax<A: Axis>(&self, axis: A) -> Self
    where
        X: Has<A>,
        D: Float,
    {
        self.try_softmax_with(axis, Softmax::new())
    }

    /// [`Self::softmax`] with a scale, a mask, ALiBi slopes, sinks or a causal bound.
    ///
    /// # Errors
    /// When mask or sinks differ in size from the axes they share, slopes come without a mask, or heads or queries are
    /// the axis of the softmax itself.
    #[fallible]
    pub fn softmax_with<A: Axis, M: Axes, L: Axes, N: Axes, Q: Axes>(
        &self,
        axis: A,
        how: Softmax<'_, D, M, L, N, Q>,
    ) -> Self
    where
        X: Has<A>,
        M: SubsetOf<X>,
        L: SubsetOf<X>,
        N: SubsetOf<X>,
        Q: SubsetOf<X>,
        D: Float,
    {
        let _ = axis;
        // Each of these lists has one axis or none.
        let place = |keys: &[forge_axes::Key]| keys.first().map(|k| pos(X::KEYS, k) as usize);
        let args = SoftmaxArgs {
            scale: how.scale,
            mask: how.mask.map(|m| (m, const { PointwisePlan::new(X::KEYS, M::KEYS) })),
            alibi: place(L::KEYS).map(|h| (how.max_bias, h)),
            sinks: how.sinks.zip(place(N::KEYS)),
            causal: place(Q::KEYS).map(|q| (q, how.offset)),
        };
        Ok(wrap(raw::softmax(self.raw(), at::<X, A>(), &args, names::<X, M>())?))
    }

    /// `x - log(sum(e^x))` along `axis`. A lane in which all is `-inf` stays so; a NaN makes its lane NaN.
    #[fallible]
    pub fn log_softmax<A: Axis>(&self, axis: A) -> Self
    where
        X: Has<A>,
        D: Float,
    {
        let _ = axis;
        Ok(wrap(raw::log_softmax(self.raw(), at::<X, A>())?))
    }
}

/// What [`DynTensor::softmax_with`] does to the logits first: see [`Softmax`].
#[derive(Clone, Copy, Default)]
pub struct DynSoftmax<'a> {
    /// Multiplies the input; 1 if none.
    pub scale: Option<f64>,
    /// Added after scaling.
    pub mask: Option<&'a DynTensor>,
    /// The exponent of ALiBi slopes and the axis of heads.
    pub alibi: Option<(f64, &'a str)>,
    /// A vector of logits without output.
    pub sinks: Option<&'a DynTensor>,
    /// The axis of queries and the offset of the causal bound.
    pub causal: Option<(&'a str, isize)>,
}

impl DynTensor {
    /// [`Tensor::softmax`].
    ///
    /// # Errors
    /// When there is no such axis, or the elements are not floats.
    pub fn softmax(&self, axis: impl Into<DynAxis>) -> Result<Self, Error> {
        self.softmax_with(axis, &DynSoftmax::default())
    }

    /// [`Tensor::softmax_with`].
    ///
    /// # Errors
    /// As [`Tensor::try_softmax_with`], and when an axis is missing.
    pub fn softmax_with(&self, axis: impl Into<DynAxis>, how: &DynSoftmax) -> Result<Self, Error> {
        const OP: &str = "softmax";
        let place = |a: &str| self.position(OP, &a.into());
        let keys = self.keys();
        let mask_keys = how.mask.map(DynTensor::keys);
        let mask = match (how.mask, &mask_keys) {
            (Some(m), Some(k)) => {
                super::arith::subset(OP, k, &keys)?;
                Some((m.raw(), PointwisePlan::new(&keys, k)))
            }
            _ => None,
        };
        let sinks = match how.sinks {
            Some(s) => match s.axes() {
                [a] => Some((s.raw(), self.position(OP, a)?)),
                _ => return Err(Error::axes(OP, format!("sinks have one axis, not {}", s.axes_text()))),
            },
            None => None,
        };
        let args = SoftmaxArgs {
            scale: how.scale,
            mask,
            alibi: how.alibi.map(|(b, a)| Ok::<_, Error>((b, place(a)?))).transpose()?,
            sinks,
            causal: how.causal.map(|(a, o)| Ok::<_, Error>((place(a)?, o))).transpose()?,
        };
        let rhs: &[forge_axes::Key] = mask_keys.as_deref().unwrap_or_default();
        let y = self.at(OP, &axis.into(), |at| raw::softmax(self.raw(), at, &args, Names { lhs: &keys, rhs }))?;
        Ok(self.with_raw(y))
    }

    /// [`Tensor::log_softmax`].
    ///
    /// # Errors
    /// When there is no such axis, or the elements are not floats.
    pub fn log_softmax(&self, axis: impl Into<DynAxis>) -> Result<Self, Error> {
        Ok(self.with_raw(self.at("log_softmax", &axis.into(), |at| raw::log_softmax(self.raw(), at))?))
    }
}
