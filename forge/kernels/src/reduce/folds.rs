//! The reductions.

use super::fold::{Fold, fold, row};
use crate::arith::Num;
use crate::dtype::{Element, bf16, f16};
use crate::elementwise;
use crate::layout::Strided;
use crate::math::Real;
use crate::multiversion;
use std::marker::PhantomData;

/// What sums and products of elements are kept in: f32 for 16-bit floats, i64 (wrapping) for integers and bools, the type
/// itself for f32 and f64.
pub trait Accumulate: Element {
    /// The wider type.
    type Sum: Num;
    /// This value in the wider type.
    fn widen(self) -> Self::Sum;
}

macro_rules! accumulate {
    ($($t:ty => $s:ty),*) => {$(
        impl Accumulate for $t {
            type Sum = $s;
            #[inline(always)]
            fn widen(self) -> $s { <$s>::from(self) }
        }
    )*};
}
accumulate!(f32 => f32, f64 => f64, f16 => f32, bf16 => f32, i8 => i64, i16 => i64, i32 => i64, i64 => i64, u8 => i64, u16 => i64, bool => i64);

/// A number type with a least and a greatest value: the infinities for floats.
pub trait Bounded: Num {
    /// Nothing is below.
    const LEAST: Self;
    /// Nothing is above.
    const GREATEST: Self;
}

macro_rules! bounded {
    ($least:ident $greatest:ident: $($t:ident)*) => {$(
        impl Bounded for $t {
            const LEAST: Self = $t::$least;
            const GREATEST: Self = $t::$greatest;
        }
    )*};
}
bounded!(NEG_INFINITY INFINITY: f32 f64);
bounded!(MIN MAX: i8 i16 i32 i64 u8 u16);

