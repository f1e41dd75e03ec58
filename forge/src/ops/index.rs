//! Selecting and updating positions along an axis, by a list, by an index tensor, or by a mask.
//!
//! | | which positions | result |
//! |---|---|---|
//! | [`gather`](Tensor::gather) | a list, or an index tensor | the index's axes in place of the axis |
//! | [`index_select`](Tensor::index_select) | an index tensor that may share axes | shared axes run together |
//! | [`take_along_axis`](Tensor::take_along_axis) | one for each element | the same axes |
//! | [`masked_select`](Tensor::masked_select) | where a mask holds | one axis in place of the mask's |
//!
//! Positions are never negative; one outside the axis is an error that names it.

use crate::DynTensor;
use crate::dtype::Dtype;
use crate::dyn_tensor::{DynAxis, check_distinct, keys_of};
use crate::error::Error;
use crate::raw::index::{self as raw, SelectPlan};
use crate::raw::{Names, RawTensor, shape};
use crate::tensor::{Tensor, at, names, position, wrap};
use forge_axes::plan::{self, MergePlan};
use forge_axes::{
    Axes, Axis, Distinct, FirstAxis, Has, Key, Lacks, Merge, Minus, PermutationOf, Remove, Replace, Resizable, RoomFor,
    SubsetOf,
};
use forge_macros::fallible;

/// The axes of [`Tensor::index_select`]: those of `X`, with the axes of `I` that are not in the rest of `X` in place of
/// `A`.
pub type Selected<X, A, I> = Replace<X, A, Minus<I, Remove<X, A>>>;

/// Positions along an axis: a slice of `usize` or `i64` (their axis `P` is any one axis), or an i64 tensor with the axes
/// `P`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of positions",
    label = "positions are an i64 tensor `&ids`, or a slice of `usize` or `i64`",
    note = "a tensor of another type is converted by `.to::<i64>()`"
)]
pub trait Indices<P: Axes> {
    /// The positions as an untyped i64 tensor with the axes `P`.
    #[doc(hidden)]
    fn to_raw(&self) -> RawTensor;
}

impl<P: Axes> Indices<P> for &Tensor<P, i64> {
    fn to_raw(&self) -> RawTensor {
        self.raw().clone()
    }
}

/// The positions as a list; one past `i64::MAX` is past any axis, and stays so.
fn list(positions: &[usize]) -> RawTensor {
    RawTensor::build(&[positions.len()], |out: &mut [i64]| {
        for (o, &p) in out.iter_mut().zip(positions) {
            *o = i64::try_from(p).unwrap_or(i64::MAX);
        }
    })
}

