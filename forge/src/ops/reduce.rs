//! Reductions over axes by name.

use crate::DynTensor;
use crate::dtype::{Dtype, Element, Float, Number, Summable};
use crate::dyn_tensor::{DynAxis, check_distinct, keys_of};
use crate::error::Error;
use crate::raw::reduce::{self as raw, Norm, Over, Standardize};
use crate::raw::{Names, RawTensor};
use crate::tensor::{Tensor, at, names, position, wrap};
use arrayvec::ArrayVec;
use forge_axes::plan::{PointwisePlan, pos};
use forge_axes::{Axes, Axis, Has, Minus, Remove, SubsetOf, list_ops};
use forge_macros::fallible;

/// Positions of the axes `S` in the list `X`, ascending.
pub(crate) fn positions<X: Axes, S: Axes>() -> ArrayVec<usize, 8> {
    let mut v = ArrayVec::<usize, 8>::new();
    for k in S::KEYS {
        let p = pos(X::KEYS, k) as usize;
        if !v.contains(&p) {
            v.push(p);
        }
    }
    v.sort_unstable();
    v
}

/// Positions of all axes.
fn every<X: Axes>() -> Vec<usize> {
    (0..X::RANK).collect()
}

/// One axis or several, known at run time: `"In"`, `&axis`, `["Batch", "In"]`, `&list[..]`.
pub trait AxisNames {
    /// The axes.
    fn axes(self) -> Vec<DynAxis>;
}
macro_rules! one_name {
    ($(($t:ty)),*) => {$(
        impl AxisNames for $t {
            fn axes(self) -> Vec<DynAxis> { vec![self.into()] }
        }
    )*};
}
// (In parentheses: the table of operations takes bare lowercase names for operations.)
one_name!((&str), (&String), (&DynAxis), (DynAxis));
impl<const N: usize> AxisNames for [&str; N] {
    fn axes(self) -> Vec<DynAxis> {
        self.into_iter().map(DynAxis::from).collect()
    }
}
impl<const N: usize> AxisNames for &[&str; N] {
    fn axes(self) -> Vec<DynAxis> {
        self.iter().map(|&a| a.into()).collect()
    }
}
impl AxisNames for &[&str] {
    fn axes(self) -> Vec<DynAxis> {
        self.iter().map(|&a| a.into()).collect()
    }
}
impl AxisNames for &[DynAxis] {
    fn axes(self) -> Vec<DynAxis> {
        self.to_vec()
    }
}

/// Which elements a reduction takes, and what stands where there are none.
///
/// `x.mean_masked(Seq, &mask)` takes a mask as it is; `Masked::new(&mask).empty(0.0)` says more.
#[derive(Debug)]
pub struct Masked<'m, M> {
    mask: &'m M,
    empty: Option<f64>,
}

impl<M> Clone for Masked<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M> Copy for Masked<'_, M> {}

impl<'m, M> Masked<'m, M> {
    /// Takes the elements where `mask`, broadcast by name, holds.
    pub const fn new(mask: &'m M) -> Self {
        Self { mask, empty: None }
    }

    /// The result where the mask leaves no element. (Without it: 0 for a sum, 1 for a product, NaN for a mean, and for a
    /// maximum or minimum the infinity that any element would replace.)
    #[must_use]
    pub const fn empty(self, value: f64) -> Self {
        Self { empty: Some(value), ..self }
    }
}

impl<'m, M> From<&'m M> for Masked<'m, M> {
    fn from(mask: &'m M) -> Self {
        Self::new(mask)
    }
}

