//! Views and rearrangements by axis name. All but `merge` of axes that do not chain, and `reshape` of a tensor that is
//! not dense, share the memory of their operand.

use crate::DynTensor;
use crate::dtype::Dtype;
use crate::dyn_tensor::{DynAxis, check_distinct, keys_of, list_text};
use crate::error::Error;
use crate::raw::shape as raw;
use crate::tensor::{Tensor, at, position, sizes, wrap};
use forge_axes::plan::{self, MergePlan, NONE};
use forge_axes::{
    Axes, Axis, DiagonalOf, Distinct, FactorsOf, FirstAxis, Has, InsertFront, Lacks, Merge, Minus, PermutationOf, Push,
    Remove, Replace, Resizable, RoomFor, SameSize, SizeArg, SubsetOf, list_ops,
};
use forge_macros::fallible;
use std::ops::Range;

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// The same axes in another order, named by the result's type.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, In }
    /// let x = Tensor::<(Batch, In)>::zeros((2, 3));
    /// let t: Tensor<(In, Batch)> = x.permute();
    /// assert_eq!(t.shape(), [3, 2]);
    /// ```
    #[doc(alias("transpose", "swapaxes"))]
    #[must_use]
    pub fn permute<Y: Axes>(&self) -> Tensor<Y, D>
    where
        X: PermutationOf<Y>,
    {
        let order = const { &plan::map(Y::KEYS, X::KEYS) };
        wrap(raw::permute(self.raw(), &order[..Y::RANK]))
    }

    /// Axis `from` under the name `to`.
    ///
    /// # Errors
    /// When `to` has a fixed size that is not `from`'s.
    #[fallible]
    pub fn rename<A: Axis, B: Axis>(&self, from: A, to: B) -> Tensor<Replace<X, A, B>, D>
    where
        X: Has<A> + Lacks<B>,
        A: SameSize<B>,
    {
        let _ = (from, to);
        check_fixed::<B>("rename", self.shape()[position::<X, A>()])?;
        Ok(wrap(self.raw().clone()))
    }

    /// Axis `axis` cut into the axes `parts`, of sizes `dims`, which multiply to its size.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, Model = 6, Head = 2, Dim = 3 }
    /// let x = Tensor::<(Batch, Model)>::zeros((5, Model));
    /// let h: Tensor<(Batch, Head, Dim)> = x.split(Model, (Head, Dim), (Head, Dim));
    /// assert_eq!(h.shape(), [5, 2, 3]);
    /// ```
    ///
    /// # Errors
    /// When the sizes do not multiply to the axis' size.
    #[doc(alias("unflatten"))]
    #[fallible]
    pub fn split<A: Axis, P: Axes>(&self, axis: A, parts: P, dims: P::Dims) -> Tensor<Replace<X, A, P>, D>
    where
        X: Has<A> + RoomFor<P, A>,
        P: Distinct + FactorsOf<A>,
    {
        let _ = (axis, parts);
        let (s, n) = sizes::<P>(dims);
        Ok(wrap(raw::split(self.raw(), at::<X, A>(), &s[..n])?))
    }

    /// The axes `parts` joined into one axis `into`, at the place of the first of them, the last varying fastest. They
    /// need not stand together; a copy is made when their strides do not chain.
    ///
    /// # Errors
    /// When `into` has a fixed size that is not the product of theirs.
    #[doc(alias("flatten", "reshape", "view"))]
    #[fallible]
    pub fn merge<P: FirstAxis, A: Axis>(&self, parts: P, into: A) -> Tensor<Merge<X, P, A>, D>
    where
        P: SubsetOf<X> + Distinct + FactorsOf<A>,
        X: RoomFor<A, P>,
    {
        let _ = (parts, into);
        let p = const { &MergePlan::new(X::KEYS, P::KEYS) };
        let y = merged(self.raw(), p, P::RANK);
        check_fixed::<A>("merge", y.shape()[p.at as usize])?;
        Ok(wrap(y))
    }

    /// A new last axis of size 1.
    #[doc(alias("unsqueeze", "expand_dims"))]
    #[must_use]
    pub fn insert<A: Axis>(&self, axis: A) -> Tensor<Push<X, A>, D>
    where
        X: Lacks<A>,
    {
        let _ = axis;
        const { <Push<X, A>>::RANK }; // a ninth axis is an error at the call
        wrap(raw::insert(self.raw(), X::RANK))
    }

    /// A new first axis of size 1.
    #[must_use]
    pub fn insert_front<A: Axis>(&self, axis: A) -> Tensor<InsertFront<X, A>, D>
    where
        X: Lacks<A>,
    {
        let _ = axis;
        const { <InsertFront<X, A>>::RANK }; // a ninth axis is an error at the call
        wrap(raw::insert(self.raw(), 0))
    }

    /// The tensor without axis `axis`, which must have size 1.
    ///
    /// # Errors
    /// When it has another size.
    #[fallible]
    pub fn squeeze<A: Axis>(&self, axis: A) -> Tensor<Remove<X, A>, D>
    where
        X: Has<A>,
    {
        let _ = axis;
        Ok(wrap(raw::squeeze(self.raw(), at::<X, A>())?))
    }

    /// Axis `axis`, which must have size 1, repeated to `size` (a view).
    ///
    /// # Errors
    /// When it has another size than 1.
    #[doc(alias("broadcast_to", "repeat"))]
    #[fallible]
    pub fn expand<A: Axis>(&self, axis: A, size: SizeArg<A>) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        let (s, _) = sizes::<A>(size);
        Ok(wrap(raw::expand(self.raw(), at::<X, A>(), s[0])?))
    }

    /// Positions `range` of axis `axis`.
    ///
    /// # Errors
    /// When the range leaves the axis.
    #[doc(alias("slice"))]
    #[fallible]
    pub fn narrow<A: Resizable>(&self, axis: A, range: Range<usize>) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        let len = range.end.saturating_sub(range.start);
        Ok(wrap(raw::narrow(self.raw(), at::<X, A>(), range.start, len)?))
    }

    /// Position `index` of axis `axis`, which disappears; negative positions count from the end.
    ///
    /// # Errors
    /// When the position is outside the axis.
    #[fallible]
    pub fn select<A: Axis>(&self, axis: A, index: isize) -> Tensor<Remove<X, A>, D>
    where
        X: Has<A>,
    {
        let _ = axis;
        Ok(wrap(raw::select(self.raw(), at::<X, A>(), index)?))
    }

    /// Positions of axis `axis` from `start` to before `end` by `step`, with the rules of Python slices: negative bounds count
    /// from the end, bounds are clamped, `None` is the natural end, a negative step walks backwards.
    ///
    /// # Errors
    /// When the step is 0.
    #[fallible]
    pub fn slice<A: Resizable>(
        &self,
        axis: A,
        start: impl Into<Option<isize>>,
        end: impl Into<Option<isize>>,
        step: isize,
    ) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        Ok(wrap(raw::slice(self.raw(), at::<X, A>(), start.into(), end.into(), step)?))
    }

    /// Axis `axis` in reverse order.
    #[must_use]
    pub fn flip<A: Axis>(&self, axis: A) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        wrap(raw::flip(self.raw(), position::<X, A>()))
    }

    /// The elements whose positions on axes `a` and `b` agree, along the new last axis `into`.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Row, Col, Diag }
    /// let x = Tensor::<(Row, Col)>::from_vec((2, 2), vec![1., 2., 3., 4.]);
    /// let trace = x.diagonal(Row, Col, Diag).sum(Diag);
    /// assert_eq!(trace.item(), 5.0);
    /// ```
    #[must_use]
    pub fn diagonal<A: Axis, B: Axis, C: Axis>(&self, a: A, b: B, into: C) -> Tensor<DiagonalOf<X, A, B, C>, D>
    where
        X: Has<A> + Has<B>,
        (A, B): Distinct,
        Minus<X, (A, B)>: Lacks<C>,
    {
        let _ = (a, b, into);
        wrap(raw::diagonal(self.raw(), position::<X, A>(), position::<X, B>()))
    }

    /// The elements in row-major order under the axes `Y`, of sizes `dims`. Names lose their meaning: prefer
    /// [`Self::split`] and [`Self::merge`].
    ///
    /// # Errors
    /// When the number of elements differs.
    #[fallible]
    pub fn reshape<Y: Axes + Distinct>(&self, dims: Y::Dims) -> Tensor<Y, D> {
        let (s, n) = sizes::<Y>(dims);
        Ok(wrap(raw::reshape(self.raw(), &s[..n])?))
    }

    /// All elements along one axis, in row-major order.
    #[must_use]
    pub fn flatten<A: Resizable>(&self, into: A) -> Tensor<A, D> {
        let _ = into;
        wrap(raw::reshape(self.raw(), &[self.len()]).expect("one axis holds any number of elements"))
    }
}

