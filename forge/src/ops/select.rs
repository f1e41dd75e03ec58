//! Order along an axis: sorting, the k best, weighted draws, places that are not 0.

use super::scan::replaced;
use super::shape::check_fixed;
use crate::DynTensor;
use crate::dtype::{Dtype, Element, Float};
use crate::dyn_tensor::DynAxis;
use crate::error::Error;
use crate::raw::select as raw;
use crate::raw::{At, RawTensor};
use crate::tensor::{Tensor, at, wrap};
use forge_axes::{Axes, Axis, Has, Lacks, Remove, Replace};
use forge_kernels::rng::Key;
use forge_macros::fallible;

impl<X: Axes, D: Element> Tensor<X, D> {
    /// `axis` in rising (or, `descending`, falling) order, and the positions that the elements came from.
    ///
    /// Stable: equal elements keep their order. NaN comes last in both directions.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Class }
    /// let x = Tensor::<Class>::from_vec(3, vec![2., f32::NAN, 1.]);
    /// let (sorted, from) = x.sort(Class, true);
    /// assert_eq!(sorted.to_vec()[..2], [2., 1.]);
    /// assert_eq!(from.to_vec(), [0, 2, 1]);
    /// ```
    #[fallible]
    pub fn sort<A: Axis>(&self, axis: A, descending: bool) -> (Self, Tensor<X, i64>)
    where
        X: Has<A>,
    {
        let _ = axis;
        let (values, places) = raw::sort(self.raw(), at::<X, A>(), descending)?;
        Ok((wrap(values), wrap(places)))
    }

    /// The positions that put `axis` in rising (or, `descending`, falling) order. Stable; NaN comes last in both directions.
    #[fallible]
    pub fn argsort<A: Axis>(&self, axis: A, descending: bool) -> Tensor<X, i64>
    where
        X: Has<A>,
    {
        let _ = axis;
        Ok(wrap(raw::argsort(self.raw(), at::<X, A>(), descending)?))
    }

    /// The `k` largest elements along `axis`, best first, and their positions, along the axis `into` in its place: the first `k`
    /// of the falling [`Self::sort`].
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Class, Best }
    /// let x = Tensor::<Class>::from_vec(4, vec![1., 4., 2., 3.]);
    /// let (values, places): (Tensor<Best>, _) = x.top_k(Class, 2, Best);
    /// assert_eq!((values.to_vec(), places.to_vec()), (vec![4., 3.], vec![1, 3]));
    /// ```
    ///
    /// # Errors
    /// When the axis has fewer than `k` positions, or `into` has another fixed size.
    #[fallible]
    pub fn top_k<A: Axis, B: Axis>(
        &self,
        axis: A,
        k: usize,
        into: B,
    ) -> (Tensor<Replace<X, A, B>, D>, Tensor<Replace<X, A, B>, i64>)
    where
        X: Has<A>,
        Remove<X, A>: Lacks<B>,
    {
        let _ = (axis, into);
        check_fixed::<B>("top_k", k)?;
        let (values, places) = raw::top_k(self.raw(), at::<X, A>(), k, true)?;
        Ok((wrap(values), wrap(places)))
    }

    /// [`Self::top_k`] for the smallest elements, smallest first.
    ///
    /// # Errors
    /// When the axis has fewer than `k` positions, or `into` has another fixed size.
    #[fallible]
    pub fn bottom_k<A: Axis, B: Axis>(
        &self,
        axis: A,
        k: usize,
        into: B,
    ) -> (Tensor<Replace<X, A, B>, D>, Tensor<Replace<X, A, B>, i64>)
    where
        X: Has<A>,
        Remove<X, A>: Lacks<B>,
    {
        let _ = (axis, into);
        check_fixed::<B>("bottom_k", k)?;
        let (values, places) = raw::top_k(self.raw(), at::<X, A>(), k, false)?;
        Ok((wrap(values), wrap(places)))
    }

    /// Positions of the elements that are not 0 (NaN is not), in row-major order: for each axis the list of its positions,
    /// all of one length.
    pub fn nonzero(&self) -> Vec<Vec<usize>> {
        raw::nonzero(self.raw()).expect("every element type has a truth")
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// `draws` positions along `axis`, along the axis `into` in its place, drawn with probabilities in proportion to the weights
    /// in `self`, which need not sum to 1; with `replacement`, or each position at most once.
    ///
    /// Draw `s` of row `r` (counted in row-major order of the other axes) takes number `r * draws + s` of `key`'s sequence.
    ///
    /// # Errors
    /// When a row has a weight that is negative or not finite, no positive weight, or, without replacement, fewer than
    /// `draws` of those.
    #[fallible]
    pub fn multinomial<A: Axis, B: Axis>(
        &self,
        axis: A,
        draws: usize,
        replacement: bool,
        key: Key,
        into: B,
    ) -> Tensor<Replace<X, A, B>, i64>
    where
        X: Has<A>,
        Remove<X, A>: Lacks<B>,
        D: Float,
    {
        let _ = (axis, into);
        check_fixed::<B>("multinomial", draws)?;
        Ok(wrap(raw::multinomial(self.raw(), at::<X, A>(), draws, replacement, key)?))
    }

    /// The `k` most probable positions of `axis` under the softmax over all of it, along the axis `into` in its place: their
    /// probabilities and the positions. With `normalize` the probabilities are those of the softmax over the `k` alone.
    ///
    /// The probabilities are differentiable. This is the choice of experts in a mixture
    /// ([Shazeer et al. 2017](https://arxiv.org/abs/1701.06538)).
    ///
    /// # Errors
    /// When the axis has fewer than `k` positions, or `into` has another fixed size.
    #[fallible]
    pub fn router_top_k<A: Axis, B: Axis>(
        &self,
        axis: A,
        k: usize,
        normalize: bool,
        into: B,
    ) -> (Tensor<Replace<X, A, B>, D>, Tensor<Replace<X, A, B>, i64>)
    where
        X: Has<A>,
        Remove<X, A>: Lacks<B>,
        D: Float,
    {
        let _ = (axis, into);
        check_fixed::<B>("router_top_k", k)?;
        let (values, places) = raw::router_top_k(self.raw(), at::<X, A>(), k, normalize)?;
        Ok((wrap(values), wrap(places)))
    }
}

