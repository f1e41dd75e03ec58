//! Random tensors: pure functions of a [`Key`] and the place of an element, in row-major order.

use crate::DynTensor;
use crate::dtype::{DType, Differentiable};
use crate::dyn_tensor::DynAxis;
use crate::error::Error;
use crate::raw::RawTensor;
use crate::rng::Key;
use crate::tensor::{Tensor, sizes, wrap};
use forge_axes::{Axes, Axis, Distinct, SizeArg};
use forge_macros::fallible;

impl<X: Axes + Distinct, D: Differentiable> Tensor<X, D> {
    /// Uniform in `0 <= u < 1`.
    ///
    /// ```
    /// use forge::prelude::*;
    /// use forge::rng::Key;
    /// axes! { In }
    /// let x = Tensor::<In>::rand(3, Key::new(1));
    /// assert!(x.to_vec().iter().all(|u| (0.0..1.0).contains(u)));
    /// ```
    #[must_use]
    pub fn rand(dims: X::Dims, key: Key) -> Self {
        Self::uniform(dims, 0.0, 1.0, key)
    }

    /// Uniform in `low <= y < high` (`low` itself where they are equal).
    ///
    /// # Errors
    /// Unless both are finite in the dtype and `low <= high`.
    #[must_use]
    #[fallible]
    pub fn uniform(dims: X::Dims, low: f64, high: f64, key: Key) -> Self {
        let (s, n) = sizes::<X>(dims);
        Ok(wrap(uniform(&s[..n], D::DTYPE, low, high, key)?))
    }

    /// From the normal distribution with mean 0 and standard deviation 1.
    ///
    /// ```
    /// use forge::prelude::*;
    /// use forge::rng::Key;
    /// axes! { Batch, In }
    /// let x = Tensor::<(Batch, In)>::randn((100, 100), Key::new(1));
    /// assert!(x.mean_all().item().abs() < 0.03);
    /// ```
    #[must_use]
    pub fn randn(dims: X::Dims, key: Key) -> Self {
        Self::normal(dims, 0.0, 1.0, key)
    }

    /// From the normal distribution with this mean and standard deviation.
    ///
    /// # Errors
    /// When the standard deviation is negative or NaN.
    #[must_use]
    #[fallible]
    pub fn normal(dims: X::Dims, mean: f64, std: f64, key: Key) -> Self {
        let (s, n) = sizes::<X>(dims);
        Ok(wrap(normal(&s[..n], D::DTYPE, mean, std, key)?))
    }

    /// From the standard Gumbel distribution: the largest of `logits + gumbel` is a draw from `softmax(logits)`.
    #[must_use]
    pub fn gumbel(dims: X::Dims, key: Key) -> Self {
        let (s, n) = sizes::<X>(dims);
        wrap(float(&s[..n], D::DTYPE, |f| match f {
            Fill::F32(out) => key.fill_gumbel(0, out),
            Fill::F64(out) => key.fill_gumbel(0, out),
        }))
    }
}

impl<X: Axes + Distinct> Tensor<X, bool> {
    /// True with probability `p`.
    ///
    /// ```
    /// use forge::prelude::*;
    /// use forge::rng::Key;
    /// axes! { In }
    /// let coins = Tensor::<In, bool>::bernoulli(1000, 0.5, Key::new(3)).to_vec();
    /// assert!((400..600).contains(&coins.iter().filter(|c| **c).count()));
    /// ```
    ///
    /// # Errors
    /// Unless `0 <= p <= 1`.
    #[must_use]
    #[fallible]
    pub fn bernoulli(dims: X::Dims, p: f64, key: Key) -> Self {
        let (s, n) = sizes::<X>(dims);
        Ok(wrap(bernoulli(&s[..n], p, key)?))
    }
}

impl<X: Axes + Distinct> Tensor<X, i64> {
    /// Uniform among the integers from `low` to before `high`.
    ///
    /// # Errors
    /// Unless `low < high`.
    #[must_use]
    #[fallible]
    pub fn randint(dims: X::Dims, low: i64, high: i64, key: Key) -> Self {
        let (s, n) = sizes::<X>(dims);
        Ok(wrap(randint(&s[..n], low, high, key)?))
    }
}

impl<A: Axis> Tensor<A, i64> {
    /// The integers from 0 to before `n` in random order.
    ///
    /// ```
    /// use forge::prelude::*;
    /// use forge::rng::Key;
    /// axes! { Row }
    /// let mut order = Tensor::<Row, i64>::randperm(5, Key::new(3)).to_vec();
    /// order.sort_unstable();
    /// assert_eq!(order, [0, 1, 2, 3, 4]);
    /// ```
    #[must_use]
    pub fn randperm(n: SizeArg<A>, key: Key) -> Self {
        let (s, _) = sizes::<A>(n);
        wrap(RawTensor::build(&s[..1], |out| key.fill_permutation(out)))
    }
}

