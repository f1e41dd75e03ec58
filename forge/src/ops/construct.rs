//! Constructors. `Tensor::<Batch>::zeros(3)` is f32, the default element type; `Tensor::<Batch, i64>::zeros(3)` says another.

use crate::dtype::{Dtype, Element};
use crate::dyn_tensor::{DynAxis, check_distinct, keys_of};
use crate::error::Error;
use crate::raw::{RawTensor, by_dtype};
use crate::tensor::{Tensor, sizes, wrap};
use forge_axes::{Axes, Distinct};
use forge_kernels::arith::Num;
use forge_macros::fallible;

impl<D: Element> Tensor<(), D> {
    /// One number.
    pub fn scalar(value: D) -> Self {
        wrap(RawTensor::full(&[], value))
    }
}

impl<X: Axes, D: Element> Tensor<X, D> {
    /// The elements `data`, in row-major order.
    ///
    /// ```
    /// # use forge::prelude::*;
    /// # axes! { Batch, In }
    /// let x = Tensor::<(Batch, In)>::from_vec((2, 2), vec![1., 2., 3., 4.]);
    /// assert_eq!(x.get((1, 0)), 3.0);
    /// let labels = Tensor::<Batch, i64>::from_vec(2, vec![0, 1]);
    /// assert_eq!(labels.get(1), 1);
    /// ```
    ///
    /// # Errors
    /// When `data` does not fill the shape.
    #[fallible]
    pub fn from_vec(dims: X::Dims, data: Vec<D>) -> Self
    where
        X: Distinct,
    {
        let (s, n) = sizes::<X>(dims);
        RawTensor::check_len("from_vec", &s[..n], data.len(), X::KEYS)?;
        Ok(wrap(RawTensor::build(&s[..n], |out| out.copy_from_slice(&data))))
    }

    /// Element `i` (in row-major order) is `f(i)`.
    pub fn from_fn(dims: X::Dims, f: impl FnMut(usize) -> D) -> Self
    where
        X: Distinct,
    {
        let (s, n) = sizes::<X>(dims);
        let mut f = f;
        wrap(RawTensor::build(&s[..n], |out: &mut [D]| out.iter_mut().enumerate().for_each(|(i, o)| *o = f(i))))
    }

    /// `owner`'s memory, not copied: a file mapping, a shared vector.
    ///
    /// # Errors
    /// When it does not fill the shape.
    #[fallible]
    pub fn from_owner<O: AsRef<[D]> + Send + Sync + 'static>(dims: X::Dims, owner: O) -> Self
    where
        X: Distinct,
    {
        let (s, n) = sizes::<X>(dims);
        RawTensor::check_len("from_owner", &s[..n], owner.as_ref().len(), X::KEYS)?;
        Ok(wrap(RawTensor::from_owner::<D, O>(&s[..n], owner)?))
    }

    /// Every element `value`.
    pub fn full(dims: X::Dims, value: D) -> Self
    where
        X: Distinct,
    {
        let (s, n) = sizes::<X>(dims);
        wrap(RawTensor::full(&s[..n], value))
    }

    /// Every element 0 (`false`).
    pub fn zeros(dims: X::Dims) -> Self
    where
        X: Distinct,
    {
        Self::full(dims, D::default())
    }

    /// Every element 1.
    pub fn ones(dims: X::Dims) -> Self
    where
        X: Distinct,
        D: Num,
    {
        Self::full(dims, D::ONE)
    }

    /// A tensor of this one's shape and dtype, every element 0.
    #[must_use]
    pub fn zeros_like(&self) -> Self {
        wrap(RawTensor::full(self.shape(), D::default()))
    }

    /// A tensor of this one's shape and dtype, every element `value`.
    #[must_use]
    pub fn full_like(&self, value: D) -> Self {
        wrap(RawTensor::full(self.shape(), value))
    }
}

impl<D: Element> From<D> for Tensor<(), D> {
    fn from(value: D) -> Self {
        Self::scalar(value)
    }
}

impl<A: forge_axes::Axis<Size = forge_axes::Dyn>, D: Element, const N: usize> From<[D; N]> for Tensor<A, D> {
    fn from(a: [D; N]) -> Self {
        wrap(RawTensor::build(&[N], |out| out.copy_from_slice(&a)))
    }
}

impl<A, B, D: Element, const N: usize, const M: usize> From<[[D; N]; M]> for Tensor<(A, B), D>
where
    A: forge_axes::Axis<Size = forge_axes::Dyn>,
    B: forge_axes::Axis<Size = forge_axes::Dyn>,
    (A, B): Axes + Distinct,
{
    fn from(a: [[D; N]; M]) -> Self {
        wrap(RawTensor::build(&[M, N], |out| out.copy_from_slice(a.as_flattened())))
    }
}

