//! Bounds on values.

use crate::DynTensor;
use crate::dtype::{Dtype, Number};
use crate::error::Error;
use crate::raw::clamp as raw;
use crate::tensor::{Tensor, wrap};
use forge_axes::Axes;
use forge_macros::fallible;

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Every element, raised to `min` where it is below and lowered to `max` where it is above. NaN stays. The gradient
    /// passes from `min` to `max`, both included, and is 0 outside.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { In }
    /// assert_eq!(Tensor::<In>::from([-3., 0.5, 3.]).clamp(-1.0, 1.0).to_vec(), [-1., 0.5, 1.]);
    /// ```
    ///
    /// # Errors
    /// Unless `min <= max`.
    #[must_use]
    #[fallible]
    pub fn clamp(&self, min: f64, max: f64) -> Self
    where
        D: Number,
    {
        Ok(wrap(raw::clamp(self.raw(), min, max)?))
    }
}

impl DynTensor {
    /// [`Tensor::clamp`].
    ///
    /// # Errors
    /// Unless `min <= max`, or when the elements are not numbers.
    pub fn clamp(&self, min: f64, max: f64) -> Result<Self, Error> {
        Ok(self.with_raw(raw::clamp(self.raw(), min, max)?))
    }
}
