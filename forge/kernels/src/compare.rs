//! Comparison, logic, tests of floats, and selection by a mask, on dense slices.

use crate::math::Real;
use crate::{Element, multiversion};

/// Which comparison.
#[allow(missing_docs, reason = "the names are the documentation")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Which logical operation.
#[allow(missing_docs, reason = "the names are the documentation")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogicOp {
    And,
    Or,
    Xor,
}

/// Which test of a float.
#[allow(missing_docs, reason = "the names are the documentation")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TestOp {
    Nan,
    Inf,
    Finite,
}

/// A relation as a type, so that loops are compiled for it.
trait Relation<T> {
    fn holds(a: T, b: T) -> bool;
}

macro_rules! relation {
    ($($name:ident $bound:ident |$a:ident, $b:ident| $e:expr;)*) => {$(
        struct $name;
        impl<T: $bound + Copy> Relation<T> for $name {
            #[inline(always)]
            fn holds($a: T, $b: T) -> bool { $e }
        }
    )*};
}
relation! {
    Eq PartialOrd |a, b| a == b;
    Ne PartialOrd |a, b| a != b;
    Lt PartialOrd |a, b| a < b;
    Le PartialOrd |a, b| a <= b;
    Gt PartialOrd |a, b| a > b;
    Ge PartialOrd |a, b| a >= b;
    IsNan Real |a, _b| a.is_nan();
    IsInf Real |a, _b| !a.is_finite() & !a.is_nan();
    IsFinite Real |a, _b| a.is_finite();
}
macro_rules! logic {
    ($($name:ident |$a:ident, $b:ident| $e:expr;)*) => {$(
        struct $name;
        impl Relation<bool> for $name {
            #[inline(always)]
            fn holds($a: bool, $b: bool) -> bool { $e }
        }
    )*};
}
logic! {
    And |a, b| a & b;
    Or |a, b| a | b;
    Xor |a, b| a ^ b;
}

multiversion! {
    if T::FLOAT;
    fn slices<T: Element, R: Relation<T>>(out: &mut [bool], a: &[T], b: &[T]) {
        for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *o = R::holds(a, b);
        }
    }
}
multiversion! {
    if T::FLOAT;
    fn slice_scalar<T: Element, R: Relation<T>>(out: &mut [bool], a: &[T], s: T) {
        for (o, &a) in out.iter_mut().zip(a) {
            *o = R::holds(a, s);
        }
    }
}

macro_rules! by_op {
    ($op:expr, $O:ident => $body:expr) => {
        match $op {
            CompareOp::Eq => {
                type $O = Eq;
                $body
            }
            CompareOp::Ne => {
                type $O = Ne;
                $body
            }
            CompareOp::Lt => {
                type $O = Lt;
                $body
            }
            CompareOp::Le => {
                type $O = Le;
                $body
            }
            CompareOp::Gt => {
                type $O = Gt;
                $body
            }
            CompareOp::Ge => {
                type $O = Ge;
                $body
            }
        }
    };
}

/// `out[i] = a[i] op b[i]`; with NaN every comparison but `Ne` is false.
pub fn compare<T: Element + PartialOrd>(op: CompareOp, out: &mut [bool], a: &[T], b: &[T]) {
    by_op!(op, O => slices::<T, O>(out, a, b));
}

/// `out[i] = a[i] op s`.
pub fn compare_scalar<T: Element + PartialOrd>(op: CompareOp, out: &mut [bool], a: &[T], s: T) {
    by_op!(op, O => slice_scalar::<T, O>(out, a, s));
}

/// `out[i] = a[i] op b[i]`.
pub fn logic(op: LogicOp, out: &mut [bool], a: &[bool], b: &[bool]) {
    match op {
        LogicOp::And => slices::<bool, And>(out, a, b),
        LogicOp::Or => slices::<bool, Or>(out, a, b),
        LogicOp::Xor => slices::<bool, Xor>(out, a, b),
    }
}

/// `out[i] = op(x[i])`.
pub fn test<T: Real>(op: TestOp, out: &mut [bool], x: &[T]) {
    match op {
        TestOp::Nan => slice_scalar::<T, IsNan>(out, x, T::ZERO),
        TestOp::Inf => slice_scalar::<T, IsInf>(out, x, T::ZERO),
        TestOp::Finite => slice_scalar::<T, IsFinite>(out, x, T::ZERO),
    }
}

multiversion! {
    if T::FLOAT;
    /// `out[i] = a[i]` where `mask[i]`, else `b[i]`.
    pub fn select<T: Element>(out: &mut [T], mask: &[bool], a: &[T], b: &[T]) {
        for (((o, &m), &a), &b) in out.iter_mut().zip(mask).zip(a).zip(b) {
            *o = if m { a } else { b };
        }
    }
}
multiversion! {
    /// `out[i] = value` where `mask[i]`, else `x[i]`.
    pub fn fill<T: Element>(out: &mut [T], mask: &[bool], x: &[T], value: T) {
        for ((o, &m), &x) in out.iter_mut().zip(mask).zip(x) {
            *o = if m { value } else { x };
        }
    }
}
multiversion! {
    /// Row `i` of a band: `out[j]` holds where `i - j <= lower` and `j - i <= upper`.
    pub fn band_row(out: &mut [bool], i: i64, lower: i64, upper: i64) {
        for (j, o) in out.iter_mut().enumerate() {
            let d = j as i64 - i;
            *o = (-d <= lower) & (d <= upper);
        }
    }
}