/// `name(over)`, `name_all()` in both forms, for reductions that the untyped core does in one call.
macro_rules! reductions {
    ($bound:ident => $out:ty; $($(#[$doc:meta])* $name:ident $all:ident (|$x:ident, $o:ident| $call:expr);)*) => {
        impl<X: Axes, D: Dtype> Tensor<X, D> {
            $(
                $(#[$doc])*
                #[fallible]
                pub fn $name<S: Axes + SubsetOf<X>>(&self, over: S) -> Tensor<Minus<X, S>, $out> where D: $bound,
{
                    let _ = over;
                    let ($x, axes) = (self.raw(), positions::<X, S>());
                    let $o = Over { axes: &axes, keys: X::KEYS };
                    Ok(wrap($call?))
                }

                #[doc = concat!("[`Self::", stringify!($name), "`] of all elements.")]
                #[fallible]
                pub fn $all(&self) -> Tensor<(), $out> where D: $bound,
{
                    let ($x, axes) = (self.raw(), every::<X>());
                    let $o = Over { axes: &axes, keys: X::KEYS };
                    Ok(wrap($call?))
                }
            )*
        }
        impl DynTensor {
            $(
                #[doc = concat!("[`Tensor::", stringify!($name), "`].")]
                ///
                /// # Errors
                /// When there is no such axis, or the operation is not defined for the dtype or for an empty axis of it.
                pub fn $name(&self, over: impl AxisNames) -> Result<Self, Error> {
                    self.reduced(stringify!($name), over, |$x, $o| $call)
                }

                #[doc = concat!("[`Tensor::", stringify!($all), "`].")]
                ///
                /// # Errors
                /// When the operation is not defined for the dtype or for no elements of it.
                pub fn $all(&self) -> Result<Self, Error> {
                    let (axes, keys) = ((0..self.shape().len()).collect::<Vec<_>>(), self.keys());
                    let ($x, $o) = (self.raw(), Over { axes: &axes, keys: &keys });
                    Ok(Self::new($call?, []))
                }
            )*
        }
    };
}

reductions! { Summable => D::Sum;
    /// Sum over the axis (or axes) `over`, which disappear. An empty axis sums to 0.
    ///
    /// Integers and bools are summed in i64 (wrapping), 16-bit floats in f32.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, In }
    /// let x = Tensor::<(Batch, In)>::from_vec((2, 2), vec![1., 2., 3., 4.]);
    /// assert_eq!(x.sum(Batch).to_vec(), [4.0, 6.0]);
    /// assert_eq!(x.sum((Batch, In)).item(), 10.0);
    /// assert_eq!(x.gt_scalar(1.5).sum_all().item(), 3i64);
    /// ```
    sum sum_all (|x, o| raw::sum(x, o.axes));
    /// Product over the axis (or axes) `over`, which disappear. An empty axis gives 1.
    ///
    /// Integers and bools are multiplied in i64 (wrapping), 16-bit floats in f32. The gradient is exact where elements
    /// are 0.
    prod prod_all (|x, o| raw::prod(x, o.axes));
}
reductions! { SummableFloat => D::Sum;
    /// Mean over the axis (or axes) `over`, which disappear. An empty axis gives NaN. 16-bit floats give f32.
    mean mean_all (|x, o| raw::mean(x, o.axes));
}
reductions! { Number => D;
    /// Largest element over the axis (or axes) `over`, which disappear. NaN wins. An empty axis gives -inf, for integers an
    /// error.
    ///
    /// The gradient goes to the first of equal elements (in row-major order of the axes); `torch.amax` splits it.
    max max_all (|x, o| raw::extremum(x, o, true));
    /// Smallest element over the axis (or axes) `over`, which disappear. NaN wins. An empty axis gives inf, for integers an
    /// error.
    ///
    /// The gradient goes to the first of equal elements (in row-major order of the axes); `torch.amin` splits it.
    min min_all (|x, o| raw::extremum(x, o, false));
}
reductions! { Float => D;
    /// `ln(sum(e^x))` over the axis (or axes) `over`, which disappear, without overflow. An empty axis gives -inf.
    logsumexp logsumexp_all (|x, o| raw::logsumexp(x, o.axes));
}
reductions! { Element => bool;
    /// Whether any element along the axis (or axes) `over` holds: numbers hold when they are not 0, NaN holds. Of none: no.
    any any_all (|x, o| raw::any(x, o.axes));
    /// Whether all elements along the axis (or axes) `over` hold: numbers hold when they are not 0, NaN holds. Of none: yes.
    all all_all (|x, o| raw::all(x, o.axes));
}

/// Floats that can be averaged: all of them.
#[diagnostic::on_unimplemented(
    message = "this operation needs floats, not `{Self}`",
    label = "needs a tensor of floats, this one holds `{Self}`",
    note = "convert it first: `.to::<f32>()`"
)]
pub trait SummableFloat: Float + Summable {}
#[diagnostic::do_not_recommend]
impl<D: Float + Summable> SummableFloat for D {}

/// Reductions that take a mask.
macro_rules! masked {
    ($bound:ident => $out:ty; $($(#[$doc:meta])* $name:ident $kind:ident;)*) => {
        impl<X: Axes, D: Dtype> Tensor<X, D> {
            $(
                $(#[$doc])*
                ///
                /// The same bits as filling the masked-out elements with the value that changes nothing and reducing all.
                ///
                /// # Errors
                /// When the mask and the tensor disagree on the size of an axis.
                #[fallible]
                pub fn $name<'m, S, M, E>(&self, over: S, mask: impl Into<Masked<'m, Tensor<M, E>>>) -> Tensor<Minus<X, S>, $out>
                where
                    S: Axes + SubsetOf<X>,
                    M: Axes + SubsetOf<X>,
                    E: Element, D: $bound,
{
                    let _ = over;
                    let (axes, m) = (positions::<X, S>(), mask.into());
                    let plan = const { &PointwisePlan::new(X::KEYS, M::KEYS) };
                    let over = Over { axes: &axes, keys: X::KEYS };
                    Ok(wrap(raw::masked(raw::Masked::$kind, self.raw(), over, (m.mask.raw(), plan, names::<X, M>()), m.empty)?))
                }
            )*
        }
        impl DynTensor {
            $(
                #[doc = concat!("[`Tensor::", stringify!($name), "`].")]
                ///
                /// # Errors
                /// When there is no such axis, the mask has an axis that `self` lacks, or a shared axis has two sizes.
                pub fn $name<'m>(&self, over: impl AxisNames, mask: impl Into<Masked<'m, Self>>) -> Result<Self, Error> {
                    let m = mask.into();
                    let (lk, rk) = (self.keys(), m.mask.keys());
                    super::arith::subset(stringify!($name), &rk, &lk)?;
                    let (plan, names) = (PointwisePlan::new(&lk, &rk), Names { lhs: &lk, rhs: &rk });
                    self.reduced(stringify!($name), over, |x, o| {
                        raw::masked(raw::Masked::$kind, x, o, (m.mask.raw(), &plan, names), m.empty)
                    })
                }
            )*
        }
    };
}
masked! { Summable => D::Sum;
    /// [`Self::sum`] of the elements where the mask, broadcast by name, holds.
    sum_masked Sum;
    /// [`Self::prod`] of the elements where the mask, broadcast by name, holds.
    prod_masked Prod;
}
masked! { SummableFloat => D::Sum;
    /// [`Self::mean`] of the elements where the mask, broadcast by name, holds.
    ///
    /// ```
    /// use forge::prelude::*;
    /// use forge::Masked;
    /// axes! { Batch, Seq }
    /// let x = Tensor::<(Batch, Seq)>::from_vec((2, 2), vec![1., 2., 3., 4.]);
    /// let mask = x.lt_scalar(2.5);
    /// assert_eq!(x.mean_masked(Seq, Masked::new(&mask).empty(0.0)).to_vec(), [1.5, 0.0]);
    /// ```
    mean_masked Mean;
}
masked! { Number => D;
    /// [`Self::max`] of the elements where the mask, broadcast by name, holds.
    max_masked Max;
    /// [`Self::min`] of the elements where the mask, broadcast by name, holds.
    min_masked Min;
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Position of the largest element along `axis`: the first of equal ones; the first NaN where there is one.
    ///
    /// # Errors
    /// When the axis is empty and the result is not.
    #[fallible]
    pub fn argmax<A: Axis>(&self, axis: A) -> Tensor<Remove<X, A>, i64>
    where
        X: Has<A>,
        D: Number,
    {
        let _ = axis;
        Ok(wrap(raw::argmax(self.raw(), Over { axes: &[position::<X, A>()], keys: X::KEYS })?))
    }

    /// Position of the smallest element along `axis`: the first of equal ones; the first NaN where there is one.
    ///
    /// # Errors
    /// When the axis is empty and the result is not.
    #[fallible]
    pub fn argmin<A: Axis>(&self, axis: A) -> Tensor<Remove<X, A>, i64>
    where
        X: Has<A>,
        D: Number,
    {
        let _ = axis;
        Ok(wrap(raw::argmin(self.raw(), Over { axes: &[position::<X, A>()], keys: X::KEYS })?))
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Variance over the axis (or axes) `over`, which disappear: squared distances from the mean, summed and divided by
    /// `n - ddof` (0 for a population, 1 for a sample). NaN when `n <= ddof`.
    #[fallible]
    pub fn variance<S: Axes + SubsetOf<X>>(&self, over: S, ddof: usize) -> Tensor<Minus<X, S>, D>
    where
        D: Float,
    {
        let _ = over;
        Ok(wrap(raw::variance(self.raw(), &positions::<X, S>(), ddof)?))
    }

    /// Norm of the vectors in the axis (or axes) `over`, which disappear.
    ///
    /// ```
    /// use forge::prelude::*;
    /// use forge::Norm;
    /// axes! { Dim }
    /// let v = Tensor::<Dim>::from_vec(2, vec![3., -4.]);
    /// assert_eq!(v.norm(Dim, Norm::L2).item(), 5.0);
    /// assert_eq!(v.norm(Dim, Norm::Inf).item(), 4.0);
    /// ```
    #[fallible]
    pub fn norm<S: Axes + SubsetOf<X>>(&self, over: S, kind: Norm) -> Tensor<Minus<X, S>, D>
    where
        D: Float,
    {
        let _ = over;
        Ok(wrap(raw::norm(self.raw(), &positions::<X, S>(), kind)?))
    }

    /// Norm of all elements.
    #[fallible]
    pub fn norm_all(&self, kind: Norm) -> Tensor<(), D>
    where
        D: Float,
    {
        Ok(wrap(raw::norm(self.raw(), &every::<X>(), kind)?))
    }

    /// `(x - mean) / sqrt(variance + eps)` along `axis`; see [`Standardize`] for the rest.
    ///
    /// # Errors
    /// When more positions are to be valid than the axis has.
    #[fallible]
    pub fn standardize<A: Axis>(&self, axis: A, how: &Standardize) -> Self
    where
        X: Has<A>,
        D: Float,
    {
        let _ = axis;
        Ok(wrap(raw::standardize(self.raw(), at::<X, A>(), how)?))
    }
}

impl DynTensor {
    /// The tensor without the axes `over`, holding what `f` makes of it.
    pub(crate) fn reduced(
        &self,
        op: &'static str,
        over: impl AxisNames,
        f: impl FnOnce(&RawTensor, Over) -> Result<RawTensor, Error>,
    ) -> Result<Self, Error> {
        let over = over.axes();
        let (keys, gone) = (self.keys(), keys_of(&over));
        check_distinct(op, &gone)?;
        let mut axes = over.iter().map(|a| self.position(op, a)).collect::<Result<Vec<_>, _>>()?;
        axes.sort_unstable();
        let raw = f(self.raw(), Over { axes: &axes, keys: &keys })?;
        let left = list_ops::minus(&keys, &gone).map_err(|e| Error::axes(op, e.to_string()))?;
        Ok(self.renamed(raw, &left, &[]))
    }

    /// [`Tensor::argmax`].
    ///
    /// # Errors
    /// When there is no such axis, it is empty, or the elements are bools.
    pub fn argmax(&self, axis: impl Into<DynAxis>) -> Result<Self, Error> {
        self.reduced("argmax", axis.into(), raw::argmax)
    }

    /// [`Tensor::argmin`].
    ///
    /// # Errors
    /// When there is no such axis, it is empty, or the elements are bools.
    pub fn argmin(&self, axis: impl Into<DynAxis>) -> Result<Self, Error> {
        self.reduced("argmin", axis.into(), raw::argmin)
    }

    /// [`Tensor::variance`].
    ///
    /// # Errors
    /// When there is no such axis, or the elements are not floats.
    pub fn variance(&self, over: impl AxisNames, ddof: usize) -> Result<Self, Error> {
        self.reduced("variance", over, |x, o| raw::variance(x, o.axes, ddof))
    }

    /// [`Tensor::norm`].
    ///
    /// # Errors
    /// When there is no such axis, or the elements are not floats.
    pub fn norm(&self, over: impl AxisNames, kind: Norm) -> Result<Self, Error> {
        self.reduced("norm", over, |x, o| raw::norm(x, o.axes, kind))
    }

    /// [`Tensor::norm_all`].
    ///
    /// # Errors
    /// When the elements are not floats.
    pub fn norm_all(&self, kind: Norm) -> Result<Self, Error> {
        Ok(Self::new(raw::norm(self.raw(), &(0..self.shape().len()).collect::<Vec<_>>(), kind)?, []))
    }

    /// [`Tensor::standardize`].
    ///
    /// # Errors
    /// When there is no such axis, more positions are to be valid than it has, or the elements are not floats.
    pub fn standardize(&self, axis: impl Into<DynAxis>, how: &Standardize) -> Result<Self, Error> {
        self.at("standardize", &axis.into(), |at| Ok(self.with_raw(raw::standardize(self.raw(), at, how)?)))
    }
}