macro_rules! host_indices {
    ($($t:ty, $x:ident => $list:expr;)*) => {$(
        impl<A: Axis> Indices<A> for &[$t] {
            fn to_raw(&self) -> RawTensor {
                let $x: &[$t] = self;
                $list
            }
        }
        impl<A: Axis> Indices<A> for &Vec<$t> {
            fn to_raw(&self) -> RawTensor {
                let $x: &[$t] = self;
                $list
            }
        }
        impl<A: Axis, const N: usize> Indices<A> for &[$t; N] {
            fn to_raw(&self) -> RawTensor {
                let $x: &[$t] = *self;
                $list
            }
        }
    )*};
}
host_indices! {
    usize, x => list(x);
    i64, x => RawTensor::build(&[x.len()], |out: &mut [i64]| out.copy_from_slice(x));
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// The positions `index` of `axis`: the axes `into` of the index take its place. `into` may be `axis` itself.
    ///
    /// An embedding is this: rows of a table, chosen by token.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Vocab, Model, Batch, Seq }
    /// let table = Tensor::<(Vocab, Model)>::from([[1., 2.], [3., 4.], [5., 6.]]);
    /// let tokens = Tensor::<(Batch, Seq), i64>::from([[2, 0, 0]]);
    /// let x: Tensor<(Batch, Seq, Model)> = table.gather(Vocab, &tokens, (Batch, Seq));
    /// assert_eq!(x.to_vec(), [5., 6., 1., 2., 1., 2.]);
    /// assert_eq!(table.gather(Vocab, &[1usize], Vocab).to_vec(), [3., 4.]);
    /// ```
    ///
    /// # Errors
    /// When a position is outside the axis, or an axis of `into` has a fixed size that is not the index's.
    #[doc(alias("take"))]
    #[fallible]
    pub fn gather<A: Axis, P: Axes>(&self, axis: A, index: impl Indices<P>, into: P) -> Tensor<Replace<X, A, P>, D>
    where
        X: Has<A> + RoomFor<P, A>,
        P: Distinct,
    {
        let _ = (axis, into);
        let index = index.to_raw();
        for (k, &n) in P::KEYS.iter().zip(index.shape()) {
            super::shape::check_size("gather", k, n)?;
        }
        Ok(wrap(raw::gather("gather", self.raw(), at::<X, A>(), &index)?))
    }

    /// The positions `index` of `axis`, where axes that the index shares with `self` run together, as batch axes do in a
    /// contraction. The index's other axes take the place of `axis`.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, Class }
    /// let scores = Tensor::<(Batch, Class)>::from([[1., 2., 3.], [4., 5., 6.]]);
    /// let labels = Tensor::<Batch, i64>::from([2, 0]);
    /// let of_label: Tensor<Batch> = scores.index_select(Class, &labels);
    /// assert_eq!(of_label.to_vec(), [3., 4.]);
    /// ```
    ///
    /// # Errors
    /// When a position is outside the axis, or a shared axis has two sizes.
    #[fallible]
    pub fn index_select<A: Axis, I: Axes>(&self, axis: A, index: &Tensor<I, i64>) -> Tensor<Selected<X, A, I>, D>
    where
        X: Has<A>,
    {
        let _ = axis;
        let p = const { &SelectPlan::new(X::KEYS, position::<X, A>(), I::KEYS) };
        Ok(wrap(raw::select("index_select", self.raw(), at::<X, A>(), index.raw(), p, names::<X, I>())?))
    }

    /// The elements at the positions `index` of `axis`, one for each place of the index's other axes; along axes of
    /// `self` that the index lacks, whole. The result has the index's size of `axis`.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Row, Col }
    /// let x = Tensor::<(Row, Col)>::from([[1., 2.], [3., 4.]]);
    /// let i = Tensor::<(Row, Col), i64>::from([[1, 0, 0], [0, 1, 1]]);
    /// assert_eq!(x.take_along_axis(Col, &i).to_vec(), [2., 1., 1., 3., 4., 4.]);
    /// ```
    ///
    /// # Errors
    /// When a position is outside the axis, or another axis has two sizes.
    #[fallible]
    pub fn take_along_axis<A: Axis, I: Axes + SubsetOf<X> + Has<A>>(&self, axis: A, index: &Tensor<I, i64>) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        let p = const { &SelectPlan::new(X::KEYS, position::<X, A>(), I::KEYS) };
        Ok(wrap(raw::select("take_along_axis", self.raw(), at::<X, A>(), index.raw(), p, names::<X, I>())?))
    }

    /// `self` with `src` added at the positions `index` of `axis`: the adjoint of [`Self::index_select`], whose result's
    /// axes `src` has, in any order. Repeated positions add up, in row-major order on any number of threads.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Bin, Sample }
    /// let bins = Tensor::<Sample, i64>::from([1, 1, 2]);
    /// let ones = Tensor::<Sample>::ones(3);
    /// assert_eq!(Tensor::<Bin>::zeros(3).scatter_add(Bin, &bins, &ones).to_vec(), [0., 2., 1.]);
    /// ```
    ///
    /// # Errors
    /// When a position is outside the axis, or an axis has two sizes.
    #[fallible]
    pub fn scatter_add<A: Axis, I: Axes, S: Axes + PermutationOf<Selected<X, A, I>>>(
        &self,
        axis: A,
        index: &Tensor<I, i64>,
        src: &Tensor<S, D>,
    ) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        let p = const { &SelectPlan::new(X::KEYS, position::<X, A>(), I::KEYS) };
        let (src, keys) = (source::<Selected<X, A, I>, S>(src.raw()), <Selected<X, A, I> as Axes>::KEYS);
        let op = "scatter_add";
        Ok(wrap(raw::scatter(op, self.raw(), at::<X, A>(), index.raw(), p, names::<X, I>(), &src, keys, false)?))
    }

    /// `self` with `src` written at the positions `index` of `axis`, as [`Self::scatter_add`] adds it. Where several
    /// elements land on one place, the last in row-major order stays, and it alone gets the gradient.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Bin, Sample }
    /// let at = Tensor::<Sample, i64>::from([1, 1, 2]);
    /// let src = Tensor::<Sample>::from([5., 6., 7.]);
    /// assert_eq!(Tensor::<Bin>::zeros(3).scatter(Bin, &at, &src).to_vec(), [0., 6., 7.]);
    /// ```
    ///
    /// # Errors
    /// When a position is outside the axis, or an axis has two sizes.
    #[fallible]
    pub fn scatter<A: Axis, I: Axes, S: Axes + PermutationOf<Selected<X, A, I>>>(
        &self,
        axis: A,
        index: &Tensor<I, i64>,
        src: &Tensor<S, D>,
    ) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        let p = const { &SelectPlan::new(X::KEYS, position::<X, A>(), I::KEYS) };
        let (src, keys) = (source::<Selected<X, A, I>, S>(src.raw()), <Selected<X, A, I> as Axes>::KEYS);
        let op = "scatter";
        Ok(wrap(raw::scatter(op, self.raw(), at::<X, A>(), index.raw(), p, names::<X, I>(), &src, keys, true)?))
    }

    /// `self` with row `j` of `src` along `axis` added to row `rows[j]`; repeated rows add up, in order.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Row, Col }
    /// let x = Tensor::<(Row, Col)>::zeros((3, 1));
    /// let src = Tensor::<(Row, Col)>::from([[1.], [2.]]);
    /// assert_eq!(x.index_add(Row, &[2usize, 2], &src).to_vec(), [0., 0., 3.]);
    /// ```
    ///
    /// # Errors
    /// When a row is outside the axis, there are not as many as `src` has, or another axis has two sizes.
    #[fallible]
    pub fn index_add<A: Axis, S: Axes + PermutationOf<X>>(
        &self,
        axis: A,
        rows: impl Indices<A>,
        src: &Tensor<S, D>,
    ) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        Ok(wrap(raw::index_add(self.raw(), at::<X, A>(), &rows.to_raw(), &source::<X, S>(src.raw()))?))
    }

    /// `self` with row `j` of `src` along `axis` in place of row `rows[j]`.
    ///
    /// # Errors
    /// When a row is named twice or outside the axis, there are not as many as `src` has, or another axis has two sizes.
    #[fallible]
    pub fn set_rows<A: Axis, S: Axes + PermutationOf<X>>(
        &self,
        axis: A,
        rows: impl Indices<A>,
        src: &Tensor<S, D>,
    ) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        Ok(wrap(raw::set_rows(self.raw(), at::<X, A>(), &rows.to_raw(), &source::<X, S>(src.raw()))?))
    }

    /// `self` with zeros in the rows `rows` along `axis`. What stood there leaves no trace, NaN included.
    ///
    /// # Errors
    /// When a row is outside the axis.
    #[fallible]
    pub fn zero_rows<A: Axis>(&self, axis: A, rows: impl Indices<A>) -> Self
    where
        X: Has<A>,
    {
        let _ = axis;
        Ok(wrap(raw::zero_rows(self.raw(), at::<X, A>(), &rows.to_raw())?))
    }

    /// The elements where `mask` holds, in the mask's row-major order, along one axis `into` at the place of the mask's
    /// first; axes that the mask lacks stay. None selected is an axis of size 0.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, In, Picked }
    /// let x = Tensor::<(Batch, In)>::from([[1., 2.], [3., 4.]]);
    /// let rows = Tensor::<Batch, bool>::from([false, true]);
    /// let y: Tensor<(Picked, In)> = x.masked_select(&rows, Picked);
    /// assert_eq!(y.to_vec(), [3., 4.]);
    /// let all = Tensor::<(Batch, In), bool>::from([[true, false], [false, true]]);
    /// assert_eq!(x.masked_select(&all, Picked).to_vec(), [1., 4.]);
    /// ```
    ///
    /// # Errors
    /// When an axis has two sizes.
    #[fallible]
    pub fn masked_select<M: FirstAxis + SubsetOf<X>, A: Resizable>(
        &self,
        mask: &Tensor<M, bool>,
        into: A,
    ) -> Tensor<Merge<X, M, A>, D>
    where
        Minus<X, M>: Lacks<A>,
    {
        let _ = into;
        let p = const { &MergePlan::new(X::KEYS, M::KEYS) };
        Ok(wrap(raw::masked_select(self.raw(), mask.raw(), p, names::<X, M>())?))
    }

    /// `self` with element (row) `k` of `src` along its axis `from` in place of the `k`-th element (row) where `mask`
    /// holds: `src` has the axes of [`Self::masked_select`]'s result, and exactly as many elements.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { In, Picked }
    /// let x = Tensor::<In>::from([1., 2., 3.]);
    /// let mask = Tensor::<In, bool>::from([true, false, true]);
    /// assert_eq!(x.masked_scatter(&mask, &Tensor::from([8., 9.]), Picked).to_vec(), [8., 2., 9.]);
    /// ```
    ///
    /// # Errors
    /// When `src` has another number of elements than the mask selects, or an axis has two sizes.
    #[fallible]
    pub fn masked_scatter<M: FirstAxis + SubsetOf<X>, A: Resizable>(
        &self,
        mask: &Tensor<M, bool>,
        src: &Tensor<Merge<X, M, A>, D>,
        from: A,
    ) -> Self
    where
        Minus<X, M>: Lacks<A>,
    {
        let _ = from;
        let p = const { &MergePlan::new(X::KEYS, M::KEYS) };
        let keys = <Merge<X, M, A> as Axes>::KEYS;
        Ok(wrap(raw::masked_scatter(self.raw(), mask.raw(), p, names::<X, M>(), src.raw(), keys)?))
    }
}

