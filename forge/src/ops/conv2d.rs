//! Convolutions of images.

use super::conv1d::DynParts;
use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::dyn_tensor::DynAxis;
use crate::error::Error;
use crate::raw::conv::{ConvAxes, Steps};
use crate::raw::{Names, conv as raw};
use crate::tensor::{Tensor, names, position, wrap};
use forge_axes::{Axes, Axis, Distinct, Has, Minus, Replace, Resizable, RoomFor};
use forge_macros::fallible;

/// A number for each of two axes: `2` for both, or `(2, 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair(pub usize, pub usize);

impl From<usize> for Pair {
    fn from(n: usize) -> Self {
        Self(n, n)
    }
}

impl From<(usize, usize)> for Pair {
    fn from((a, b): (usize, usize)) -> Self {
        Self(a, b)
    }
}

/// How a [`conv2d`](Tensor::conv2d) moves: stride, padding, dilation and groups. By default none of them. Each is one
/// number, or a pair for rows and columns.
///
/// ```
/// use forge::Conv2d;
/// let how = Conv2d::new().stride(2).pad((1, 0));
/// # let _ = how;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Conv2d {
    stride: Pair,
    pad: Pair,
    dilation: Pair,
    groups: usize,
}

impl Default for Conv2d {
    fn default() -> Self {
        Self { stride: Pair(1, 1), pad: Pair(0, 0), dilation: Pair(1, 1), groups: 1 }
    }
}

impl Conv2d {
    /// Stride 1, no padding, dilation 1, one group.
    pub fn new() -> Self {
        Self::default()
    }

    /// Inputs from one output to the next.
    pub fn stride(self, stride: impl Into<Pair>) -> Self {
        Self { stride: stride.into(), ..self }
    }

    /// Positions outside of the image that outputs may reach, on both sides of each axis.
    pub fn pad(self, pad: impl Into<Pair>) -> Self {
        Self { pad: pad.into(), ..self }
    }

    /// Inputs from one tap to the next.
    pub fn dilation(self, dilation: impl Into<Pair>) -> Self {
        Self { dilation: dilation.into(), ..self }
    }

    /// Groups of channels that do not see each other (see [`Conv1d::groups`](crate::Conv1d::groups)).
    pub fn groups(self, groups: usize) -> Self {
        Self { groups, ..self }
    }

    fn steps(self) -> Steps {
        Steps {
            stride: [self.stride.0, self.stride.1],
            dilation: [self.dilation.0, self.dilation.1],
            pad: [(self.pad.0, self.pad.0), (self.pad.1, self.pad.1)],
            groups: self.groups,
            may_be_short: false,
        }
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Convolution over the axes `(rows, columns)` of an image with the taps `(tap rows, tap columns)` of `w`:
    /// [`conv1d`](Self::conv1d) along two axes, with the same rules for axes, sizes, padding and bits.
    ///
    /// `(.., Height, Width, Channel)` is computed in place; `(Out, KernelHeight, KernelWidth, Channel)` is a usual order
    /// for `w`, but any will do.
    ///
    /// ```
    /// use forge::Conv2d;
    /// use forge::axes::{Channel, Height, KernelHeight, KernelWidth, OutChannel, Width};
    /// use forge::prelude::*;
    /// let x = Tensor::<(Height, Width, Channel)>::ones((5, 4, 3));
    /// let w = Tensor::<(OutChannel, KernelHeight, KernelWidth, Channel)>::ones((8, 3, 3, 3));
    /// let y = x.conv2d(&w, (Height, Width), Channel, (KernelHeight, KernelWidth), Conv2d::new().pad(1));
    /// let y: Tensor<(Height, Width, OutChannel)> = y;
    /// assert_eq!(y.shape(), [5, 4, 8]);
    /// assert_eq!((y.get((0, 0, 0)), y.get((1, 1, 0))), (12.0, 27.0));
    /// ```
    ///
    /// # Errors
    /// When the channels do not fit the weights and groups, the kernel does not fit the padded image, or an option is 0.
    #[fallible]
    pub fn conv2d<W: Axes, H: Resizable, V: Resizable, C: Axis, KH: Axis, KW: Axis>(
        &self,
        w: &Tensor<W, D>,
        over: (H, V),
        channel: C,
        taps: (KH, KW),
        how: Conv2d,
    ) -> Tensor<Replace<X, C, Minus<W, (KH, KW, C)>>, D>
    where
        X: Has<H> + Has<V> + Has<C> + RoomFor<Minus<W, (KH, KW, C)>, C>,
        W: Has<C> + Has<KH> + Has<KW>,
        (H, V, C): Distinct,
        (KH, KW, C): Distinct,
        D: Float,
    {
        let _ = (over, channel, taps);
        let axes = ConvAxes {
            spatial: const { &[position::<X, H>() as u8, position::<X, V>() as u8] },
            channel: position::<X, C>() as u8,
            taps: const { &[position::<W, KH>() as u8, position::<W, KW>() as u8] },
            w_channel: position::<W, C>() as u8,
            names: names::<X, W>(),
        };
        Ok(wrap(raw::conv(self.raw(), w.raw(), &axes, &how.steps(), "conv2d")?))
    }
}

impl DynTensor {
    /// [`Tensor::conv2d`].
    ///
    /// # Errors
    /// As there, and when an axis is missing or would appear twice.
    pub fn conv2d(
        &self,
        w: &Self,
        over: (impl Into<DynAxis>, impl Into<DynAxis>),
        channel: impl Into<DynAxis>,
        taps: (impl Into<DynAxis>, impl Into<DynAxis>),
        how: Conv2d,
    ) -> Result<Self, Error> {
        let (over, taps) = ([over.0.into(), over.1.into()], [taps.0.into(), taps.1.into()]);
        let p = DynParts::new("conv2d", self, w, &over, &channel.into(), &taps)?;
        let (lhs, rhs) = (self.keys(), w.keys());
        let y = raw::conv(self.raw(), w.raw(), &p.with(Names { lhs: &lhs, rhs: &rhs }), &how.steps(), "conv2d")?;
        Ok(Self::new(y, p.axes))
    }
}