macro_rules! folds {
    ($($(#[$doc:meta])* $name:ident $fold:ident<$T:ident: $bound:ident> $input:ty => $acc:ty, $identity:expr, $wide:expr,
        |$a:ident, $x:ident| $step:expr, |$l:ident, $r:ident| $join:expr;)*) => {$(
        struct $fold<T>(PhantomData<T>);
        impl<$T: $bound> Fold for $fold<$T> {
            type In = $input;
            type Acc = $acc;
            type Cx = ();
            const IDENTITY: $acc = $identity;
            const WIDE: bool = $wide;
            #[inline(always)]
            fn step($a: $acc, $x: $input, (): ()) -> $acc { $step }
            #[inline(always)]
            fn join($l: $acc, $r: $acc) -> $acc { $join }
        }
        $(#[$doc])*
        ///
        /// `x` is reduced over its axes from position `kept` on; `out` is dense in the order of the kept axes.
        pub fn $name<$T: $bound>(out: &mut [$acc], x: &Strided<$input>, kept: usize) {
            // Units take no memory.
            fold::<$fold<$T>>(out, x, kept, &vec![(); out.len()]);
        }
    )*};
}

folds! {
    /// Sums.
    sum Sum<T: Accumulate> T => T::Sum, T::Sum::ZERO, T::FLOAT, |a, x| a.add(x.widen()), |a, b| a.add(b);
    /// Products.
    prod Prod<T: Accumulate> T => T::Sum, T::Sum::ONE, T::FLOAT, |a, x| a.mul(x.widen()), |a, b| a.mul(b);
    /// Largest elements; NaN wins; of no elements the least value.
    max Max<T: Bounded> T => T, T::LEAST, T::FLOAT, |a, x| a.maximum(x), |a, b| a.maximum(b);
    /// Smallest elements; NaN wins; of no elements the greatest value.
    min Min<T: Bounded> T => T, T::GREATEST, T::FLOAT, |a, x| a.minimum(x), |a, b| a.minimum(b);
    /// Sums of magnitudes.
    sum_abs SumAbs<T: Real> T => T, T::ZERO, true, |a, x| a + x.abs(), |a, b| a + b;
    /// Sums of squares.
    sum_squares SumSquares<T: Real> T => T, T::ZERO, true, |a, x| a + x * x, |a, b| a + b;
    /// Largest magnitudes; NaN wins.
    max_abs MaxAbs<T: Real> T => T, T::ZERO, true, |a, x| a.nan_max(x.abs()), |a, b| a.nan_max(b);
}

/// The extremum of a dense row, for use inside vectorised loops.
#[inline(always)]
pub(super) fn extremum_row<const MAX: bool, T: Bounded>(x: &[T]) -> T {
    if MAX { row::<Max<T>>(x, ()) } else { row::<Min<T>>(x, ()) }
}

struct Any;
impl Fold for Any {
    type In = bool;
    type Acc = bool;
    type Cx = ();
    const IDENTITY: bool = false;
    const WIDE: bool = false;
    #[inline(always)]
    fn step(a: bool, x: bool, (): ()) -> bool {
        a | x
    }
    #[inline(always)]
    fn join(a: bool, b: bool) -> bool {
        a | b
    }
}
struct All;
impl Fold for All {
    type In = bool;
    type Acc = bool;
    type Cx = ();
    const IDENTITY: bool = true;
    const WIDE: bool = false;
    #[inline(always)]
    fn step(a: bool, x: bool, (): ()) -> bool {
        a & x
    }
    #[inline(always)]
    fn join(a: bool, b: bool) -> bool {
        a & b
    }
}

/// Whether any element holds; of none: no. `x` is reduced over its axes from position `kept` on.
pub fn any(out: &mut [bool], x: &Strided<bool>, kept: usize) {
    fold::<Any>(out, x, kept, &vec![(); out.len()]);
}

/// Whether all elements hold; of none: yes. `x` is reduced over its axes from position `kept` on.
pub fn all(out: &mut [bool], x: &Strided<bool>, kept: usize) {
    fold::<All>(out, x, kept, &vec![(); out.len()]);
}

struct Deviations<T>(PhantomData<T>);
impl<T: Real> Fold for Deviations<T> {
    type In = T;
    type Acc = T;
    type Cx = T;
    const IDENTITY: T = T::ZERO;
    const WIDE: bool = true;
    #[inline(always)]
    fn step(a: T, x: T, mean: T) -> T {
        let d = x - mean;
        a + d * d
    }
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        a + b
    }
}

/// Sums of `(x - mean)^2`, each output with its own mean (dense, as `out`).
pub fn squared_deviations<T: Real>(out: &mut [T], x: &Strided<T>, kept: usize, mean: &[T]) {
    fold::<Deviations<T>>(out, x, kept, mean);
}

struct SumExp<T>(PhantomData<T>);
impl<T: Real> Fold for SumExp<T> {
    type In = T;
    type Acc = T;
    type Cx = T;
    const IDENTITY: T = T::ZERO;
    const WIDE: bool = true;
    #[inline(always)]
    fn step(a: T, x: T, shift: T) -> T {
        a + (x - shift).exp()
    }
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        a + b
    }
}

multiversion! {
    /// `out = shift + ln(out)`.
    fn finish_log<T: Real>(out: &mut [T], shift: &[T]) {
        for (o, &s) in out.iter_mut().zip(shift) {
            *o = s + o.log();
        }
    }
}

/// `ln(sum(e^x))`, shifted by the largest element so that nothing overflows; infinities and NaN as the formula has them.
pub fn log_sum_exp<T: Real + Bounded>(out: &mut [T], x: &Strided<T>, kept: usize) {
    let mut shift = vec![<T as Real>::ZERO; out.len()];
    max(&mut shift, x, kept);
    for s in &mut shift {
        // An infinite shift would make NaN of inf - inf; unshifted, the exponentials are 0, 1 or inf as they should.
        if !s.is_finite() && !Real::is_nan(*s) {
            *s = <T as Real>::ZERO;
        }
    }
    fold::<SumExp<T>>(out, x, kept, &shift);
    elementwise::binary_in_place(out, &Strided::dense(&shift, &[shift.len()]), finish_log);
}