impl DynTensor {
    /// What `f` makes of this tensor, with `into` in the place of `axis`.
    fn choose<const N: usize>(
        &self,
        op: &'static str,
        axis: impl Into<DynAxis>,
        into: impl Into<DynAxis>,
        f: impl FnOnce(At) -> Result<[RawTensor; N], Error>,
    ) -> Result<[Self; N], Error> {
        let into = into.into();
        self.at(op, &axis.into(), |at| {
            let out = replaced(op, at.keys, at.axis, &into)?;
            Ok(f(at)?.map(|raw| self.renamed(raw, &out, &[std::slice::from_ref(&into)])))
        })
    }

    /// [`Tensor::sort`].
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn sort(&self, axis: impl Into<DynAxis>, descending: bool) -> Result<(Self, Self), Error> {
        self.at("sort", &axis.into(), |at| {
            let (values, places) = raw::sort(self.raw(), at, descending)?;
            Ok((self.with_raw(values), self.with_raw(places)))
        })
    }

    /// [`Tensor::argsort`].
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn argsort(&self, axis: impl Into<DynAxis>, descending: bool) -> Result<Self, Error> {
        self.at("argsort", &axis.into(), |at| Ok(self.with_raw(raw::argsort(self.raw(), at, descending)?)))
    }

    /// [`Tensor::top_k`].
    ///
    /// # Errors
    /// When there is no such axis, it has fewer than `k` positions, or another axis is called as `into`.
    pub fn top_k(&self, axis: impl Into<DynAxis>, k: usize, into: impl Into<DynAxis>) -> Result<(Self, Self), Error> {
        let [v, p] = self.choose("top_k", axis, into, |at| raw::top_k(self.raw(), at, k, true).map(Into::into))?;
        Ok((v, p))
    }

    /// [`Tensor::bottom_k`].
    ///
    /// # Errors
    /// As [`Self::top_k`].
    pub fn bottom_k(
        &self,
        axis: impl Into<DynAxis>,
        k: usize,
        into: impl Into<DynAxis>,
    ) -> Result<(Self, Self), Error> {
        let [v, p] = self.choose("bottom_k", axis, into, |at| raw::top_k(self.raw(), at, k, false).map(Into::into))?;
        Ok((v, p))
    }

    /// [`Tensor::nonzero`].
    pub fn nonzero(&self) -> Vec<Vec<usize>> {
        raw::nonzero(self.raw()).expect("every element type has a truth")
    }

    /// [`Tensor::multinomial`].
    ///
    /// # Errors
    /// When there is no such axis, a row cannot be drawn from, the elements are not floats, or another axis is called as
    /// `into`.
    pub fn multinomial(
        &self,
        axis: impl Into<DynAxis>,
        draws: usize,
        replacement: bool,
        key: Key,
        into: impl Into<DynAxis>,
    ) -> Result<Self, Error> {
        let draw = |at: At| Ok([raw::multinomial(self.raw(), at, draws, replacement, key)?]);
        let [p] = self.choose("multinomial", axis, into, draw)?;
        Ok(p)
    }

    /// [`Tensor::router_top_k`].
    ///
    /// # Errors
    /// When there is no such axis, it has fewer than `k` positions, the elements are not floats, or another axis is called as
    /// `into`.
    pub fn router_top_k(
        &self,
        axis: impl Into<DynAxis>,
        k: usize,
        normalize: bool,
        into: impl Into<DynAxis>,
    ) -> Result<(Self, Self), Error> {
        let choose = |at: At| raw::router_top_k(self.raw(), at, k, normalize).map(Into::into);
        let [v, p] = self.choose("router_top_k", axis, into, choose)?;
        Ok((v, p))
    }
}
