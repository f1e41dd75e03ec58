//! Pooling over windows of an image, and repetition of its pixels.

use super::conv2d::Pair;
use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::dyn_tensor::DynAxis;
use crate::error::Error;
use crate::raw::pool::Windows;
use crate::raw::{At, RawTensor, pool as raw};
use crate::tensor::{Tensor, at, wrap};
use forge_axes::{Axes, Distinct, Has, Resizable};
use forge_macros::fallible;

/// The windows of [`max_pool2d`](Tensor::max_pool2d) and [`avg_pool2d`](Tensor::avg_pool2d). Each option is one number,
/// or a pair for rows and columns.
///
/// ```
/// use forge::Pool2d;
/// let side_by_side = Pool2d::new(2); // stride 2 as well
/// let overlapping = Pool2d::new((3, 3)).stride(1).pad(1);
/// # let _ = (side_by_side, overlapping);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Pool2d {
    size: Pair,
    stride: Pair,
    pad: Pair,
    dilation: Pair,
}

impl Pool2d {
    /// Windows of `size` that lie side by side, without padding.
    pub fn new(size: impl Into<Pair>) -> Self {
        let size = size.into();
        Self { size, stride: size, pad: Pair(0, 0), dilation: Pair(1, 1) }
    }

    /// Inputs from one window to the next.
    pub fn stride(self, stride: impl Into<Pair>) -> Self {
        Self { stride: stride.into(), ..self }
    }

    /// Positions outside of the image that windows may reach, on both sides of each axis; they hold nothing.
    pub fn pad(self, pad: impl Into<Pair>) -> Self {
        Self { pad: pad.into(), ..self }
    }

    /// Inputs from one element of a window to the next.
    pub fn dilation(self, dilation: impl Into<Pair>) -> Self {
        Self { dilation: dilation.into(), ..self }
    }

    fn windows(self) -> Windows {
        let two = |p: Pair| [p.0, p.1];
        Windows { size: two(self.size), stride: two(self.stride), dilation: two(self.dilation), pad: two(self.pad) }
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Largest element of each window over the axes `(rows, columns)`. Padding takes no part: a window that meets nothing
    /// gives negative infinity. A NaN is the largest. The gradient goes to the first of equal maxima, row by row.
    ///
    /// ```
    /// use forge::Pool2d;
    /// use forge::axes::{Height, Width};
    /// use forge::prelude::*;
    /// let x = Tensor::<(Height, Width)>::from_vec((2, 4), vec![1., 5., 2., 0., 3., 4., 7., 6.]);
    /// assert_eq!(x.max_pool2d((Height, Width), Pool2d::new(2)).to_vec(), [5., 7.]);
    /// ```
    ///
    /// # Errors
    /// When a window does not fit the padded image, or an option but the padding is 0.
    #[fallible]
    pub fn max_pool2d<H: Resizable, V: Resizable>(&self, over: (H, V), how: Pool2d) -> Self
    where
        X: Has<H> + Has<V>,
        (H, V): Distinct,
        D: Float,
    {
        let _ = over;
        Ok(wrap(raw::max(self.raw(), at::<X, H>(), at::<X, V>(), &how.windows(), "max_pool2d")?))
    }

    /// Mean of each window over the axes `(rows, columns)`, over the elements that it meets: padding is not counted. A
    /// window that meets nothing gives NaN, as every mean of nothing.
    ///
    /// ```
    /// use forge::Pool2d;
    /// use forge::axes::{Height, Width};
    /// use forge::prelude::*;
    /// let x = Tensor::<(Height, Width)>::from_vec((2, 2), vec![1., 2., 3., 4.]);
    /// let y = x.avg_pool2d((Height, Width), Pool2d::new(2).pad(1));
    /// assert_eq!(y.to_vec(), [1., 2., 3., 4.]); // each window meets one element
    /// ```
    ///
    /// # Errors
    /// When a window does not fit the padded image, or an option but the padding is 0.
    #[fallible]
    pub fn avg_pool2d<H: Resizable, V: Resizable>(&self, over: (H, V), how: Pool2d) -> Self
    where
        X: Has<H> + Has<V>,
        (H, V): Distinct,
        D: Float,
    {
        let _ = over;
        Ok(wrap(raw::avg(self.raw(), at::<X, H>(), at::<X, V>(), &how.windows(), "avg_pool2d")?))
    }

    /// Every element twice along the axes `(rows, columns)`.
    ///
    /// ```
    /// use forge::axes::{Height, Width};
    /// use forge::prelude::*;
    /// let x = Tensor::<(Height, Width)>::from_vec((1, 2), vec![1., 2.]);
    /// assert_eq!(x.upsample2x_nearest((Height, Width)).to_vec(), [1., 1., 2., 2., 1., 1., 2., 2.]);
    /// ```
    ///
    /// # Errors
    /// When the result would not fit the address space.
    #[fallible]
    pub fn upsample2x_nearest<H: Resizable, V: Resizable>(&self, over: (H, V)) -> Self
    where
        X: Has<H> + Has<V>,
        (H, V): Distinct,
        D: Float,
    {
        let _ = over;
        Ok(wrap(raw::upsample2x(self.raw(), at::<X, H>(), at::<X, V>(), "upsample2x_nearest")?))
    }
}

impl DynTensor {
    /// [`Tensor::max_pool2d`].
    ///
    /// # Errors
    /// As there, and when an axis is missing.
    pub fn max_pool2d(&self, over: (impl Into<DynAxis>, impl Into<DynAxis>), how: Pool2d) -> Result<Self, Error> {
        let op = "max_pool2d";
        self.pooled(op, &over.0.into(), &over.1.into(), |h, v| raw::max(self.raw(), h, v, &how.windows(), op))
    }

    /// [`Tensor::avg_pool2d`].
    ///
    /// # Errors
    /// As there, and when an axis is missing.
    pub fn avg_pool2d(&self, over: (impl Into<DynAxis>, impl Into<DynAxis>), how: Pool2d) -> Result<Self, Error> {
        let op = "avg_pool2d";
        self.pooled(op, &over.0.into(), &over.1.into(), |h, v| raw::avg(self.raw(), h, v, &how.windows(), op))
    }

    /// [`Tensor::upsample2x_nearest`].
    ///
    /// # Errors
    /// As there, and when an axis is missing.
    pub fn upsample2x_nearest(&self, over: (impl Into<DynAxis>, impl Into<DynAxis>)) -> Result<Self, Error> {
        let op = "upsample2x_nearest";
        self.pooled(op, &over.0.into(), &over.1.into(), |h, v| raw::upsample2x(self.raw(), h, v, op))
    }

    fn pooled(
        &self,
        op: &'static str,
        rows: &DynAxis,
        columns: &DynAxis,
        f: impl FnOnce(At, At) -> Result<RawTensor, Error>,
    ) -> Result<Self, Error> {
        let keys = self.keys();
        let at = |a: &DynAxis| Ok::<_, Error>(At { axis: self.position(op, a)?, keys: &keys });
        Ok(self.with_raw(f(at(rows)?, at(columns)?)?))
    }
}
