//! Windows of an axis as an axis of their own, and the adjoint.

use crate::DynTensor;
use crate::dtype::{Dtype, Number};
use crate::dyn_tensor::DynAxis;
use crate::error::Error;
use crate::raw::fold as raw;
use crate::tensor::{Tensor, at, position, wrap};
use forge_axes::{Axes, Axis, Has, Lacks, Push, Remove, Resizable};
use forge_macros::fallible;

/// The windows of [`unfold`](Tensor::unfold) and [`fold`](Tensor::fold).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Unfold {
    size: usize,
    stride: usize,
    dilation: usize,
    pad: usize,
}

impl Unfold {
    /// Windows of `size` elements that begin one after the other.
    pub fn new(size: usize) -> Self {
        Self { size, stride: 1, dilation: 1, pad: 0 }
    }

    /// Elements from the start of one window to that of the next.
    pub fn stride(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    /// Elements from one element of a window to the next.
    pub fn dilation(self, dilation: usize) -> Self {
        Self { dilation, ..self }
    }

    /// Zeros before and after the axis.
    pub fn pad(self, pad: usize) -> Self {
        Self { pad, ..self }
    }

    fn side(self, op: &'static str, at: crate::raw::At, n: usize) -> Result<forge_kernels::conv::Side, Error> {
        raw::side(op, at, n, self.size, self.stride, self.dilation, self.pad)
    }
}

/// The checks of [`Tensor::fold`]: both axes must be those that [`Tensor::unfold`] of an axis of `size` makes.
fn folding(
    at: crate::raw::At,
    windows: usize,
    taps: usize,
    size: usize,
    how: Unfold,
) -> Result<forge_kernels::conv::Side, Error> {
    let side = how.side("fold", at, size)?;
    if (side.output, side.taps) != (windows, taps) {
        return Err(Error::argument(
            "fold",
            format!(
                "windows of an axis `{}` of size {size} are {} of {} elements, but the tensor has {windows} of {taps}",
                at.name(),
                side.output,
                side.taps
            ),
        ));
    }
    Ok(side)
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Windows of `axis`: that axis counts them, and the new last axis `tap` the elements of each:
    /// `y[.., w, .., k] = x[.., w stride + k dilation - pad, ..]`, zero outside of the axis.
    ///
    /// Without padding it is a view: nothing is copied, however much windows overlap. Two of them, along two axes, are
    /// what others call im2col.
    ///
    /// ```
    /// use forge::Unfold;
    /// use forge::axes::{Tap, Time};
    /// use forge::prelude::*;
    /// let x = Tensor::<Time>::from_vec(5, vec![1., 2., 3., 4., 5.]);
    /// let y: Tensor<(Time, Tap)> = x.unfold(Time, Tap, Unfold::new(3).stride(2));
    /// assert_eq!(y.to_vec(), [1., 2., 3., 3., 4., 5.]);
    /// ```
    ///
    /// # Errors
    /// When a window does not fit the padded axis, or an option but the padding is 0.
    #[fallible]
    pub fn unfold<A: Resizable, K: Axis>(&self, axis: A, tap: K, how: Unfold) -> Tensor<Push<X, K>, D>
    where
        X: Has<A> + Lacks<K>,
    {
        let _ = (axis, tap);
        super::shape::check_fixed::<K>("unfold", how.size)?;
        let side = how.side("unfold", at::<X, A>(), self.shape()[position::<X, A>()])?;
        Ok(wrap(raw::unfold(self.raw(), position::<X, A>(), &side)))
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// The adjoint of [`unfold`](Self::unfold): elements of windows, counted by `axis` and within each by `tap`, are added
    /// up where they come from in an axis of `size` elements. What came from the padding is dropped.
    ///
    /// ```
    /// use forge::Unfold;
    /// use forge::axes::{Tap, Time};
    /// use forge::prelude::*;
    /// let windows = Tensor::<(Time, Tap)>::ones((3, 2));
    /// let y: Tensor<Time> = windows.fold(Time, Tap, 4, Unfold::new(2));
    /// assert_eq!(y.to_vec(), [1., 2., 2., 1.]);
    /// ```
    ///
    /// # Errors
    /// When an axis of `size` elements has other windows.
    #[fallible]
    pub fn fold<A: Resizable, K: Axis>(&self, axis: A, tap: K, size: usize, how: Unfold) -> Tensor<Remove<X, K>, D>
    where
        X: Has<A> + Has<K>,
        A: Axis,
        (A, K): forge_axes::Distinct,
        D: Number,
    {
        let _ = (axis, tap);
        let (a, k) = (position::<X, A>(), position::<X, K>());
        let side = folding(at::<X, A>(), self.shape()[a], self.shape()[k], size, how)?;
        Ok(wrap(raw::fold(self.raw(), a, k, &side)?))
    }
}

impl DynTensor {
    /// [`Tensor::unfold`].
    ///
    /// # Errors
    /// As there, and when there is no such axis, `tap` is already there, or there are 8 axes.
    pub fn unfold(&self, axis: impl Into<DynAxis>, tap: impl Into<DynAxis>, how: Unfold) -> Result<Self, Error> {
        let (axis, tap) = (axis.into(), tap.into());
        self.lacks("unfold", &tap)?;
        let mut axes = self.axes().to_vec();
        axes.push(tap);
        if axes.len() > 8 {
            return Err(Error::axes("unfold", "the result would have 9 axes; a tensor may have at most 8"));
        }
        let y = self.at("unfold", &axis, |at| {
            let side = how.side("unfold", at, self.shape()[at.axis])?;
            Ok(raw::unfold(self.raw(), at.axis, &side))
        })?;
        Ok(Self::new(y, axes))
    }

    /// [`Tensor::fold`].
    ///
    /// # Errors
    /// As there, and when an axis is missing, or the elements are bools.
    pub fn fold(
        &self,
        axis: impl Into<DynAxis>,
        tap: impl Into<DynAxis>,
        size: usize,
        how: Unfold,
    ) -> Result<Self, Error> {
        let (axis, tap) = (axis.into(), tap.into());
        let k = self.position("fold", &tap)?;
        let y = self.at("fold", &axis, |at| {
            if at.axis == k {
                return Err(Error::axes("fold", format!("axis `{}` is named twice", at.name())));
            }
            let side = folding(at, self.shape()[at.axis], self.shape()[k], size, how)?;
            raw::fold(self.raw(), at.axis, k, &side)
        })?;
        let mut axes = self.axes().to_vec();
        axes.remove(k);
        Ok(Self::new(y, axes))
    }
}
