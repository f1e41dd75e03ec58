//! Tensors made of others: joined, repeated, rolled, padded, with parts replaced.

use crate::DynTensor;
use crate::dtype::{Dtype, Element, Number};
use crate::dyn_tensor::{DynAxis, check_distinct, keys_of, list_text};
use crate::error::Error;
use crate::raw::{At, RawTensor, assemble as raw, cast, shape};
use crate::tensor::{Tensor, at, position, wrap};
use forge_axes::plan;
use forge_axes::{
    Axes, Axis, Distinct, Has, InsertFront, Lacks, NoneIn, PermutationOf, Remove, Replace, Resizable, TermsOf,
};
use forge_macros::fallible;
use std::ops::Range;

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// `self` and `others` one after the other along `axis`; all other sizes agree. They may be views of any layout.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, Seq }
    /// let (a, b) = (Tensor::<(Batch, Seq)>::zeros((2, 3)), Tensor::<(Batch, Seq)>::ones((2, 1)));
    /// let y = a.concat(Seq, &[&b, &a]);
    /// assert_eq!(y.shape(), [2, 7]);
    /// assert_eq!(y.get((1, 3)), 1.0);
    /// ```
    ///
    /// # Errors
    /// When another axis has two sizes.
    #[doc(alias("cat"))]
    #[fallible]
    pub fn concat<A: Resizable>(&self, axis: A, others: &[&Self]) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        let parts: Vec<&RawTensor> = std::iter::once(self).chain(others.iter().copied()).map(Self::raw).collect();
        Ok(wrap(raw::concat("concat", &parts, at::<X, A>())?))
    }

    /// Axis `axis` of `self`, then axis `other_axis` of `other`, as one axis `into`; all their other axes are the same,
    /// in any order. This joins axes of fixed size: the compiler checks that the sizes add up.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, In = 2, Hidden = 3, Both = 5 }
    /// let (x, h) = (Tensor::<(Batch, In)>::zeros((4, In)), Tensor::<(Batch, Hidden)>::ones((4, Hidden)));
    /// let y: Tensor<(Batch, Both)> = x.concat_into(In, &h, Hidden, Both);
    /// assert_eq!(y.sum(Both).to_vec(), [3.0; 4]);
    /// ```
    ///
    /// # Errors
    /// When another axis has two sizes, or `into` has a fixed size that is not the sum.
    #[fallible]
    pub fn concat_into<R: Axes, A: Axis, B: Axis, C: Axis>(
        &self,
        axis: A,
        other: &Tensor<R, D>,
        other_axis: B,
        into: C,
    ) -> Tensor<Replace<X, A, C>, D>
    where
        X: Has<A>,
        R: Has<B> + PermutationOf<Replace<X, A, B>>,
        Remove<X, A>: Lacks<B> + Lacks<C>,
        (A, B): TermsOf<C>,
    {
        let _ = (axis, other_axis, into);
        let order = const { &plan::map(<Replace<X, A, B> as Axes>::KEYS, R::KEYS) };
        let other = shape::permute(other.raw(), &order[..R::RANK]);
        let at = At { axis: position::<X, A>(), keys: <Replace<X, A, C> as Axes>::KEYS };
        let y = raw::concat("concat_into", &[self.raw(), &other], at)?;
        super::shape::check_fixed::<C>("concat_into", y.shape()[at.axis])?;
        Ok(wrap(y))
    }

    /// `self` and `others`, all of one shape, along a new first axis.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, In }
    /// let rows = [Tensor::<In>::from([1., 2.]), Tensor::<In>::from([3., 4.])];
    /// let y: Tensor<(Batch, In)> = rows[0].stack(Batch, &[&rows[1]]);
    /// assert_eq!(y.to_vec(), [1., 2., 3., 4.]);
    /// ```
    ///
    /// # Errors
    /// When an axis has two sizes, or `axis` has a fixed size that is not the number of tensors.
    #[fallible]
    pub fn stack<A: Axis>(&self, axis: A, others: &[&Self]) -> Tensor<InsertFront<X, A>, D>
    where
        X: Lacks<A>,
    {
        let _ = axis;
        let parts: Vec<&RawTensor> = std::iter::once(self).chain(others.iter().copied()).map(Self::raw).collect();
        super::shape::check_fixed::<A>("stack", parts.len())?;
        Ok(wrap(raw::stack(&parts, X::KEYS)?))
    }

    /// Every position of `axis` as a tensor of its own (a view), in order.
    #[must_use]
    #[fallible]
    pub fn unbind<A: Axis>(&self, axis: A) -> Vec<Tensor<Remove<X, A>, D>>
    where
        X: Has<A>,
    {
        let _ = axis;
        Ok(raw::unbind(self.raw(), at::<X, A>())?.into_iter().map(wrap).collect())
    }

    /// The whole of `axis` `n` times over: `[1, 2]` twice is `[1, 2, 1, 2]`.
    ///
    /// # Errors
    /// When the result would exceed the address space.
    #[fallible]
    pub fn repeat<A: Resizable>(&self, axis: A, n: usize) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        Ok(wrap(raw::repeat(self.raw(), at::<X, A>(), n)?))
    }

    /// Each position of `axis` `n` times in a row: `[1, 2]` twice is `[1, 1, 2, 2]`.
    ///
    /// # Errors
    /// When the result would exceed the address space.
    #[fallible]
    pub fn repeat_interleave<A: Resizable>(&self, axis: A, n: usize) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        Ok(wrap(raw::repeat_interleave(self.raw(), at::<X, A>(), n)?))
    }

    /// `axis` turned: position `i` moves to `i + shift`, around from the end to the beginning.
    #[must_use]
    pub fn roll<A: Axis>(&self, axis: A, shift: isize) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        wrap(raw::roll(self.raw(), position::<X, A>(), shift))
    }

    /// `axis` with `before` positions of `value` in front and `after` behind; a negative count cuts that many off. Cutting
    /// alone is a view.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Time }
    /// let x = Tensor::<Time>::from([1., 2., 3.]);
    /// assert_eq!(x.pad(Time, 2, -1, 9.0).to_vec(), [9., 9., 1., 2.]);
    /// ```
    ///
    /// # Errors
    /// When more is cut than there is.
    #[fallible]
    pub fn pad<A: Resizable>(&self, axis: A, before: isize, after: isize, value: D) -> Self
    where
        X: Has<A>,
        D: Element,
    {
        let _ = axis;
        Ok(wrap(raw::pad("pad", self.raw(), at::<X, A>(), before, after, &RawTensor::full(&[], value))?))
    }

    /// [`Self::pad`] on two axes: `pads` holds (before, after) of `rows`, then of `columns`.
    ///
    /// # Errors
    /// When more is cut than there is.
    #[fallible]
    pub fn constant_pad2d<A: Resizable, B: Resizable>(
        &self,
        rows: A,
        columns: B,
        pads: [(isize, isize); 2],
        value: D,
    ) -> Self
    where
        X: Has<A> + Has<B>,
        (A, B): Distinct,
        D: Element,
    {
        let _ = (rows, columns);
        let value = RawTensor::full(&[], value);
        Ok(wrap(pad2d("constant_pad2d", self.raw(), [at::<X, A>(), at::<X, B>()], pads, &value)?))
    }

    /// [`Self::constant_pad2d`] with 0.
    ///
    /// # Errors
    /// When more is cut than there is.
    #[fallible]
    pub fn zero_pad2d<A: Resizable, B: Resizable>(&self, rows: A, columns: B, pads: [(isize, isize); 2]) -> Self
    where
        X: Has<A> + Has<B>,
        (A, B): Distinct,
    {
        let _ = (rows, columns);
        let value = RawTensor::full(&[], false);
        Ok(wrap(pad2d("zero_pad2d", self.raw(), [at::<X, A>(), at::<X, B>()], pads, &value)?))
    }

    /// `axis` on the diagonal of a square over the axes `row` and `column`, which take its place; 0 elsewhere.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { A, Row, Column }
    /// let d: Tensor<(Row, Column)> = Tensor::<A>::from([1., 2.]).diag_embed(A, Row, Column);
    /// assert_eq!(d.to_vec(), [1., 0., 0., 2.]);
    /// ```
    ///
    /// # Errors
    /// When `row` or `column` has a fixed size that is not the axis'.
    #[fallible]
    pub fn diag_embed<A: Axis, R: Axis, C: Axis>(&self, axis: A, row: R, column: C) -> Tensor<Replace<X, A, (R, C)>, D>
    where
        X: Has<A>,
        (R, C): Distinct + NoneIn<Remove<X, A>>,
    {
        let _ = (axis, row, column);
        let p = position::<X, A>();
        super::shape::check_fixed::<R>("diag_embed", self.shape()[p])?;
        super::shape::check_fixed::<C>("diag_embed", self.shape()[p])?;
        Ok(wrap(raw::diag_embed(self.raw(), p)))
    }

    /// The sum of the elements whose positions on axes `a` and `b` agree, which both disappear.
    #[must_use]
    #[fallible]
    pub fn trace<A: Axis, B: Axis>(&self, a: A, b: B) -> Tensor<Remove<Remove<X, A>, B>, D>
    where
        X: Has<A> + Has<B>,
        (A, B): Distinct,
        D: Number,
    {
        let _ = (a, b);
        let y = raw::trace(self.raw(), position::<X, A>(), position::<X, B>())?;
        Ok(wrap(cast::to(&y, <D as Dtype>::DTYPE)?))
    }

    /// `self` with `src` in place of the positions from `start` on along `axis`, as many as `src` has.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Seq }
    /// let x = Tensor::<Seq>::zeros(5).set_slice(Seq, 1, &Tensor::<Seq>::from([7., 8.]));
    /// assert_eq!(x.to_vec(), [0., 7., 8., 0., 0.]);
    /// ```
    ///
    /// # Errors
    /// When the positions leave the axis, or another axis has two sizes.
    #[fallible]
    pub fn set_slice<R: Axes + PermutationOf<X>, A: Axis>(&self, axis: A, start: usize, src: &Tensor<R, D>) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        let order = const { &plan::map(X::KEYS, R::KEYS) };
        let src = shape::permute(src.raw(), &order[..X::RANK]);
        Ok(wrap(raw::set_slice(self.raw(), at::<X, A>(), start, &src)?))
    }

    /// `self` with zeros in the positions `range` of `axis`. What stood there leaves no trace, NaN included.
    ///
    /// # Errors
    /// When the range leaves the axis.
    #[fallible]
    pub fn zero_slice<A: Axis>(&self, axis: A, range: Range<usize>) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        let len = range.end.saturating_sub(range.start);
        Ok(wrap(raw::zero_slice(self.raw(), at::<X, A>(), range.start, len)?))
    }
}

