//! Constructors. The plain names make f32 tensors; `from_data` and the `_of` forms take any element type.

use crate::dtype::{Dtype, Element};
use crate::error::Error;
use crate::raw::RawTensor;
use crate::tensor::{Tensor, sizes, wrap};
use forge_axes::{Axes, Distinct};
use forge_kernels::arith::Num;
use forge_macros::fallible;

impl<X: Axes> Tensor<X> {
    /// The elements `data`, in row-major order.
    ///
    /// ```
    /// # use forge::prelude::*;
    /// # axes! { Batch, In }
    /// let x = Tensor::<(Batch, In)>::from_vec((2, 2), vec![1., 2., 3., 4.]);
    /// assert_eq!(x.get((1, 0)), 3.0);
    /// ```
    ///
    /// # Errors
    /// When `data` does not fill the shape.
    #[fallible]
    pub fn from_vec(dims: X::Dims, data: Vec<f32>) -> Self
    where
        X: Distinct,
    {
        Self::try_from_data(dims, data)
    }

    /// Every element 0.
    pub fn zeros(dims: X::Dims) -> Self
    where
        X: Distinct,
    {
        Self::zeros_of(dims)
    }

    /// Every element 1.
    pub fn ones(dims: X::Dims) -> Self
    where
        X: Distinct,
    {
        Self::full(dims, 1.0)
    }

    /// Every element `value`.
    pub fn full(dims: X::Dims, value: f32) -> Self
    where
        X: Distinct,
    {
        Self::full_of(dims, value)
    }

    /// Element `i` (in row-major order) is `f(i)`.
    pub fn from_fn(dims: X::Dims, f: impl FnMut(usize) -> f32) -> Self
    where
        X: Distinct,
    {
        let (s, n) = sizes::<X>(dims);
        let mut f = f;
        wrap(RawTensor::build(&s[..n], |out: &mut [f32]| out.iter_mut().enumerate().for_each(|(i, o)| *o = f(i))))
    }
}

impl Tensor<()> {
    /// One number.
    pub fn scalar(value: f32) -> Self {
        Self::scalar_of(value)
    }
}

impl<D: Element> Tensor<(), D> {
    /// One number of any element type.
    pub fn scalar_of(value: D) -> Self {
        wrap(RawTensor::full(&[], value))
    }
}

impl<X: Axes, D: Element> Tensor<X, D> {
    /// The elements `data` of any type, in row-major order.
    ///
    /// # Errors
    /// When `data` does not fill the shape.
    #[fallible]
    pub fn from_data(dims: X::Dims, data: Vec<D>) -> Self
    where
        X: Distinct,
    {
        let (s, n) = sizes::<X>(dims);
        RawTensor::check_len("from_data", &s[..n], data.len(), X::KEYS)?;
        Ok(wrap(RawTensor::build(&s[..n], |out| out.copy_from_slice(&data))))
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

    /// Every element `value`, of any type.
    pub fn full_of(dims: X::Dims, value: D) -> Self
    where
        X: Distinct,
    {
        let (s, n) = sizes::<X>(dims);
        wrap(RawTensor::full(&s[..n], value))
    }

    /// Every element 0 (`false`), of any type.
    pub fn zeros_of(dims: X::Dims) -> Self
    where
        X: Distinct,
    {
        Self::full_of(dims, D::default())
    }

    /// Every element 1, of any number type.
    pub fn ones_of(dims: X::Dims) -> Self
    where
        X: Distinct,
        D: Num,
    {
        Self::full_of(dims, D::ONE)
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
        Self::scalar_of(value)
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

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// The elements converted to type `E`. Integers wrap; float to integer truncates, saturates and sends NaN to 0;
    /// anything to bool is `!= 0`; to 16-bit floats it rounds to nearest even. Between f32 and f64 gradients pass.
    ///
    /// # Panics
    /// When a tracked value is converted to a 16-bit float: those carry no gradient.
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