fn merged(x: &crate::raw::RawTensor, p: &MergePlan, n: usize) -> crate::raw::RawTensor {
    raw::merge(x, &p.order[..x.rank()], p.at as usize, n)
}

pub(crate) fn check_fixed<A: Axis>(op: &'static str, n: usize) -> Result<(), Error> {
    check_size(op, &A::KEY, n)
}

/// The error when an axis of fixed size would have another.
pub(crate) fn check_size(op: &'static str, key: &forge_axes::Key, n: usize) -> Result<(), Error> {
    match key.fixed {
        Some(f) if f != n => {
            Err(Error::argument(op, format!("axis `{}` has the fixed size {f}, but this one has {n}", key.name)))
        }
        _ => Ok(()),
    }
}

impl DynTensor {
    /// [`Tensor::permute`]: the same axes in the order `order`.
    ///
    /// # Errors
    /// When `order` is not a permutation of the axes.
    pub fn permute(&self, order: &[&str]) -> Result<Self, Error> {
        let order: Vec<DynAxis> = order.iter().map(|&a| a.into()).collect();
        let (from, to) = (self.keys(), keys_of(&order));
        check_distinct("permute", &to)?;
        super::arith::subset("permute", &to, &from)?;
        super::arith::subset("permute", &from, &to)?;
        let map = plan::map(&to, &from);
        Ok(self.renamed(raw::permute(self.raw(), &map[..to.len()]), &to, &[]))
    }