/// `src`, whose axes are those of `X` in the order `S`, in the order of `X`.
fn source<X: Axes, S: Axes>(src: &RawTensor) -> RawTensor {
    let order = const { &plan::map(X::KEYS, S::KEYS) };
    shape::permute(src, &order[..X::RANK])
}

/// What an index does to the axes of a [`DynTensor`].
struct DynSelect {
    axis: usize,
    plan: SelectPlan,
    /// Axes of the selected tensor.
    out: Vec<DynAxis>,
}

impl DynTensor {
    fn select_plan(&self, op: &'static str, axis: &DynAxis, index: &Self) -> Result<DynSelect, Error> {
        let axis = self.position(op, axis)?;
        let plan = SelectPlan::new(&self.keys(), axis, &index.keys());
        let mut out = self.axes().to_vec();
        out.splice(axis..=axis, plan.fresh().iter().map(|&j| index.axes()[j as usize].clone()));
        check_distinct(op, &keys_of(&out))?;
        Ok(DynSelect { axis, plan, out })
    }

    fn selected(&self, op: &'static str, axis: &DynAxis, index: &Self) -> Result<Self, Error> {
        let s = self.select_plan(op, axis, index)?;
        let (keys, index_keys) = (self.keys(), index.keys());
        let names = Names { lhs: &keys, rhs: &index_keys };
        let at = crate::raw::At { axis: s.axis, keys: &keys };
        Ok(Self::new(raw::select(op, self.raw(), at, index.raw(), &s.plan, names)?, s.out))
    }