fn pad2d(
    op: &'static str,
    x: &RawTensor,
    [rows, columns]: [At; 2],
    pads: [(isize, isize); 2],
    value: &RawTensor,
) -> Result<RawTensor, Error> {
    let y = raw::pad(op, x, rows, pads[0].0, pads[0].1, value)?;
    raw::pad(op, &y, columns, pads[1].0, pads[1].1, value)
}

impl DynTensor {
    /// `other` with its axes in the order of `self`'s, which must be the same.
    pub(crate) fn aligned_like(&self, op: &'static str, other: &Self) -> Result<RawTensor, Error> {
        let (to, from) = (self.keys(), other.keys());
        super::arith::subset(op, &to, &from)?;
        super::arith::subset(op, &from, &to)?;
        Ok(shape::permute(other.raw(), &plan::map(&to, &from)[..to.len()]))
    }

    fn parts(&self, op: &'static str, others: &[&Self]) -> Result<Vec<RawTensor>, Error> {
        std::iter::once(Ok(self.raw().clone())).chain(others.iter().map(|o| self.aligned_like(op, o))).collect()
    }

    /// [`Tensor::concat`]; `others` may have their axes in another order.
    ///
    /// # Errors
    /// When there is no such axis, the axes or dtypes differ, or another axis has two sizes.
    pub fn concat(&self, axis: impl Into<DynAxis>, others: &[&Self]) -> Result<Self, Error> {
        let parts = self.parts("concat", others)?;
        let parts: Vec<&RawTensor> = parts.iter().collect();
        Ok(self.with_raw(self.at("concat", &axis.into(), |at| raw::concat("concat", &parts, at))?))
    }