    /// [`Tensor::rename`].
    ///
    /// # Errors
    /// When there is no axis `from`, or `to` is already there.
    pub fn rename(&self, from: impl Into<DynAxis>, to: impl Into<DynAxis>) -> Result<Self, Error> {
        let (from, to) = (from.into(), to.into());
        let p = self.position("rename", &from)?;
        let mut axes = self.axes().to_vec();
        if plan::same(&from.key(), &to.key()) {
            return Ok(self.clone());
        }
        self.lacks("rename", &to)?;
        axes[p] = to;
        Ok(Self::new(self.raw().clone(), axes))
    }

    /// [`Tensor::split`].
    ///
    /// # Errors
    /// When there is no such axis, a part is already there, or the sizes do not multiply to its size.
    pub fn split(&self, axis: impl Into<DynAxis>, parts: &[&str], dims: &[usize]) -> Result<Self, Error> {
        let axis = axis.into();
        let p = self.position("split", &axis)?;
        if parts.len() != dims.len() {
            return Err(Error::axes(
                "split",
                format!("{} parts need {} sizes, not {}", parts.len(), parts.len(), dims.len()),
            ));
        }
        let mut axes = self.axes().to_vec();
        axes.splice(p..=p, parts.iter().map(|&a| DynAxis::from(a)));
        check_distinct("split", &keys_of(&axes))?;
        let y = self.at("split", &axis, |at| raw::split(self.raw(), at, dims))?;
        Ok(Self::new(y, axes))
    }

    /// [`Tensor::merge`].
    ///
    /// # Errors
    /// When a part is missing or named twice, or `into` is already there.
    pub fn merge(&self, parts: &[&str], into: impl Into<DynAxis>) -> Result<Self, Error> {
        let parts: Vec<DynAxis> = parts.iter().map(|&a| a.into()).collect();
        let into = into.into();
        let (keys, pk) = (self.keys(), keys_of(&parts));
        if pk.is_empty() {
            return Err(Error::axes("merge", "needs at least one axis to merge"));
        }
        check_distinct("merge", &pk)?;
        super::arith::subset("merge", &pk, &keys)?;
        let left = list_ops::minus(&keys, &pk).map_err(|e| Error::axes("merge", e.to_string()))?;
        if list_ops::contains(&left, &into.key()) {
            return Err(Error::axes("merge", format!("axis `{}` is already in `{}`", into.name(), list_text(&keys))));
        }
        let p = MergePlan::new(&keys, &pk);
        let y = merged(self.raw(), &p, pk.len());
        let mut axes: Vec<DynAxis> = self.axes().iter().filter(|a| plan::pos(&pk, &a.key()) == NONE).cloned().collect();
        axes.insert(p.at as usize, into);
        Ok(Self::new(y, axes))
    }

    /// [`Tensor::insert`].
    ///
    /// # Errors
    /// When the axis is already there, or there would be more than 8.
    pub fn insert(&self, axis: impl Into<DynAxis>) -> Result<Self, Error> {
        self.insert_at("insert", axis.into(), self.shape().len())
    }

    /// [`Tensor::insert_front`].
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn insert_front(&self, axis: impl Into<DynAxis>) -> Result<Self, Error> {
        self.insert_at("insert_front", axis.into(), 0)
    }

