//! Comparison, logic and selection by a mask, broadcast by name.

use super::arith::subset;
use crate::DynTensor;
use crate::dtype::{Element, Float, Number};
use crate::dyn_tensor::DynAxis;
use crate::error::Error;
use crate::raw::{At, Names, RawTensor, compare as raw};
use crate::tensor::{Tensor, at, names, wrap};
use forge_axes::plan::PointwisePlan;
use forge_axes::{Axes, Axis, Has, Remove, SubsetOf};
use forge_kernels::compare::{CompareOp, LogicOp, TestOp};
use forge_macros::fallible;

/// The plan of `l op r` for tensors whose axes are known at run time.
fn with_plan<T>(
    op: &'static str,
    l: &DynTensor,
    r: &DynTensor,
    f: impl FnOnce(&RawTensor, &PointwisePlan, Names) -> Result<T, Error>,
) -> Result<T, Error> {
    let (lk, rk) = (l.keys(), r.keys());
    subset(op, &rk, &lk)?;
    f(r.raw(), &PointwisePlan::new(&lk, &rk), Names { lhs: &lk, rhs: &rk })
}

macro_rules! compare {
    ($($(#[$doc:meta])* $name:ident $scalar:ident $op:ident;)*) => {
        impl<X: Axes, D: Element> Tensor<X, D> {
            $(
                $(#[$doc])*
                ///
                /// The right operand's axes must be among the left's, in any order; it is repeated along the others.
                ///
                /// # Errors
                /// When a shared axis has two sizes.
                #[fallible]
                pub fn $name<R: Axes + SubsetOf<X>>(&self, rhs: &Tensor<R, D>) -> Tensor<X, bool> {
                    let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
                    Ok(wrap(raw::compare(CompareOp::$op, self.raw(), rhs.raw(), plan, names::<X, R>())?))
                }
            )*
        }
        impl<X: Axes, D: Number> Tensor<X, D> {
            $(
                #[doc = concat!("[`Self::", stringify!($name), "`] with one number: rounded to the element type first if that is a float, compared exactly if it is an integer.")]
                #[fallible]
                pub fn $scalar(&self, s: f64) -> Tensor<X, bool> {
                    Ok(wrap(raw::compare_scalar(CompareOp::$op, self.raw(), s)?))
                }
            )*
        }
        impl DynTensor {
            $(
                #[doc = concat!("[`Tensor::", stringify!($name), "`].")]
                ///
                /// # Errors
                /// When the dtypes differ, `rhs` has an axis that `self` lacks, or a shared axis has two sizes.
                pub fn $name(&self, rhs: &Self) -> Result<Self, Error> {
                    with_plan(stringify!($name), self, rhs, |r, plan, names| {
                        Ok(self.with_raw(raw::compare(CompareOp::$op, self.raw(), r, plan, names)?))
                    })
                }

                #[doc = concat!("[`Tensor::", stringify!($scalar), "`].")]
                ///
                /// # Errors
                /// When the elements are bools.
                pub fn $scalar(&self, s: f64) -> Result<Self, Error> {
                    Ok(self.with_raw(raw::compare_scalar(CompareOp::$op, self.raw(), s)?))
                }
            )*
        }
    };
}
compare! {
    /// Where the two are equal; NaN equals nothing.
    eq eq_scalar Eq;
    /// Where the two differ; NaN differs from everything.
    ne ne_scalar Ne;
    /// Where `self` is less; false with NaN.
    lt lt_scalar Lt;
    /// Where `self` is less or equal; false with NaN.
    le le_scalar Le;
    /// Where `self` is greater; false with NaN.
    gt gt_scalar Gt;
    /// Where `self` is greater or equal; false with NaN.
    ge ge_scalar Ge;
}

macro_rules! logic {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<X: Axes, D: Element> Tensor<X, D> {
            $(
                $(#[$doc])*
                ///
                /// Numbers hold when they are not 0; NaN holds. The right operand's axes must be among the left's.
                ///
                /// # Errors
                /// When a shared axis has two sizes.
                #[fallible]
                pub fn $name<R: Axes + SubsetOf<X>, E: Element>(&self, rhs: &Tensor<R, E>) -> Tensor<X, bool> {
                    let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
                    Ok(wrap(raw::logic(LogicOp::$op, self.raw(), rhs.raw(), plan, names::<X, R>())?))
                }
            )*
        }
        impl DynTensor {
            $(
                #[doc = concat!("[`Tensor::", stringify!($name), "`].")]
                ///
                /// # Errors
                /// When `rhs` has an axis that `self` lacks, or a shared axis has two sizes.
                pub fn $name(&self, rhs: &Self) -> Result<Self, Error> {
                    with_plan(stringify!($name), self, rhs, |r, plan, names| {
                        Ok(self.with_raw(raw::logic(LogicOp::$op, self.raw(), r, plan, names)?))
                    })
                }
            )*
        }
    };
}
logic! {
    /// Where both hold; on bools also `&a & &b`.
    logical_and And;
    /// Where either holds; on bools also `&a | &b`.
    logical_or Or;
    /// Where exactly one holds; on bools also `&a ^ &b`.
    logical_xor Xor;
}

impl<X: Axes, D: Element> Tensor<X, D> {
    /// Where an element does not hold (is 0); on bools also `!&a`.
    #[fallible]
    pub fn logical_not(&self) -> Tensor<X, bool> {
        Ok(wrap(raw::logical_not(self.raw())?))
    }

    /// `self` where `mask` holds, else `other`. Both are broadcast to `self`'s axes by name.
    ///
    /// What is not selected leaves no trace, in the value or in the gradient: a NaN there is harmless.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, Seq }
    /// let x = Tensor::<(Batch, Seq)>::from_vec((2, 2), vec![1., 2., 3., f32::NAN]);
    /// let known = !&x.isnan();
    /// assert_eq!(x.where_(&known, &Tensor::scalar(0.0)).to_vec(), [1., 2., 3., 0.]);
    /// ```
    ///
    /// # Errors
    /// When a shared axis has two sizes.
    #[fallible]
    pub fn where_<M, R, E>(&self, mask: &Tensor<M, E>, other: &Tensor<R, D>) -> Self
    where
        M: Axes + SubsetOf<X>,
        R: Axes + SubsetOf<X>,
        E: Element,
    {
        let (mp, op) = const { (&PointwisePlan::new(X::KEYS, M::KEYS), &PointwisePlan::new(X::KEYS, R::KEYS)) };
        Ok(wrap(raw::where_named(self.raw(), (mask.raw(), mp, names::<X, M>()), (other.raw(), op, names::<X, R>()))?))
    }

    /// `value` where `mask`, broadcast to `self`'s axes by name, holds; else `self`.
    ///
    /// # Errors
    /// When a shared axis has two sizes.
    #[fallible]
    pub fn masked_fill<M: Axes + SubsetOf<X>, E: Element>(&self, mask: &Tensor<M, E>, value: f64) -> Self {
        let plan = const { &PointwisePlan::new(X::KEYS, M::KEYS) };
        Ok(wrap(raw::masked_fill(self.raw(), mask.raw(), plan, names::<X, M>(), value)?))
    }

    /// A band of the matrices in the axes `row` and `col`: elements with `i - j <= lower` and `j - i <= upper`, for
    /// positions `i` on `row` and `j` on `col`; the others become 0. `None` is no limit.
    ///
    /// Elements are selected, not multiplied: a NaN outside the band is gone.
    #[fallible]
    pub fn band_part<A: Axis, B: Axis>(
        &self,
        row: A,
        col: B,
        lower: impl Into<Option<i64>>,
        upper: impl Into<Option<i64>>,
    ) -> Self
    where
        X: Has<A> + Has<B>,
        Remove<X, A>: Has<B>,
    {
        let _ = (row, col);
        Ok(wrap(raw::band_part(self.raw(), at::<X, A>(), at::<X, B>(), lower.into(), upper.into())?))
    }

    /// The lower triangle of the matrices in the axes `row` and `col`: elements with `j - i <= diagonal`; the others become 0.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Query, Key }
    /// let ones = Tensor::<(Query, Key)>::ones((2, 3));
    /// assert_eq!(ones.tril(Query, Key, 0).to_vec(), [1., 0., 0., 1., 1., 0.]);
    /// ```
    #[fallible]
    pub fn tril<A: Axis, B: Axis>(&self, row: A, col: B, diagonal: i64) -> Self
    where
        X: Has<A> + Has<B>,
        Remove<X, A>: Has<B>,
    {
        let _ = (row, col);
        Ok(wrap(raw::band_part(self.raw(), at::<X, A>(), at::<X, B>(), None, Some(diagonal))?))
    }

    /// The upper triangle of the matrices in the axes `row` and `col`: elements with `j - i >= diagonal`; the others become 0.
    #[fallible]
    pub fn triu<A: Axis, B: Axis>(&self, row: A, col: B, diagonal: i64) -> Self
    where
        X: Has<A> + Has<B>,
        Remove<X, A>: Has<B>,
    {
        let _ = (row, col);
        Ok(wrap(raw::band_part(self.raw(), at::<X, A>(), at::<X, B>(), Some(diagonal.saturating_neg()), None)?))
    }
}

macro_rules! tests {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<X: Axes, D: Float> Tensor<X, D> {
            $(
                $(#[$doc])*
                #[fallible]
                pub fn $name(&self) -> Tensor<X, bool> {
                    Ok(wrap(raw::test(TestOp::$op, self.raw())?))
                }
            )*
        }
        impl DynTensor {
            $(
                #[doc = concat!("[`Tensor::", stringify!($name), "`].")]
                ///
                /// # Errors
                /// When the elements are not floats.
                pub fn $name(&self) -> Result<Self, Error> {
                    Ok(self.with_raw(raw::test(TestOp::$op, self.raw())?))
                }
            )*
        }
    };
}
tests! {
    /// Where elements are NaN.
    isnan Nan;
    /// Where elements are an infinity of either sign.
    isinf Inf;
    /// Where elements are neither infinite nor NaN.
    isfinite Finite;
}

impl DynTensor {
    /// [`Tensor::logical_not`].
    ///
    /// # Errors
    /// None.
    pub fn logical_not(&self) -> Result<Self, Error> {
        Ok(self.with_raw(raw::logical_not(self.raw())?))
    }

    /// [`Tensor::where_`].
    ///
    /// # Errors
    /// When `mask` or `other` has an axis that `self` lacks, a shared axis has two sizes, or the dtypes differ.
    pub fn where_(&self, mask: &Self, other: &Self) -> Result<Self, Error> {
        with_plan("where_", self, mask, |m, mp, mn| {
            with_plan("where_", self, other, |o, op, on| {
                Ok(self.with_raw(raw::where_named(self.raw(), (m, mp, mn), (o, op, on))?))
            })
        })
    }

    /// [`Tensor::masked_fill`].
    ///
    /// # Errors
    /// When `mask` has an axis that `self` lacks, or a shared axis has two sizes.
    pub fn masked_fill(&self, mask: &Self, value: f64) -> Result<Self, Error> {
        with_plan("masked_fill", self, mask, |m, plan, names| {
            Ok(self.with_raw(raw::masked_fill(self.raw(), m, plan, names, value)?))
        })
    }

    /// [`Tensor::band_part`].
    ///
    /// # Errors
    /// When there is no such axis, or both are one.
    pub fn band_part(
        &self,
        row: impl Into<DynAxis>,
        col: impl Into<DynAxis>,
        lower: impl Into<Option<i64>>,
        upper: impl Into<Option<i64>>,
    ) -> Result<Self, Error> {
        let (row, col) = (self.position("band_part", &row.into())?, self.position("band_part", &col.into())?);
        let keys = self.keys();
        let at = |axis| At { axis, keys: &keys };
        Ok(self.with_raw(raw::band_part(self.raw(), at(row), at(col), lower.into(), upper.into())?))
    }

    /// [`Tensor::tril`].
    ///
    /// # Errors
    /// As [`Self::band_part`].
    pub fn tril(&self, row: impl Into<DynAxis>, col: impl Into<DynAxis>, diagonal: i64) -> Result<Self, Error> {
        self.band_part(row, col, None, diagonal)
    }

    /// [`Tensor::triu`].
    ///
    /// # Errors
    /// As [`Self::band_part`].
    pub fn triu(&self, row: impl Into<DynAxis>, col: impl Into<DynAxis>, diagonal: i64) -> Result<Self, Error> {
        self.band_part(row, col, diagonal.saturating_neg(), None)
    }
}