impl<A, B, C, D: Element, const N: usize, const M: usize, const L: usize> From<[[[D; N]; M]; L]>
    for Tensor<(A, B, C), D>
where
    A: forge_axes::Axis<Size = forge_axes::Dyn>,
    B: forge_axes::Axis<Size = forge_axes::Dyn>,
    C: forge_axes::Axis<Size = forge_axes::Dyn>,
    (A, B, C): Axes + Distinct,
{
    fn from(a: [[[D; N]; M]; L]) -> Self {
        wrap(RawTensor::build(&[L, M, N], |out| out.copy_from_slice(a.as_flattened().as_flattened())))
    }
}

impl<X: Axes, D: Element> Tensor<X, D> {
    /// The elements in row-major order as an array.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { In }
    /// let [a, b] = Tensor::<In>::from([1., 2.]).to_array();
    /// assert_eq!(a + b, 3.0);
    /// ```
    ///
    /// # Errors
    /// When there are not `N` elements.
    #[fallible]
    pub fn to_array<const N: usize>(&self) -> [D; N] {
        self.to_vec().try_into().map_err(|_| Error::Length {
            op: "to_array",
            expected: self.len(),
            found: N,
            axes: self.axes_text(),
        })
    }
}

/// Run-time axes of a tensor to be made, one for each size.
pub(crate) fn named(op: &'static str, axes: &[&str], shape: &[usize]) -> Result<Vec<DynAxis>, Error> {
    let axes: Vec<DynAxis> = axes.iter().map(|&a| a.into()).collect();
    if axes.len() > 8 {
        return Err(Error::axes(op, format!("{} axes; a tensor may have at most 8", axes.len())));
    }
    check_distinct(op, &keys_of(&axes))?;
    if axes.len() != shape.len() {
        return Err(Error::axes(op, format!("{} axes need {0} sizes, not {}", axes.len(), shape.len())));
    }
    if shape.iter().try_fold(8usize, |n, &d| n.checked_mul(d)).is_none_or(|n| n > isize::MAX as usize / 2) {
        return Err(Error::argument(op, format!("a tensor of shape {shape:?} exceeds the address space")));
    }
    Ok(axes)
}

impl crate::DynTensor {
    /// Every element `value`.
    ///
    /// # Errors
    /// When an axis is named twice, or there are not as many axes as sizes.
    pub fn full<D: Element>(axes: &[&str], shape: &[usize], value: D) -> Result<Self, Error> {
        let axes = named("full", axes, shape)?;
        Ok(Self::new(RawTensor::full(shape, value), axes))
    }

    /// Every element 0 (`false`).
    ///
    /// # Errors
    /// As [`Self::full`].
    pub fn zeros(axes: &[&str], shape: &[usize], dtype: crate::DType) -> Result<Self, Error> {
        let axes = named("zeros", axes, shape)?;
        Ok(Self::new(by_dtype!(dtype, T => RawTensor::full(shape, T::default())), axes))
    }

    /// Every element 1 (`true`).
    ///
    /// # Errors
    /// As [`Self::full`].
    pub fn ones(axes: &[&str], shape: &[usize], dtype: crate::DType) -> Result<Self, Error> {
        let axes = named("ones", axes, shape)?;
        Ok(Self::new(crate::raw::cast::to(&RawTensor::full(shape, true), dtype)?, axes))
    }

    /// One number, without axes.
    pub fn scalar<D: Element>(value: D) -> Self {
        Self::new(RawTensor::full(&[], value), [])
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// The elements converted to type `E`. Integers wrap; float to integer truncates, saturates and sends NaN to 0;
    /// anything to bool is `!= 0`; to 16-bit floats it rounds to nearest even. Between f32 and f64 gradients pass.
    ///
    /// # Panics
    /// When a tracked value is converted to a 16-bit float: those carry no gradient.
    #[doc(alias("astype", "cast"))]
    #[fallible]
    pub fn to<E: Dtype>(&self) -> Tensor<X, E> {
        Ok(wrap(crate::raw::cast::to(self.raw(), E::DTYPE)?))
    }

    /// The same values, dense in row-major order; copied only if they are not already.
    #[must_use]
    pub fn contiguous(&self) -> Self {
        wrap(self.raw().contiguous())
    }
}

impl crate::DynTensor {
    /// [`Tensor::to`].
    ///
    /// # Errors
    /// When a tracked value is converted to a 16-bit float.
    pub fn to(&self, dtype: crate::DType) -> Result<Self, Error> {
        Ok(self.with_raw(crate::raw::cast::to(self.raw(), dtype)?))
    }

    /// [`Tensor::contiguous`].
    #[must_use]
    pub fn contiguous(&self) -> Self {
        self.with_raw(self.raw().contiguous())
    }
}
