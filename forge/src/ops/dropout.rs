//! Dropout.

use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::error::Error;
use crate::raw::dropout as raw;
use crate::rng::Key;
use crate::tensor::{Tensor, wrap};
use forge_axes::Axes;
use forge_macros::fallible;

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Each element set to 0 with probability `p`, the others divided by `1 - p`
    /// ([Srivastava et al. 2014](https://jmlr.org/papers/v15/srivastava14a.html)).
    ///
    /// Element `i` (in row-major order) is kept where number `i` of `key` is below `1 - p`. The mask is a function of the
    /// key alone: it is made again for the gradient, not stored, and the same key drops the same elements. With `p = 0`
    /// this is a view; whether one trains is the caller's to say.
    ///
    /// ```
    /// use forge::prelude::*;
    /// use forge::rng::Key;
    /// axes! { In }
    /// let y = Tensor::<In>::ones(1000).dropout(0.25, Key::new(7).derive("layer 3"));
    /// let kept = y.to_vec().iter().filter(|v| **v != 0.0).count();
    /// assert!((700..800).contains(&kept) && y.to_vec().iter().all(|v| *v == 0.0 || *v == 1.0 / 0.75));
    /// ```
    ///
    /// # Errors
    /// Unless `0 <= p <= 1`.
    #[must_use]
    #[fallible]
    pub fn dropout(&self, p: f64, key: Key) -> Self
    where
        D: Float,
    {
        Ok(wrap(raw::dropout(self.raw(), p, key)?))
    }
}

impl DynTensor {
    /// [`Tensor::dropout`].
    ///
    /// # Errors
    /// Unless `0 <= p <= 1`, or when the elements are not floats.
    pub fn dropout(&self, p: f64, key: Key) -> Result<Self, Error> {
        Ok(self.with_raw(raw::dropout(self.raw(), p, key)?))
    }
}