    /// [`Tensor::concat_into`].
    ///
    /// # Errors
    /// When an axis is missing, `into` is already there, the dtypes or other axes differ, or another axis has two sizes.
    pub fn concat_into(
        &self,
        axis: impl Into<DynAxis>,
        other: &Self,
        other_axis: impl Into<DynAxis>,
        into: impl Into<DynAxis>,
    ) -> Result<Self, Error> {
        let op = "concat_into";
        let (axis, into) = (axis.into(), into.into());
        let p = self.position(op, &axis)?;
        let renamed = |x: &Self, p: usize| {
            let mut axes = x.axes().to_vec();
            axes[p] = into.clone();
            check_distinct(op, &keys_of(&axes))?;
            Ok::<_, Error>(Self::new(x.raw().clone(), axes))
        };
        let left = renamed(self, p)?;
        let right = renamed(other, other.position(op, &other_axis.into())?)?;
        let right = left.aligned_like(op, &right)?;
        let y = raw::concat(op, &[left.raw(), &right], At { axis: p, keys: &left.keys() })?;
        Ok(left.with_raw(y))
    }

    /// [`Tensor::stack`].
    ///
    /// # Errors
    /// When the axis is already there, or the axes, dtypes or sizes differ.
    pub fn stack(&self, axis: impl Into<DynAxis>, others: &[&Self]) -> Result<Self, Error> {
        let axis = axis.into();
        self.lacks("stack", &axis)?;
        let axes: Vec<DynAxis> = std::iter::once(axis).chain(self.axes().iter().cloned()).collect();
        if axes.len() > 8 {
            return Err(Error::axes(
                "stack",
                format!("`{}` and one more: a tensor may have at most 8", list_text(&self.keys())),
            ));
        }
        let parts = self.parts("stack", others)?;
        Ok(Self::new(raw::stack(&parts.iter().collect::<Vec<_>>(), &self.keys())?, axes))
    }