    /// [`Tensor::gather`]; the index's axes take the place of `axis`.
    ///
    /// # Errors
    /// When there is no such axis, one of the index's is already there, or a position is outside the axis.
    pub fn gather(&self, axis: impl Into<DynAxis>, index: &Self) -> Result<Self, Error> {
        let axis = axis.into();
        let p = self.position("gather", &axis)?;
        let mut out = self.axes().to_vec();
        out.splice(p..=p, index.axes().iter().cloned());
        check_distinct("gather", &keys_of(&out))?;
        let y = self.at("gather", &axis, |at| raw::gather("gather", self.raw(), at, index.raw()))?;
        Ok(Self::new(y, out))
    }

    /// [`Tensor::index_select`].
    ///
    /// # Errors
    /// When there is no such axis, a position is outside it, a shared axis has two sizes, or the result would have more
    /// than 8 axes.
    pub fn index_select(&self, axis: impl Into<DynAxis>, index: &Self) -> Result<Self, Error> {
        self.selected("index_select", &axis.into(), index)
    }

    /// [`Tensor::take_along_axis`].
    ///
    /// # Errors
    /// When there is no such axis in either, the index has an axis that `self` lacks, a position is outside the axis, or
    /// another axis has two sizes.
    pub fn take_along_axis(&self, axis: impl Into<DynAxis>, index: &Self) -> Result<Self, Error> {
        let (op, axis) = ("take_along_axis", axis.into());
        index.position(op, &axis)?;
        super::arith::subset(op, &index.keys(), &self.keys())?;
        self.selected(op, &axis, index)
    }

