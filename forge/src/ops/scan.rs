//! Scans along an axis by name.

use crate::DynTensor;
use crate::dtype::{Dtype, Float, Summable};
use crate::dyn_tensor::{DynAxis, check_distinct};
use crate::error::Error;
use crate::raw::{Names, scan as raw};
use crate::tensor::{Tensor, at, names, position, wrap};
use forge_axes::plan::{PointwisePlan, pos};
use forge_axes::{Axes, Axis, Has, Key, Lacks, Remove, Replace, SubsetOf, list_ops};
use forge_macros::fallible;

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Running sums along `axis`: each place holds the sum of the elements up to it.
    ///
    /// Integers and bools are summed in i64 (wrapping), 16-bit floats in f32.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Time }
    /// let x = Tensor::<Time>::from_vec(3, vec![1., 2., 3.]);
    /// assert_eq!(x.cumsum(Time).to_vec(), [1., 3., 6.]);
    /// ```
    #[fallible]
    pub fn cumsum<A: Axis>(&self, axis: A) -> Tensor<X, D::Sum>
    where
        X: Has<A>,
        D: Summable,
    {
        let _ = axis;
        Ok(wrap(raw::cumsum(self.raw(), position::<X, A>(), false)?))
    }

    /// Running products along `axis`: each place holds the product of the elements up to it.
    ///
    /// Integers and bools are multiplied in i64 (wrapping), 16-bit floats in f32. The gradient is exact where elements
    /// are 0.
    #[fallible]
    pub fn cumprod<A: Axis>(&self, axis: A) -> Tensor<X, D::Sum>
    where
        X: Has<A>,
        D: Summable,
    {
        let _ = axis;
        Ok(wrap(raw::cumprod(self.raw(), position::<X, A>())?))
    }

    /// Sums of contiguous segments of `axis`, along the axis `into` in its place: segment `s` is positions
    /// `offsets[s]..offsets[s + 1]`. An empty segment sums to 0.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Token, Sequence }
    /// let x = Tensor::<Token>::from_vec(4, vec![1., 2., 3., 4.]);
    /// let sums: Tensor<Sequence> = x.segment_sum(Token, &[0, 3, 3, 4], Sequence);
    /// assert_eq!(sums.to_vec(), [6., 0., 4.]);
    /// ```
    ///
    /// # Errors
    /// When the offsets do not rise from 0 to the size of the axis, or `into` has a fixed size that is not their number
    /// less one.
    #[fallible]
    pub fn segment_sum<A: Axis, B: Axis>(&self, axis: A, offsets: &[usize], into: B) -> Tensor<Replace<X, A, B>, D::Sum>
    where
        X: Has<A>,
        Remove<X, A>: Lacks<B>,
        D: Summable,
    {
        let _ = (axis, into);
        let y = raw::segment_sum(self.raw(), at::<X, A>(), offsets)?;
        super::shape::check_fixed::<B>("segment_sum", offsets.len() - 1)?;
        Ok(wrap(y))
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// The linear recurrence `h[t] = decay[t] h[t - 1] + x[t]` along `axis`, `self` being `x`.
    ///
    /// `decay` is broadcast by name. `initial` is `h[-1]`; without it `h[0] = x[0]`. Each step is one multiplication and one
    /// addition, so a sequence in parts, each begun with the last state of the one before, gives the same bits as the
    /// whole; with a decay of 1 it is [`Self::cumsum`], bit for bit.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Time, Channel }
    /// let x = Tensor::<(Time, Channel)>::ones((3, 1));
    /// let decay = Tensor::<Channel>::from_vec(1, vec![0.5]);
    /// assert_eq!(x.linear_recurrence(Time, &decay, None).to_vec(), [1.0, 1.5, 1.75]);
    /// ```
    ///
    /// # Errors
    /// When a shared axis has two sizes.
    #[fallible]
    pub fn linear_recurrence<A: Axis, R: Axes + SubsetOf<X>>(
        &self,
        axis: A,
        decay: &Tensor<R, D>,
        initial: Option<&Tensor<Remove<X, A>, D>>,
    ) -> Self
    where
        X: Has<A>,
        D: Float,
    {
        let _ = axis;
        let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
        let initial = initial.map(Tensor::raw);
        Ok(wrap(raw::linear_recurrence(self.raw(), at::<X, A>(), decay.raw(), plan, names::<X, R>(), initial)?))
    }
}

/// `keys` with `into` in the place of the axis at position `p`, checked to be a list.
pub(super) fn replaced<'k>(
    op: &'static str,
    keys: &[Key<'k>],
    p: usize,
    into: &'k DynAxis,
) -> Result<Vec<Key<'k>>, Error> {
    let mut out = keys.to_vec();
    out[p] = into.key();
    check_distinct(op, &out)?;
    Ok(out)
}

impl DynTensor {
    /// [`Tensor::cumsum`].
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn cumsum(&self, axis: impl Into<DynAxis>) -> Result<Self, Error> {
        let p = self.position("cumsum", &axis.into())?;
        Ok(self.with_raw(raw::cumsum(self.raw(), p, false)?))
    }

    /// [`Tensor::cumprod`].
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn cumprod(&self, axis: impl Into<DynAxis>) -> Result<Self, Error> {
        let p = self.position("cumprod", &axis.into())?;
        Ok(self.with_raw(raw::cumprod(self.raw(), p)?))
    }

    /// [`Tensor::segment_sum`].
    ///
    /// # Errors
    /// When there is no such axis, the offsets do not rise from 0 to its size, or another axis is called as `into`.
    pub fn segment_sum(
        &self,
        axis: impl Into<DynAxis>,
        offsets: &[usize],
        into: impl Into<DynAxis>,
    ) -> Result<Self, Error> {
        let into = into.into();
        self.at("segment_sum", &axis.into(), |at| {
            let out = replaced("segment_sum", at.keys, at.axis, &into)?;
            Ok(self.renamed(raw::segment_sum(self.raw(), at, offsets)?, &out, &[std::slice::from_ref(&into)]))
        })
    }

    /// [`Tensor::linear_recurrence`]. The axes of `initial` are those of `self` without `axis`, in their order.
    ///
    /// # Errors
    /// When there is no such axis, an operand has other axes than it may, a shared axis has two sizes, or the dtypes differ.
    pub fn linear_recurrence(
        &self,
        axis: impl Into<DynAxis>,
        decay: &Self,
        initial: Option<&Self>,
    ) -> Result<Self, Error> {
        const OP: &str = "linear_recurrence";
        let axis = axis.into();
        let (lk, rk) = (self.keys(), decay.keys());
        super::arith::subset(OP, &rk, &lk)?;
        let plan = PointwisePlan::new(&lk, &rk);
        if let Some(h) = initial {
            let (hk, left) =
                (h.keys(), list_ops::remove(&lk, &axis.key()).map_err(|e| Error::axes(OP, e.to_string()))?);
            let same = hk.len() == left.len() && hk.iter().enumerate().all(|(i, k)| usize::from(pos(&left, k)) == i);
            if !same {
                return Err(Error::axes(
                    OP,
                    format!("the initial state has the axes `{}`, not `{left}`", list_ops::Names(&hk)),
                ));
            }
        }
        self.at(OP, &axis, |at| {
            let names = Names { lhs: &lk, rhs: &rk };
            Ok(self.with_raw(raw::linear_recurrence(
                self.raw(),
                at,
                decay.raw(),
                &plan,
                names,
                initial.map(Self::raw),
            )?))
        })
    }
}