    /// [`Tensor::unbind`].
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn unbind(&self, axis: impl Into<DynAxis>) -> Result<Vec<Self>, Error> {
        let axis = axis.into();
        let n = self.shape()[self.position("unbind", &axis)?];
        (0..n).map(|i| self.select(axis.clone(), i as isize)).collect()
    }

    /// [`Tensor::repeat`].
    ///
    /// # Errors
    /// When there is no such axis, or the result would exceed the address space.
    pub fn repeat(&self, axis: impl Into<DynAxis>, n: usize) -> Result<Self, Error> {
        Ok(self.with_raw(self.at("repeat", &axis.into(), |at| raw::repeat(self.raw(), at, n))?))
    }

    /// [`Tensor::repeat_interleave`].
    ///
    /// # Errors
    /// When there is no such axis, or the result would exceed the address space.
    pub fn repeat_interleave(&self, axis: impl Into<DynAxis>, n: usize) -> Result<Self, Error> {
        Ok(self.with_raw(self.at("repeat_interleave", &axis.into(), |at| raw::repeat_interleave(self.raw(), at, n))?))
    }

    /// [`Tensor::roll`].
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn roll(&self, axis: impl Into<DynAxis>, shift: isize) -> Result<Self, Error> {
        Ok(self.with_raw(raw::roll(self.raw(), self.position("roll", &axis.into())?, shift)))
    }

    /// [`Tensor::pad`]; `value` is converted to the dtype.
    ///
    /// # Errors
    /// When there is no such axis, or more is cut than there is.
    pub fn pad(&self, axis: impl Into<DynAxis>, before: isize, after: isize, value: f64) -> Result<Self, Error> {
        let value = RawTensor::full(&[], value);
        let pad = |at: At| raw::pad("pad", self.raw(), at, before, after, &value);
        Ok(self.with_raw(self.at("pad", &axis.into(), pad)?))
    }

