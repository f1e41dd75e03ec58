//! Tensors by formula: number ranges, the identity, bands, one-hot rows.

use crate::DynTensor;
use crate::dtype::{DType, Float, Number, bf16, f16};
use crate::dyn_tensor::{DynAxis, check_distinct, keys_of};
use crate::error::Error;
use crate::raw::{RawTensor, cast};
use crate::tensor::{Tensor, sizes, wrap};
use forge_axes::{Axes, Axis, Distinct, Lacks, Push, SizeArg};
use forge_macros::fallible;

/// Numbers that step from one to another.
pub trait Step: Number {
    /// How many numbers `start, start + step, ..` are before `end`; why there is no such range otherwise.
    #[doc(hidden)]
    fn count(start: Self, end: Self, step: Self) -> Result<usize, &'static str>;
    /// `start + i * step`.
    #[doc(hidden)]
    fn nth(start: Self, step: Self, i: usize) -> Self;
}

fn float_count(start: f64, end: f64, step: f64) -> Result<usize, &'static str> {
    if !(start.is_finite() && end.is_finite() && step.is_finite()) {
        return Err("is not finite");
    }
    if step == 0.0 {
        return Err("has a step of zero");
    }
    let n = ((end - start) / step).ceil();
    if n >= (1u64 << 48) as f64 { Err("has too many numbers") } else { Ok(n.max(0.0) as usize) }
}

macro_rules! step_float {
    ($($t:ty, $to:expr, $from:expr;)*) => {$(
        impl Step for $t {
            fn count(start: Self, end: Self, step: Self) -> Result<usize, &'static str> {
                float_count($to(start), $to(end), $to(step))
            }
            fn nth(start: Self, step: Self, i: usize) -> Self {
                $from($to(start) + i as f64 * $to(step))
            }
        }
    )*};
}
step_float! {
    f32, f64::from, |v: f64| v as f32;
    f64, |v: f64| v, |v: f64| v;
    f16, f64::from, f16::from_f64;
    bf16, f64::from, bf16::from_f64;
}

macro_rules! step_int {
    ($($t:ty)*) => {$(
        impl Step for $t {
            fn count(start: Self, end: Self, step: Self) -> Result<usize, &'static str> {
                let (start, end, step) = (i128::from(start), i128::from(end), i128::from(step));
                if step == 0 {
                    return Err("has a step of zero");
                }
                let span = if step > 0 { end - start } else { start - end };
                let n = (span.max(0) + step.abs() - 1) / step.abs();
                if n >= 1 << 48 { Err("has too many numbers") } else { Ok(n as usize) }
            }
            fn nth(start: Self, step: Self, i: usize) -> Self {
                (i128::from(start) + i as i128 * i128::from(step)) as Self
            }
        }
    )*};
}
step_int!(i8 i16 i32 i64 u8 u16);

impl<A: Axis, D: Step> Tensor<A, D> {
    /// `start, start + step, ..` before `end`; element `i` is `start + i * step` (of floats: in f64, rounded once). A
    /// range that leads away from `end` is empty.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Seq }
    /// assert_eq!(Tensor::<Seq>::arange(1.0, 2.0, 0.25).to_vec(), [1.0, 1.25, 1.5, 1.75]);
    /// assert_eq!(Tensor::<Seq, i64>::arange(5, 0, -2).to_vec(), [5, 3, 1]);
    /// ```
    ///
    /// # Errors
    /// When the step is 0, an argument is not finite, or the axis has a fixed size that is not the number of elements.
    #[must_use]
    #[fallible]
    pub fn arange(start: D, end: D, step: D) -> Self {
        let range = || format!("the range from {start:?} to {end:?} by {step:?}");
        let n = D::count(start, end, step).map_err(|why| Error::argument("arange", format!("{} {why}", range())))?;
        super::shape::check_fixed::<A>("arange", n)?;
        Ok(wrap(RawTensor::build(&[n], |out: &mut [D]| {
            out.iter_mut().enumerate().for_each(|(i, o)| *o = D::nth(start, step, i));
        })))
    }
}