    fn scattered(&self, op: &'static str, axis: &DynAxis, index: &Self, src: &Self, set: bool) -> Result<Self, Error> {
        let s = self.select_plan(op, axis, index)?;
        let (keys, index_keys, want, found) = (self.keys(), index.keys(), keys_of(&s.out), src.keys());
        super::arith::subset(op, &want, &found)?;
        super::arith::subset(op, &found, &want)?;
        let order = plan::map(&want, &found);
        let src = shape::permute(src.raw(), &order[..want.len()]);
        let names = Names { lhs: &keys, rhs: &index_keys };
        let at = crate::raw::At { axis: s.axis, keys: &keys };
        Ok(self.with_raw(raw::scatter(op, self.raw(), at, index.raw(), &s.plan, names, &src, &want, set)?))
    }

    /// [`Tensor::scatter_add`].
    ///
    /// # Errors
    /// When there is no such axis, `src` has other axes than the selection, dtypes differ, a position is outside the axis,
    /// or an axis has two sizes.
    pub fn scatter_add(&self, axis: impl Into<DynAxis>, index: &Self, src: &Self) -> Result<Self, Error> {
        self.scattered("scatter_add", &axis.into(), index, src, false)
    }

    /// [`Tensor::scatter`].
    ///
    /// # Errors
    /// As [`Self::scatter_add`].
    pub fn scatter(&self, axis: impl Into<DynAxis>, index: &Self, src: &Self) -> Result<Self, Error> {
        self.scattered("scatter", &axis.into(), index, src, true)
    }

    /// `rows` as a list: an i64 tensor with one axis.
    fn row_list<'r>(op: &'static str, rows: &'r Self) -> Result<&'r RawTensor, Error> {
        if rows.shape().len() == 1 {
            return Ok(rows.raw());
        }
        Err(Error::axes(op, format!("rows are a list with one axis, not {}", rows.axes_text())))
    }