    fn insert_at(&self, op: &'static str, axis: DynAxis, at: usize) -> Result<Self, Error> {
        self.lacks(op, &axis)?;
        let mut axes = self.axes().to_vec();
        axes.insert(at, axis);
        check_distinct(op, &keys_of(&axes))?;
        Ok(Self::new(raw::insert(self.raw(), at), axes))
    }

    /// [`Tensor::squeeze`].
    ///
    /// # Errors
    /// When there is no such axis, or its size is not 1.
    pub fn squeeze(&self, axis: impl Into<DynAxis>) -> Result<Self, Error> {
        let axis = axis.into();
        let y = self.at("squeeze", &axis, |at| raw::squeeze(self.raw(), at))?;
        self.reduced("squeeze", axis, |_, _| Ok(y))
    }

    /// [`Tensor::expand`].
    ///
    /// # Errors
    /// When there is no such axis, or its size is not 1.
    pub fn expand(&self, axis: impl Into<DynAxis>, size: usize) -> Result<Self, Error> {
        Ok(self.with_raw(self.at("expand", &axis.into(), |at| raw::expand(self.raw(), at, size))?))
    }

    /// [`Tensor::narrow`].
    ///
    /// # Errors
    /// When there is no such axis, or the range leaves it.
    pub fn narrow(&self, axis: impl Into<DynAxis>, range: Range<usize>) -> Result<Self, Error> {
        let len = range.end.saturating_sub(range.start);
        Ok(self.with_raw(self.at("narrow", &axis.into(), |at| raw::narrow(self.raw(), at, range.start, len))?))
    }

    /// [`Tensor::select`].
    ///
    /// # Errors
    /// When there is no such axis, or the position is outside it.
    pub fn select(&self, axis: impl Into<DynAxis>, index: isize) -> Result<Self, Error> {
        let axis = axis.into();
        let y = self.at("select", &axis, |at| raw::select(self.raw(), at, index))?;
        self.reduced("select", axis, |_, _| Ok(y))
    }

    /// [`Tensor::slice`].
    ///
    /// # Errors
    /// When there is no such axis, or the step is 0.
    pub fn slice(
        &self,
        axis: impl Into<DynAxis>,
        start: impl Into<Option<isize>>,
        end: impl Into<Option<isize>>,
        step: isize,
    ) -> Result<Self, Error> {
        let (s, e) = (start.into(), end.into());
        Ok(self.with_raw(self.at("slice", &axis.into(), |at| raw::slice(self.raw(), at, s, e, step))?))
    }

    /// [`Tensor::flip`].
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn flip(&self, axis: impl Into<DynAxis>) -> Result<Self, Error> {
        Ok(self.with_raw(raw::flip(self.raw(), self.position("flip", &axis.into())?)))
    }

    /// [`Tensor::diagonal`].
    ///
    /// # Errors
    /// When `a` or `b` is missing, both are one axis, or `into` is already there.
    pub fn diagonal(
        &self,
        a: impl Into<DynAxis>,
        b: impl Into<DynAxis>,
        into: impl Into<DynAxis>,
    ) -> Result<Self, Error> {
        let (a, b, into) = (a.into(), b.into(), into.into());
        let (i, j) = (self.position("diagonal", &a)?, self.position("diagonal", &b)?);
        if i == j {
            return Err(Error::axes("diagonal", format!("axis `{}` appears twice in `({0}, {0})`", a.name())));
        }
        let mut axes: Vec<DynAxis> =
            self.axes().iter().enumerate().filter(|(n, _)| *n != i && *n != j).map(|(_, a)| a.clone()).collect();
        axes.push(into);
        check_distinct("diagonal", &keys_of(&axes))?;
        Ok(Self::new(raw::diagonal(self.raw(), i, j), axes))
    }

    /// [`Tensor::reshape`].
    ///
    /// # Errors
    /// When the number of elements differs, or an axis is named twice.
    pub fn reshape(&self, axes: &[&str], dims: &[usize]) -> Result<Self, Error> {
        let axes: Vec<DynAxis> = axes.iter().map(|&a| a.into()).collect();
        check_distinct("reshape", &keys_of(&axes))?;
        if axes.len() != dims.len() {
            return Err(Error::axes(
                "reshape",
                format!("{} axes need {} sizes, not {}", axes.len(), axes.len(), dims.len()),
            ));
        }
        Ok(Self::new(raw::reshape(self.raw(), dims)?, axes))
    }

    /// [`Tensor::flatten`].
    ///
    /// # Errors
    /// None.
    pub fn flatten(&self, into: impl Into<DynAxis>) -> Result<Self, Error> {
        Ok(Self::new(raw::reshape(self.raw(), &[self.len()])?, [into.into()]))
    }
}
