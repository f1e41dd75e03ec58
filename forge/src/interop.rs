//! Conversions from and to the arrays of the crate `ndarray` (feature `ndarray`).

use crate::DynTensor;
use crate::dtype::Element;
use crate::dyn_tensor::{DynAxis, list_text};
use crate::error::{Error, Result};
use crate::ops::named;
use crate::raw::RawTensor;
use crate::tensor::{Tensor, wrap};
use forge_axes::{Axes, Distinct};
use forge_macros::fallible;
use ndarray::{ArrayD, ArrayView, Dimension, IxDyn};

fn copied<D: Element, N: Dimension>(a: &ArrayView<'_, D, N>) -> RawTensor {
    RawTensor::build(a.shape(), |out: &mut [D]| match a.as_slice() {
        Some(s) => out.copy_from_slice(s),
        None => out.iter_mut().zip(a.iter()).for_each(|(o, &v)| *o = v),
    })
}

fn array<D: Element>(x: &RawTensor) -> ArrayD<D> {
    ArrayD::from_shape_vec(IxDyn(x.shape()), x.to_vec::<D>()).expect("the elements fill the shape")
}

impl<X: Axes + Distinct, D: Element> Tensor<X, D> {
    /// The elements of an array, copied.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Row, Col }
    /// let a = ndarray::array![[1f32, 2.], [3., 4.]];
    /// let x = Tensor::<(Row, Col)>::from_ndarray(a.t());
    /// assert_eq!(x.to_vec(), [1., 3., 2., 4.]);
    /// assert_eq!(x.to_ndarray(), a.t().into_dyn());
    /// ```
    ///
    /// # Errors
    /// When the array has another rank, or a fixed axis another size.
    #[fallible]
    pub fn from_ndarray<N: Dimension>(a: ArrayView<'_, D, N>) -> Self {
        let fits = a.ndim() == X::RANK && X::KEYS.iter().zip(a.shape()).all(|(k, &n)| k.fixed.is_none_or(|f| f == n));
        if !fits {
            let what = format!("an array of shape {:?} does not fit `{}`", a.shape(), list_text(X::KEYS));
            return Err(Error::axes("from_ndarray", what));
        }
        Ok(wrap(copied(&a)))
    }

    /// The elements as an array, copied.
    pub fn to_ndarray(&self) -> ArrayD<D> {
        array(self.raw())
    }
}

impl DynTensor {
    /// [`Tensor::from_ndarray`], with the axes named `axes`.
    ///
    /// # Errors
    /// When there are not as many axes as the array has, or one is named twice.
    pub fn from_ndarray<D: Element, N: Dimension>(axes: &[&str], a: ArrayView<'_, D, N>) -> Result<Self> {
        let axes: Vec<DynAxis> = named("from_ndarray", axes, a.shape())?;
        Ok(Self::new(copied(&a), axes))
    }

    /// [`Tensor::to_ndarray`].
    ///
    /// # Errors
    /// When `D` is not the dtype.
    pub fn to_ndarray<D: Element>(&self) -> Result<ArrayD<D>> {
        if D::DTYPE != self.dtype() {
            let expected = D::DTYPE.name();
            return Err(Error::DType { op: "to_ndarray", expected, found: self.dtype() });
        }
        Ok(array(self.raw()))
    }
}
