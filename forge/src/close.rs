//! [`assert_close!`](crate::assert_close): comparing tensors in tests.

use crate::DynTensor;
use crate::dtype::Element;
use crate::raw::{RawTensor, by_dtype};
use crate::tensor::Tensor;
use forge_axes::Axes;
use forge_kernels::cast::CastFrom;
use std::fmt::Write;

/// Asserts that two tensors have the same axes and sizes and elements that are close: `|a - b| <= atol + rtol |b|`. NaN is
/// close to NaN, an infinity to itself.
///
/// One tolerance stands for both; without any it is `1e-5`. Typed and erased tensors compare with each other, by the
/// names of their axes, and dtypes may differ. The message names the first element that differs.
///
/// ```
/// use forge::prelude::*;
/// use forge::assert_close;
/// axes! { Batch, In }
/// let x = Tensor::<(Batch, In)>::ones((2, 3));
/// assert_close!(x, x.scale(1.000_001));
/// assert_close!(x, x.scale(1.01), 0.01);
/// assert_close!(x, x.scale(1.01), rtol = 0.0, atol = 0.02);
/// ```
///
/// ```should_panic
/// # use forge::prelude::*;
/// # use forge::assert_close;
/// # axes! { Batch, In }
/// let a = Tensor::<(Batch, In)>::from([[1., 2.], [3., 4.]]);
/// let b = Tensor::<(Batch, In)>::from([[1., 2.], [3., 5.]]);
/// // panics: element (Batch 1, In 1) is 4 on the left and 5 on the right ...
/// assert_close!(a, b);
/// ```
#[macro_export]
macro_rules! assert_close {
    ($left:expr, $right:expr $(,)?) => {
        $crate::assert_close!($left, $right, 1e-5)
    };
    ($left:expr, $right:expr, rtol = $rtol:expr, atol = $atol:expr $(,)?) => {
        match (&$left, &$right) {
            (left, right) => $crate::__private::assert_close(left, right, $rtol, $atol),
        }
    };
    ($left:expr, $right:expr, $tolerance:expr $(,)?) => {
        match $tolerance {
            tolerance => $crate::assert_close!($left, $right, rtol = tolerance, atol = tolerance),
        }
    };
}

/// What [`assert_close!`](crate::assert_close) compares.
pub trait Comparable {
    /// The names of the axes and the untyped tensor.
    fn compared(&self) -> (Vec<String>, &RawTensor);
}

impl<X: Axes, D: Element> Comparable for Tensor<X, D> {
    fn compared(&self) -> (Vec<String>, &RawTensor) {
        (X::KEYS.iter().map(|k| k.name.to_owned()).collect(), self.raw())
    }
}

impl Comparable for DynTensor {
    fn compared(&self) -> (Vec<String>, &RawTensor) {
        (self.axes().iter().map(|a| a.name().to_owned()).collect(), self.raw())
    }
}

impl<T: Comparable + ?Sized> Comparable for &T {
    fn compared(&self) -> (Vec<String>, &RawTensor) {
        (**self).compared()
    }
}

fn values(x: &RawTensor) -> Vec<f64> {
    by_dtype!(x.dtype(), T => x.to_vec::<T>().into_iter().map(<f64 as CastFrom<T>>::cast_from).collect())
}

/// Element names and sizes: `(Batch 2, In 3)`.
fn places(names: &[String], at: &[usize]) -> String {
    let mut s = String::from("(");
    for (i, (n, p)) in names.iter().zip(at).enumerate() {
        let _ = write!(s, "{}{n} {p}", if i == 0 { "" } else { ", " });
    }
    s + ")"
}

/// The body of [`assert_close!`](crate::assert_close).
#[track_caller]
pub fn assert_close(left: &impl Comparable, right: &impl Comparable, rtol: f64, atol: f64) {
    let ((ln, l), (rn, r)) = (left.compared(), right.compared());
    if ln != rn || l.shape() != r.shape() {
        panic!("assert_close: the left tensor is {}, the right one {}", places(&ln, l.shape()), places(&rn, r.shape()));
    }
    let (a, b) = (values(l), values(r));
    let allowed = |b: f64| atol + rtol * b.abs();
    let close = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= allowed(b);
    let far: Vec<usize> = (0..a.len()).filter(|&i| !close(a[i], b[i])).collect();
    let Some(&first) = far.first() else { return };
    let mut at = vec![0; ln.len()];
    let mut rest = first;
    for (p, &n) in at.iter_mut().zip(l.shape()).rev() {
        (*p, rest) = (rest % n, rest / n);
    }
    let worst = far.iter().map(|&i| (a[i] - b[i]).abs()).fold(0.0, f64::max);
    panic!(
        "assert_close: element {} is {} on the left and {} on the right; they may differ by {:e}. {} of {} elements \
         differ, by at most {worst:e}",
        places(&ln, &at),
        a[first],
        b[first],
        allowed(b[first]),
        far.len(),
        a.len(),
    );
}
