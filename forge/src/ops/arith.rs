//! Arithmetic: `+ - * /`, their named forms, and the outer forms that grow the result.

use crate::DynTensor;
use crate::dtype::{Dtype, Number};
use crate::dyn_tensor::keys_of;
use crate::error::{Error, raise};
use crate::raw::{Names, RawTensor, arith, shape};
use crate::tensor::{Tensor, names, wrap};
use forge_axes::plan::{OuterPlan, PointwisePlan};
use forge_axes::{Axes, SubsetOf, Union, list_ops};
use forge_kernels::arith::BinaryOp;
use forge_macros::fallible;

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident $try_name:ident $outer:ident $op:ident;)*) => {
        impl<X: Axes, D: Dtype> Tensor<X, D> {
            $(
                $(#[$doc])*
                ///
                /// The right operand's axes must be among the left's, in any order; it is repeated along the others.
                ///
                /// # Errors
                /// When a shared axis has two sizes.
                #[fallible]
                pub fn $name<R: Axes + SubsetOf<X>>(&self, rhs: &Tensor<R, D>) -> Self where D: Number,
{
                    let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
                    Ok(wrap(arith::binary(BinaryOp::$op, self.raw(), rhs.raw(), plan, names::<X, R>())?))
                }

                $(#[$doc])*
                ///
                /// The result has the left operand's axes, then the right's new ones: an outer product along those.
                ///
                /// # Errors
                /// When a shared axis has two sizes.
                #[fallible]
                pub fn $outer<R: Axes>(&self, rhs: &Tensor<R, D>) -> Tensor<Union<X, R>, D> where D: Number,
{
                    let plan = const { &OuterPlan::new(X::KEYS, R::KEYS, <Union<X, R> as Axes>::KEYS) };
                    Ok(wrap(outer(BinaryOp::$op, self.raw(), rhs.raw(), plan, names::<X, R>())?))
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
                    binary_dyn(BinaryOp::$op, self, rhs)
                }

                #[doc = concat!("[`Tensor::", stringify!($outer), "`].")]
                ///
                /// # Errors
                /// When a shared axis has two sizes, or the result would have more than 8 axes.
                pub fn $outer(&self, rhs: &Self) -> Result<Self, Error> {
                    outer_dyn(BinaryOp::$op, self, rhs)
                }
            )*
        }
    };
}

binary! {
    /// `self + rhs`.
    add try_add outer_add Add;
    /// `self - rhs`.
    sub try_sub outer_sub Sub;
    /// `self * rhs`, element by element.
    mul try_mul outer_mul Mul;
    /// `self / rhs`; integers truncate, and refuse a zero divisor.
    div try_div outer_div Div;
    /// The larger of the two; NaN in either propagates; the gradient of an exact tie is split evenly.
    maximum try_maximum outer_maximum Maximum;
    /// The smaller of the two; NaN in either propagates; the gradient of an exact tie is split evenly.
    minimum try_minimum outer_minimum Minimum;
    /// `self` to the power `rhs`, as libm's `pow` (0^0 = 1; a negative base with a fractional exponent is NaN).
    pow try_pow outer_pow Pow;
}

fn outer(op: BinaryOp, l: &RawTensor, r: &RawTensor, plan: &OuterPlan, names: Names) -> Result<RawTensor, Error> {
    let n = plan.rank as usize;
    let name = arith::op_name(op);
    for i in 0..n {
        let (a, b) = (plan.at[0][i], plan.at[1][i]);
        if a != forge_axes::plan::NONE && b != forge_axes::plan::NONE && l.shape()[a as usize] != r.shape()[b as usize]
        {
            return Err(names.mismatch(name, (l, a as usize), (r, b as usize)));
        }
    }
    let l = shape::spread(l, &plan.at[0][..n], r, &plan.at[1][..n]);
    let r = shape::spread(r, &plan.at[1][..n], &l, &identity()[..n]);
    arith::same(op, &l, &r)
}

const fn identity() -> [u8; 16] {
    let mut m = [0; 16];
    let mut i = 0;
    while i < 16 {
        m[i] = i as u8;
        i += 1;
    }
    m
}

fn binary_dyn(op: BinaryOp, l: &DynTensor, r: &DynTensor) -> Result<DynTensor, Error> {
    let (lk, rk) = (l.keys(), r.keys());
    let name = arith::op_name(op);
    subset(name, &rk, &lk)?;
    let plan = PointwisePlan::new(&lk, &rk);
    Ok(l.with_raw(arith::binary(op, l.raw(), r.raw(), &plan, Names { lhs: &lk, rhs: &rk })?))
}

/// The error when `r` has an axis that `l` lacks, in the words of the typed form.
pub(crate) fn subset(op: &'static str, r: &[forge_axes::Key], l: &[forge_axes::Key]) -> Result<(), Error> {
    match list_ops::missing(r, l) {
        None => Ok(()),
        Some(k) => Err(Error::axes(op, format!("axis `{}` is not in `{}`", k.name, crate::dyn_tensor::list_text(l)))),
    }
}

fn outer_dyn(op: BinaryOp, l: &DynTensor, r: &DynTensor) -> Result<DynTensor, Error> {
    let (lk, rk) = (keys_of(l.axes()), keys_of(r.axes()));
    let out = list_ops::union(&lk, &rk).map_err(|e| Error::axes(arith::op_name(op), e.to_string()))?;
    crate::dyn_tensor::check_distinct(arith::op_name(op), out.as_slice())?;
    let plan = OuterPlan::new(&lk, &rk, out.as_slice());
    let raw = outer(op, l.raw(), r.raw(), &plan, Names { lhs: &lk, rhs: &rk })?;
    Ok(l.renamed(raw, out.as_slice(), &[r.axes()]))
}

macro_rules! scalar {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<X: Axes, D: Dtype> Tensor<X, D> {
            $(
                $(#[$doc])*
                #[fallible]
                pub fn $name(&self, s: f64) -> Self where D: Number,
{
                    Ok(wrap(arith::scalar(BinaryOp::$op, self.raw(), s)?))
                }
            )*
        }
        impl DynTensor {
            $(
                #[doc = concat!("[`Tensor::", stringify!($name), "`].")]
                ///
                /// # Errors
                /// When the dtype has no arithmetic.
                pub fn $name(&self, s: f64) -> Result<Self, Error> {
                    Ok(self.with_raw(arith::scalar(BinaryOp::$op, self.raw(), s)?))
                }
            )*
        }
    };
}
scalar! {
    /// Every element plus `s`.
    add_scalar Add;
    /// Every element minus `s`.
    sub_scalar Sub;
    /// Every element times `s`.
    scale Mul;
    /// Every element divided by `s`.
    div_scalar Div;
    /// Every element to the power `s`.
    pow_scalar Pow;
    /// Every element, or `s` where that is larger.
    clamp_min Maximum;
    /// Every element, or `s` where that is smaller.
    clamp_max Minimum;
}

/// Numbers that stand on one side of an operator: `x * 2.0`.
///
/// Written for each element type, so that a literal takes the tensor's own type.
pub trait Arith: Number {
    /// The number as f64.
    fn as_f64(self) -> f64;
}

macro_rules! arith {
    ($($t:ty)*) => {$(
        impl Arith for $t {
            #[inline]
            fn as_f64(self) -> f64 { self as f64 }
        }
        scalar_left!($t, Add add Add, Mul mul Mul);
    )*};
}
macro_rules! scalar_left {
    ($t:ty, $($T:ident $m:ident $op:ident),*) => {$(
        impl<X: Axes> std::ops::$T<&Tensor<X, $t>> for $t {
            type Output = Tensor<X, $t>;
            #[track_caller]
            fn $m(self, r: &Tensor<X, $t>) -> Self::Output {
                match arith::scalar(BinaryOp::$op, r.raw(), self as f64) {
                    Ok(raw) => wrap(raw),
                    Err(e) => raise(e),
                }
            }
        }
        impl<X: Axes> std::ops::$T<Tensor<X, $t>> for $t {
            type Output = Tensor<X, $t>;
            #[track_caller]
            fn $m(self, r: Tensor<X, $t>) -> Self::Output {
                match arith::scalar_owned(BinaryOp::$op, r.into_raw(), self as f64) {
                    Ok(raw) => wrap(raw),
                    Err(e) => raise(e),
                }
            }
        }
    )*};
}
arith!(f32 f64 i8 i16 i32 i64 u8 u16);

/// `&a + &b`, `a + &b` (reusing `a`'s memory), `a + b`, `&a + 2.0`, `a + 2.0`.
macro_rules! operator {
    ($($T:ident $m:ident $op:ident;)*) => {$(
        impl<X: Axes, D: Number, R: Axes + SubsetOf<X>> std::ops::$T<&Tensor<R, D>> for &Tensor<X, D> {
            type Output = Tensor<X, D>;
            #[track_caller]
            #[inline]
            fn $m(self, r: &Tensor<R, D>) -> Tensor<X, D> {
                let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
                match arith::binary(BinaryOp::$op, self.raw(), r.raw(), plan, names::<X, R>()) {
                    Ok(raw) => wrap(raw),
                    Err(e) => raise(e),
                }
            }
        }
        impl<X: Axes, D: Number, R: Axes + SubsetOf<X>> std::ops::$T<Tensor<R, D>> for &Tensor<X, D> {
            type Output = Tensor<X, D>;
            #[track_caller]
            fn $m(self, r: Tensor<R, D>) -> Tensor<X, D> {
                let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
                match arith::binary(BinaryOp::$op, self.raw(), r.raw(), plan, names::<X, R>()) {
                    Ok(raw) => wrap(raw),
                    Err(e) => raise(e),
                }
            }
        }
        impl<X: Axes, D: Number, R: Axes + SubsetOf<X>> std::ops::$T<&Tensor<R, D>> for Tensor<X, D> {
            type Output = Tensor<X, D>;
            #[track_caller]
            fn $m(self, r: &Tensor<R, D>) -> Tensor<X, D> {
                let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
                match arith::binary_owned(BinaryOp::$op, self.into_raw(), r.raw(), plan, names::<X, R>()) {
                    Ok(raw) => wrap(raw),
                    Err(e) => raise(e),
                }
            }
        }
        impl<X: Axes, D: Number, R: Axes + SubsetOf<X>> std::ops::$T<Tensor<R, D>> for Tensor<X, D> {
            type Output = Tensor<X, D>;
            #[track_caller]
            fn $m(self, r: Tensor<R, D>) -> Tensor<X, D> {
                let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
                match arith::binary_owned(BinaryOp::$op, self.into_raw(), r.raw(), plan, names::<X, R>()) {
                    Ok(raw) => wrap(raw),
                    Err(e) => raise(e),
                }
            }
        }
        impl<X: Axes, D: Arith> std::ops::$T<D> for &Tensor<X, D> {
            type Output = Tensor<X, D>;
            #[track_caller]
            fn $m(self, s: D) -> Tensor<X, D> {
                match arith::scalar(BinaryOp::$op, self.raw(), s.as_f64()) {
                    Ok(raw) => wrap(raw),
                    Err(e) => raise(e),
                }
            }
        }
        impl<X: Axes, D: Arith> std::ops::$T<D> for Tensor<X, D> {
            type Output = Tensor<X, D>;
            #[track_caller]
            fn $m(self, s: D) -> Tensor<X, D> {
                match arith::scalar_owned(BinaryOp::$op, self.into_raw(), s.as_f64()) {
                    Ok(raw) => wrap(raw),
                    Err(e) => raise(e),
                }
            }
        }
    )*};
}
operator! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
}

impl<X: Axes, D: Number> std::ops::Neg for &Tensor<X, D> {
    type Output = Tensor<X, D>;
    #[track_caller]
    fn neg(self) -> Tensor<X, D> {
        match arith::neg(self.raw()) {
            Ok(raw) => wrap(raw),
            Err(e) => raise(e),
        }
    }
}

impl<X: Axes, D: Number> std::ops::Neg for Tensor<X, D> {
    type Output = Tensor<X, D>;
    #[track_caller]
    fn neg(self) -> Tensor<X, D> {
        match arith::scalar_owned(BinaryOp::Mul, self.into_raw(), -1.0) {
            Ok(raw) => wrap(raw),
            Err(e) => raise(e),
        }
    }
}