impl<A: Axis, D: Float> Tensor<A, D> {
    /// `n` numbers at equal distances from `start` to `end`, both included: the first is `start` (also when `n` is 1), the
    /// last is exactly `end`.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Time }
    /// assert_eq!(Tensor::<Time>::linspace(0.0, 1.0, 5).to_vec(), [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// ```
    #[must_use]
    pub fn linspace(start: f64, end: f64, n: SizeArg<A>) -> Self {
        let (s, _) = sizes::<A>(n);
        let wide = linspace(start, end, s[0]);
        wrap(cast::to(&wide, D::DTYPE).expect("floats convert to floats"))
    }
}

fn linspace(start: f64, end: f64, n: usize) -> RawTensor {
    let step = (end - start) / n.saturating_sub(1).max(1) as f64;
    RawTensor::build(&[n], |out: &mut [f64]| {
        for (i, o) in out.iter_mut().enumerate() {
            *o = if i + 1 == n && n > 1 { end } else { start + i as f64 * step };
        }
    })
}

impl<R: Axis, C: Axis, D: Number> Tensor<(R, C), D>
where
    (R, C): Axes + Distinct,
{
    /// 1 where both positions are equal, else 0.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Row, Col }
    /// assert_eq!(Tensor::<(Row, Col)>::eye((2, 3)).to_vec(), [1., 0., 0., 0., 1., 0.]);
    /// ```
    #[must_use]
    pub fn eye(dims: <(R, C) as Axes>::Dims) -> Self {
        let (s, _) = sizes::<(R, C)>(dims);
        wrap(cast::to(&band(&s[..2], Some(0), Some(0)), D::DTYPE).expect("bools convert to any dtype"))
    }
}

impl<R: Axis, C: Axis> Tensor<(R, C), bool>
where
    (R, C): Axes + Distinct,
{
    /// Whether position (i, j) is at most `lower` below the diagonal (`i - j <= lower`) and at most `upper` above it
    /// (`j - i <= upper`); `None` is no bound, a negative one excludes the diagonal.
    ///
    /// A causal mask over queries and keys is `band_mask(dims, None, 0)`.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Row, Col }
    /// let causal = Tensor::<(Row, Col), bool>::band_mask((2, 2), None, 0);
    /// assert_eq!(causal.to_vec(), [true, false, true, true]);
    /// ```
    #[must_use]
    pub fn band_mask(
        dims: <(R, C) as Axes>::Dims,
        lower: impl Into<Option<i64>>,
        upper: impl Into<Option<i64>>,
    ) -> Self {
        let (s, _) = sizes::<(R, C)>(dims);
        wrap(band(&s[..2], lower.into(), upper.into()))
    }
}

fn band(shape: &[usize], lower: Option<i64>, upper: Option<i64>) -> RawTensor {
    let columns = shape[1];
    RawTensor::build(shape, |out: &mut [bool]| {
        for (i, row) in out.chunks_mut(columns.max(1)).enumerate() {
            for (j, o) in row.iter_mut().enumerate() {
                let below = i as i64 - j as i64;
                *o = lower.is_none_or(|l| below <= l) && upper.is_none_or(|u| -below <= u);
            }
        }
    })
}

impl<X: Axes> Tensor<X, i64> {
    /// 1 at the position that each element names along the new last axis `into` of size `depth`, else 0.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, Class }
    /// let y: Tensor<(Batch, Class)> = Tensor::<Batch, i64>::from([2, 0]).one_hot(Class, 3);
    /// assert_eq!(y.to_vec(), [0., 0., 1., 1., 0., 0.]);
    /// ```
    ///
    /// # Errors
    /// When an element is negative or not below `depth`.
    #[must_use]
    #[fallible]
    pub fn one_hot<C: Axis>(&self, into: C, depth: SizeArg<C>) -> Tensor<Push<X, C>>
    where
        X: Lacks<C>,
    {
        let _ = into;
        let (s, _) = sizes::<C>(depth);
        Ok(wrap(one_hot(self.raw(), C::KEY.name, s[0])?))
    }
}