enum Fill<'a> {
    F32(&'a mut [f32]),
    F64(&'a mut [f64]),
}

/// A tensor of f32 or f64.
fn float(shape: &[usize], dtype: DType, fill: impl FnOnce(Fill)) -> RawTensor {
    match dtype {
        DType::F64 => RawTensor::build(shape, |out| fill(Fill::F64(out))),
        _ => RawTensor::build(shape, |out| fill(Fill::F32(out))),
    }
}

fn uniform(shape: &[usize], dtype: DType, low: f64, high: f64, key: Key) -> Result<RawTensor, Error> {
    // In f32, bounds that are finite in f64 may not be.
    let as_is = |v: f64| if dtype == DType::F64 { v } else { f64::from(v as f32) };
    if !(as_is(low).is_finite() && as_is(high).is_finite() && low <= high) {
        return Err(Error::argument("uniform", format!("there is no {dtype} number in {low}..{high}")));
    }
    Ok(float(shape, dtype, |f| match f {
        Fill::F32(out) => key.fill_uniform(0, out, low as f32, high as f32),
        Fill::F64(out) => key.fill_uniform(0, out, low, high),
    }))
}

fn normal(shape: &[usize], dtype: DType, mean: f64, std: f64, key: Key) -> Result<RawTensor, Error> {
    if std.is_nan() || std < 0.0 {
        return Err(Error::argument("normal", format!("the standard deviation {std} is not a number from 0 on")));
    }
    Ok(float(shape, dtype, |f| match f {
        Fill::F32(out) => key.fill_normal(0, out, mean, std),
        Fill::F64(out) => key.fill_normal(0, out, mean, std),
    }))
}

fn bernoulli(shape: &[usize], p: f64, key: Key) -> Result<RawTensor, Error> {
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::argument("bernoulli", format!("the probability {p} is not between 0 and 1")));
    }
    Ok(RawTensor::build(shape, |out| key.fill_bernoulli(0, out, p)))
}

fn randint(shape: &[usize], low: i64, high: i64, key: Key) -> Result<RawTensor, Error> {
    if low >= high {
        return Err(Error::argument("randint", format!("there is no integer in {low}..{high}")));
    }
    Ok(RawTensor::build(shape, |out| key.fill_int(0, out, low, high)))
}

impl DynTensor {
    /// [`Tensor::uniform`] of `dtype` f32 or f64.
    ///
    /// # Errors
    /// When the bounds or the axes make no sense, or the dtype is another.
    pub fn uniform(axes: &[&str], shape: &[usize], dtype: DType, low: f64, high: f64, key: Key) -> Result<Self, Error> {
        let axes = drawn("uniform", axes, shape, dtype)?;
        Ok(Self::new(uniform(shape, dtype, low, high, key)?, axes))
    }

    /// [`Tensor::normal`] of `dtype` f32 or f64.
    ///
    /// # Errors
    /// When the standard deviation or the axes make no sense, or the dtype is another.
    pub fn normal(axes: &[&str], shape: &[usize], dtype: DType, mean: f64, std: f64, key: Key) -> Result<Self, Error> {
        let axes = drawn("normal", axes, shape, dtype)?;
        Ok(Self::new(normal(shape, dtype, mean, std, key)?, axes))
    }

    /// [`Tensor::bernoulli`].
    ///
    /// # Errors
    /// When the probability or the axes make no sense.
    pub fn bernoulli(axes: &[&str], shape: &[usize], p: f64, key: Key) -> Result<Self, Error> {
        let axes = super::construct::named("bernoulli", axes, shape)?;
        Ok(Self::new(bernoulli(shape, p, key)?, axes))
    }

    /// [`Tensor::randint`].
    ///
    /// # Errors
    /// When there is no integer to draw, or the axes make no sense.
    pub fn randint(axes: &[&str], shape: &[usize], low: i64, high: i64, key: Key) -> Result<Self, Error> {
        let axes = super::construct::named("randint", axes, shape)?;
        Ok(Self::new(randint(shape, low, high, key)?, axes))
    }
}

fn drawn(op: &'static str, axes: &[&str], shape: &[usize], dtype: DType) -> Result<Vec<DynAxis>, Error> {
    if !dtype.is_differentiable() {
        return Err(Error::DType { op, expected: "f32 or f64", found: dtype });
    }
    super::construct::named(op, axes, shape)
}