    /// [`Tensor::index_add`]; `rows` has one axis, of any name.
    ///
    /// # Errors
    /// When there is no such axis, axes or dtypes differ, a row is outside the axis, or sizes differ.
    pub fn index_add(&self, axis: impl Into<DynAxis>, rows: &Self, src: &Self) -> Result<Self, Error> {
        let (op, rows) = ("index_add", Self::row_list("index_add", rows)?);
        let src = self.aligned_like(op, src)?;
        Ok(self.with_raw(self.at(op, &axis.into(), |at| raw::index_add(self.raw(), at, rows, &src))?))
    }

    /// [`Tensor::set_rows`]; `rows` has one axis, of any name.
    ///
    /// # Errors
    /// When there is no such axis, axes or dtypes differ, a row is named twice or outside the axis, or sizes differ.
    pub fn set_rows(&self, axis: impl Into<DynAxis>, rows: &Self, src: &Self) -> Result<Self, Error> {
        let (op, rows) = ("set_rows", Self::row_list("set_rows", rows)?);
        let src = self.aligned_like(op, src)?;
        Ok(self.with_raw(self.at(op, &axis.into(), |at| raw::set_rows(self.raw(), at, rows, &src))?))
    }

    /// [`Tensor::zero_rows`]; `rows` has one axis, of any name.
    ///
    /// # Errors
    /// When there is no such axis, or a row is outside it.
    pub fn zero_rows(&self, axis: impl Into<DynAxis>, rows: &Self) -> Result<Self, Error> {
        let (op, rows) = ("zero_rows", Self::row_list("zero_rows", rows)?);
        Ok(self.with_raw(self.at(op, &axis.into(), |at| raw::zero_rows(self.raw(), at, rows))?))
    }

    /// The plan of joining the mask's axes, and the axes with `into` in their place.
    fn mask_plan(&self, op: &'static str, mask: &Self, into: DynAxis) -> Result<(MergePlan, Vec<DynAxis>), Error> {
        let (keys, mask_keys) = (self.keys(), mask.keys());
        if mask_keys.is_empty() {
            return Err(Error::axes(op, "a mask without axes selects nothing or all; use a condition"));
        }
        super::arith::subset(op, &mask_keys, &keys)?;
        let p = MergePlan::new(&keys, &mask_keys);
        let stays = |a: &&DynAxis| plan::pos(&mask_keys, &a.key()) == plan::NONE;
        let mut axes: Vec<DynAxis> = self.axes().iter().filter(stays).cloned().collect();
        axes.insert(p.at as usize, into);
        check_distinct(op, &keys_of(&axes))?;
        Ok((p, axes))
    }

    /// [`Tensor::masked_select`].
    ///
    /// # Errors
    /// When the mask has an axis that `self` lacks or is not bool, `into` is already there, or an axis has two sizes.
    pub fn masked_select(&self, mask: &Self, into: impl Into<DynAxis>) -> Result<Self, Error> {
        let (p, axes) = self.mask_plan("masked_select", mask, into.into())?;
        let names: (&[Key], &[Key]) = (&self.keys(), &mask.keys());
        let names = Names { lhs: names.0, rhs: names.1 };
        Ok(Self::new(raw::masked_select(self.raw(), mask.raw(), &p, names)?, axes))
    }

    /// [`Tensor::masked_scatter`].
    ///
    /// # Errors
    /// As [`Self::masked_select`], and when `src` has other axes or another size than that gives.
    pub fn masked_scatter(&self, mask: &Self, src: &Self, from: impl Into<DynAxis>) -> Result<Self, Error> {
        let op = "masked_scatter";
        let (p, axes) = self.mask_plan(op, mask, from.into())?;
        let (want, found) = (keys_of(&axes), src.keys());
        super::arith::subset(op, &want, &found)?;
        super::arith::subset(op, &found, &want)?;
        let src = shape::permute(src.raw(), &plan::map(&want, &found)[..want.len()]);
        let (keys, mask_keys) = (self.keys(), mask.keys());
        let names = Names { lhs: &keys, rhs: &mask_keys };
        Ok(self.with_raw(raw::masked_scatter(self.raw(), mask.raw(), &p, names, &src, &want)?))
    }
}