fn one_hot(x: &RawTensor, axis: &str, depth: usize) -> Result<RawTensor, Error> {
    let op = "one_hot";
    if x.dtype() != DType::I64 {
        return Err(Error::DType { op, expected: "an i64 index", found: x.dtype() });
    }
    let index = x.to_vec::<i64>();
    if let Some(index) = forge_kernels::index::first_outside(&index, depth) {
        return Err(Error::Index { op, axis: axis.to_owned(), index, size: depth });
    }
    let mut shape = x.shape().to_vec();
    shape.push(depth);
    if shape.iter().try_fold(4usize, |n, &d| n.checked_mul(d)).is_none_or(|n| n > isize::MAX as usize / 2) {
        return Err(Error::argument(op, format!("a depth of {depth} exceeds the address space")));
    }
    Ok(RawTensor::build(&shape, |out: &mut [f32]| {
        out.fill(0.0);
        for (row, &i) in out.chunks_mut(depth.max(1)).zip(&index) {
            row[i as usize] = 1.0;
        }
    }))
}

impl DynTensor {
    /// [`Tensor::arange`] of any number type.
    ///
    /// # Errors
    /// When the step is 0 or an argument is not finite.
    pub fn arange<D: Step>(axis: impl Into<DynAxis>, start: D, end: D, step: D) -> Result<Self, Error> {
        let why = |why| Error::argument("arange", format!("the range from {start:?} to {end:?} by {step:?} {why}"));
        let n = D::count(start, end, step).map_err(why)?;
        let raw = RawTensor::build(&[n], |out: &mut [D]| {
            out.iter_mut().enumerate().for_each(|(i, o)| *o = D::nth(start, step, i));
        });
        Ok(Self::new(raw, [axis.into()]))
    }

    /// [`Tensor::linspace`] of f64; convert it with [`Self::to`].
    #[must_use]
    pub fn linspace(axis: impl Into<DynAxis>, start: f64, end: f64, n: usize) -> Self {
        Self::new(linspace(start, end, n), [axis.into()])
    }

    /// [`Tensor::eye`].
    ///
    /// # Errors
    /// When both axes have one name.
    pub fn eye(axes: [&str; 2], shape: [usize; 2], dtype: DType) -> Result<Self, Error> {
        let axes = super::construct::named("eye", &axes, &shape)?;
        Ok(Self::new(cast::to(&band(&shape, Some(0), Some(0)), dtype)?, axes))
    }

    /// [`Tensor::band_mask`].
    ///
    /// # Errors
    /// When both axes have one name.
    pub fn band_mask(
        axes: [&str; 2],
        shape: [usize; 2],
        lower: impl Into<Option<i64>>,
        upper: impl Into<Option<i64>>,
    ) -> Result<Self, Error> {
        let axes = super::construct::named("band_mask", &axes, &shape)?;
        Ok(Self::new(band(&shape, lower.into(), upper.into()), axes))
    }

    /// [`Tensor::one_hot`].
    ///
    /// # Errors
    /// When the axis is already there, the elements are not i64, or one is not below `depth`.
    pub fn one_hot(&self, into: impl Into<DynAxis>, depth: usize) -> Result<Self, Error> {
        let into = into.into();
        self.lacks("one_hot", &into)?;
        let y = one_hot(self.raw(), into.name(), depth)?;
        let axes: Vec<DynAxis> = self.axes().iter().cloned().chain([into]).collect();
        check_distinct("one_hot", &keys_of(&axes))?;
        Ok(Self::new(y, axes))
    }
}
