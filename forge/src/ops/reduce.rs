//! Reductions over axes by name.

use crate::DynTensor;
use crate::dtype::{Differentiable, Float};
use crate::dyn_tensor::DynAxis;
use crate::error::Error;
use crate::raw::reduce as raw;
use crate::tensor::{Tensor, wrap};
use forge_axes::plan::pos;
use forge_axes::{Axes, Minus, SubsetOf, list_ops};
use forge_macros::fallible;

/// Positions of the axes `S` in the list `X`, ascending.
pub(crate) fn positions<X: Axes, S: Axes>() -> Vec<usize> {
    let mut v: Vec<usize> = S::KEYS.iter().map(|k| pos(X::KEYS, k) as usize).collect();
    v.sort_unstable();
    v
}

impl<X: Axes, D: Float> Tensor<X, D> {
    /// Sum over the axis (or axes) `over`, which disappear. An empty axis sums to 0.
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, In }
    /// let x = Tensor::<(Batch, In)>::from_vec((2, 2), vec![1., 2., 3., 4.]);
    /// assert_eq!(x.sum(Batch).to_vec(), [4.0, 6.0]);
    /// assert_eq!(x.sum((Batch, In)).item(), 10.0);
    /// ```
    #[fallible]
    pub fn sum<S: Axes + SubsetOf<X>>(&self, over: S) -> Tensor<Minus<X, S>, D> {
        let _ = over;
        Ok(wrap(raw::sum(self.raw(), &positions::<X, S>())?))
    }

    /// Mean over the axis (or axes) `over`, which disappear. An empty axis gives NaN.
    #[fallible]
    pub fn mean<S: Axes + SubsetOf<X>>(&self, over: S) -> Tensor<Minus<X, S>, D> {
        let _ = over;
        Ok(wrap(raw::mean(self.raw(), &positions::<X, S>())?))
    }

    /// Sum of all elements.
    #[fallible]
    pub fn sum_all(&self) -> Tensor<(), D> {
        Ok(wrap(raw::sum(self.raw(), &(0..X::RANK).collect::<Vec<_>>())?))
    }

    /// Mean of all elements.
    #[fallible]
    pub fn mean_all(&self) -> Tensor<(), D>
    where
        D: Differentiable,
    {
        Ok(wrap(raw::mean(self.raw(), &(0..X::RANK).collect::<Vec<_>>())?))
    }
}

impl DynTensor {
    /// The tensor without `axis`, holding what `f` makes of the tensor and the axis' position.
    pub(crate) fn reduced(
        &self,
        op: &'static str,
        axis: impl Into<DynAxis>,
        f: impl FnOnce(usize) -> Result<crate::raw::RawTensor, Error>,
    ) -> Result<Self, Error> {
        let axis = axis.into();
        let raw = f(self.position(op, &axis)?)?;
        let keys = self.keys();
        let left = list_ops::remove(&keys, &axis.key()).map_err(|e| Error::axes(op, e.to_string()))?;
        Ok(self.renamed(raw, &left, &[]))
    }

    /// [`Tensor::sum`].
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn sum(&self, axis: impl Into<DynAxis>) -> Result<Self, Error> {
        self.reduced("sum", axis, |a| raw::sum(self.raw(), &[a]))
    }

    /// [`Tensor::mean`].
    ///
    /// # Errors
    /// When there is no such axis, or the elements are not floats.
    pub fn mean(&self, axis: impl Into<DynAxis>) -> Result<Self, Error> {
        self.reduced("mean", axis, |a| raw::mean(self.raw(), &[a]))
    }

    /// [`Tensor::sum_all`].
    ///
    /// # Errors
    /// None for numbers.
    pub fn sum_all(&self) -> Result<Self, Error> {
        Ok(Self::new(raw::sum(self.raw(), &(0..self.shape().len()).collect::<Vec<_>>())?, []))
    }

    /// [`Tensor::mean_all`].
    ///
    /// # Errors
    /// When the elements are not floats.
    pub fn mean_all(&self) -> Result<Self, Error> {
        Ok(Self::new(raw::mean(self.raw(), &(0..self.shape().len()).collect::<Vec<_>>())?, []))
    }
}
