//! Bounds on values, on dense slices.

use crate::arith::Num;
use crate::multiversion;

multiversion! {
    if T::FLOAT;
    /// `out[i] = min(max(x[i], lo), hi)`; NaN stays.
    pub fn clamp<T: Num>(out: &mut [T], x: &[T], lo: T, hi: T) {
        for (o, &x) in out.iter_mut().zip(x) {
            *o = x.maximum(lo).minimum(hi);
        }
    }
}
multiversion! {
    if T::FLOAT;
    /// Whether `lo <= x[i] <= hi`; false for NaN.
    pub fn inside<T: Num>(out: &mut [bool], x: &[T], lo: T, hi: T) {
        for (o, &x) in out.iter_mut().zip(x) {
            *o = (x >= lo) & (x <= hi);
        }
    }
}