    /// [`Tensor::constant_pad2d`]; `value` is converted to the dtype.
    ///
    /// # Errors
    /// When an axis is missing, both are one, or more is cut than there is.
    pub fn constant_pad2d(
        &self,
        rows: impl Into<DynAxis>,
        columns: impl Into<DynAxis>,
        pads: [(isize, isize); 2],
        value: f64,
    ) -> Result<Self, Error> {
        self.pad2d("constant_pad2d", &rows.into(), &columns.into(), pads, &RawTensor::full(&[], value))
    }

    /// [`Tensor::zero_pad2d`].
    ///
    /// # Errors
    /// As [`Self::constant_pad2d`].
    pub fn zero_pad2d(
        &self,
        rows: impl Into<DynAxis>,
        columns: impl Into<DynAxis>,
        pads: [(isize, isize); 2],
    ) -> Result<Self, Error> {
        self.pad2d("zero_pad2d", &rows.into(), &columns.into(), pads, &RawTensor::full(&[], false))
    }

    fn pad2d(
        &self,
        op: &'static str,
        rows: &DynAxis,
        columns: &DynAxis,
        pads: [(isize, isize); 2],
        value: &RawTensor,
    ) -> Result<Self, Error> {
        let keys = self.keys();
        let (r, c) = self.two_positions(op, rows, columns)?;
        let at = |axis| At { axis, keys: &keys };
        Ok(self.with_raw(pad2d(op, self.raw(), [at(r), at(c)], pads, value)?))
    }

    /// Positions of two different axes.
    fn two_positions(&self, op: &'static str, a: &DynAxis, b: &DynAxis) -> Result<(usize, usize), Error> {
        let (i, j) = (self.position(op, a)?, self.position(op, b)?);
        if i == j {
            return Err(Error::axes(op, format!("axis `{}` appears twice in `({0}, {0})`", a.name())));
        }
        Ok((i, j))
    }

    /// [`Tensor::diag_embed`].
    ///
    /// # Errors
    /// When there is no such axis, or a new one is already there.
    pub fn diag_embed(
        &self,
        axis: impl Into<DynAxis>,
        row: impl Into<DynAxis>,
        column: impl Into<DynAxis>,
    ) -> Result<Self, Error> {
        let p = self.position("diag_embed", &axis.into())?;
        let mut axes = self.axes().to_vec();
        axes.splice(p..=p, [row.into(), column.into()]);
        check_distinct("diag_embed", &keys_of(&axes))?;
        Ok(Self::new(raw::diag_embed(self.raw(), p), axes))
    }

    /// [`Tensor::trace`].
    ///
    /// # Errors
    /// When an axis is missing, both are one, or the elements are not numbers.
    pub fn trace(&self, a: impl Into<DynAxis>, b: impl Into<DynAxis>) -> Result<Self, Error> {
        let (a, b) = (a.into(), b.into());
        let (i, j) = self.two_positions("trace", &a, &b)?;
        let axes: Vec<DynAxis> =
            self.axes().iter().enumerate().filter(|(n, _)| *n != i && *n != j).map(|(_, a)| a.clone()).collect();
        let y = raw::trace(self.raw(), i, j)?;
        Ok(Self::new(cast::to(&y, self.dtype())?, axes))
    }

    /// [`Tensor::set_slice`].
    ///
    /// # Errors
    /// When there is no such axis, the axes or dtypes differ, the positions leave the axis, or another axis has two sizes.
    pub fn set_slice(&self, axis: impl Into<DynAxis>, start: usize, src: &Self) -> Result<Self, Error> {
        let src = self.aligned_like("set_slice", src)?;
        Ok(self.with_raw(self.at("set_slice", &axis.into(), |at| raw::set_slice(self.raw(), at, start, &src))?))
    }

    /// [`Tensor::zero_slice`].
    ///
    /// # Errors
    /// When there is no such axis, or the range leaves it.
    pub fn zero_slice(&self, axis: impl Into<DynAxis>, range: Range<usize>) -> Result<Self, Error> {
        let len = range.end.saturating_sub(range.start);
        Ok(self.with_raw(self.at("zero_slice", &axis.into(), |at| raw::zero_slice(self.raw(), at, range.start, len))?))
    }
}
