//! Transposed convolutions.

use super::conv1d::{ConvOf, DynParts, parts};
use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::dyn_tensor::{DynAxis, list_text};
use crate::error::Error;
use crate::raw::conv::Steps;
use crate::raw::{Names, conv as raw};
use crate::tensor::{Tensor, wrap};
use forge_axes::{Axes, Axis, Distinct, Has, Minus, Resizable, RoomFor};
use forge_macros::fallible;

/// How a [`conv_transpose1d`](Tensor::conv_transpose1d) moves. By default stride 1, nothing cut off or added, dilation 1
/// and one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct ConvTranspose1d {
    stride: usize,
    pad: usize,
    output_pad: usize,
    dilation: usize,
    groups: usize,
}

impl Default for ConvTranspose1d {
    fn default() -> Self {
        Self { stride: 1, pad: 0, output_pad: 0, dilation: 1, groups: 1 }
    }
}

impl ConvTranspose1d {
    /// Stride 1, nothing cut off or added, dilation 1, one group.
    pub fn new() -> Self {
        Self::default()
    }

    /// Outputs from one input to the next.
    pub fn stride(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    /// Outputs that are cut off at both ends: the padding of the convolution that this one is the adjoint of.
    pub fn pad(self, pad: usize) -> Self {
        Self { pad, ..self }
    }

    /// More outputs at the end: with a stride, convolutions of several lengths give one, and this says which is meant.
    /// Below the stride or the dilation.
    pub fn output_pad(self, output_pad: usize) -> Self {
        Self { output_pad, ..self }
    }

    /// Outputs from one tap to the next.
    pub fn dilation(self, dilation: usize) -> Self {
        Self { dilation, ..self }
    }

    /// Groups of channels that do not see each other. The weights have all input channels, and the output channels of
    /// one group.
    pub fn groups(self, groups: usize) -> Self {
        Self { groups, ..self }
    }

    fn steps(self) -> Steps {
        let pad = [(self.pad, self.pad), (0, 0)];
        let (stride, dilation) = ([self.stride, 1], [self.dilation, 1]);
        Steps { stride, dilation, pad, groups: self.groups, may_be_short: false }
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Transposed convolution along `time`: every input adds its weights to the outputs that it reaches,
    /// `y[t stride + tap dilation - pad, out] += x[t, channel] w[tap, channel, out]`, starting from `bias` or 0.
    ///
    /// It is the adjoint of a [`conv1d`](Self::conv1d) with the same options, and as invariant: an output's bits depend
    /// on the inputs that it sees and on nothing else. Axes are as there; the bias has the weights' output axes. There are
    /// `(size - 1) stride - 2 pad + dilation (taps - 1) + output_pad + 1` outputs, none for no input.
    ///
    /// ```
    /// use forge::ConvTranspose1d;
    /// use forge::axes::{Channel, OutChannel, Tap, Time};
    /// use forge::prelude::*;
    /// let x = Tensor::<(Time, Channel)>::from_vec((2, 1), vec![1., 2.]);
    /// let w = Tensor::<(Tap, Channel, OutChannel)>::from_vec((3, 1, 1), vec![1., 10., 100.]);
    /// let bias = Tensor::<OutChannel>::from_vec(1, vec![0.5]);
    /// let y = x.conv_transpose1d(&w, Some(&bias), Time, Channel, Tap, ConvTranspose1d::new().stride(2));
    /// assert_eq!(y.to_vec(), [1.5, 10.5, 102.5, 20.5, 200.5]);
    /// ```
    ///
    /// # Errors
    /// When the channels do not fit the weights, groups or bias, an option is 0, the output padding is not below the
    /// stride or the dilation, or more is cut off than there is. Several groups need exactly one output axis, which
    /// then must not have a fixed size other than all groups' channels together.
    #[fallible]
    pub fn conv_transpose1d<W: Axes, T: Resizable, C: Axis, K: Axis>(
        &self,
        w: &Tensor<W, D>,
        bias: Option<&Tensor<Minus<W, (K, C)>, D>>,
        time: T,
        channel: C,
        tap: K,
        how: ConvTranspose1d,
    ) -> Tensor<ConvOf<X, W, C, K>, D>
    where
        X: Has<T> + Has<C> + RoomFor<Minus<W, (K, C)>, C>,
        W: Has<C> + Has<K>,
        (T, C): Distinct,
        (K, C): Distinct,
        D: Float,
    {
        let _ = (time, channel, tap);
        let (axes, extra) = (parts::<X, W, T, C, K>(), [how.output_pad, 0]);
        let fixed = W::KEYS.iter().enumerate().find_map(|(i, k)| {
            let out = i != axes.w_channel as usize && i != axes.taps[0] as usize;
            k.fixed.filter(|_| out && how.groups > 1).map(|n| (k.name, n))
        });
        if let Some((name, n)) = fixed {
            let what =
                format!("axis `{name}` has the fixed size {n} in the weights of one group and cannot be that of all");
            return Err(Error::argument("conv_transpose1d", what));
        }
        let bias = bias.map(Tensor::raw);
        Ok(wrap(raw::conv_transpose(self.raw(), w.raw(), bias, &axes, &how.steps(), extra, "conv_transpose1d")?))
    }
}

impl DynTensor {
    /// [`Tensor::conv_transpose1d`].
    ///
    /// # Errors
    /// As there, and when an axis is missing or would appear twice, or the bias has other axes than the outputs.
    pub fn conv_transpose1d(
        &self,
        w: &Self,
        bias: Option<&Self>,
        time: impl Into<DynAxis>,
        channel: impl Into<DynAxis>,
        tap: impl Into<DynAxis>,
        how: ConvTranspose1d,
    ) -> Result<Self, Error> {
        let op = "conv_transpose1d";
        let p = DynParts::new(op, self, w, &[time.into()], &channel.into(), &[tap.into()])?;
        let (lhs, rhs) = (self.keys(), w.keys());
        if let Some(bias) = bias {
            let (keys, all) = (bias.keys(), crate::dyn_tensor::keys_of(&p.axes));
            let outs = &all[p.channel as usize..p.channel as usize + w.axes().len() - 2];
            let same = keys.len() == outs.len() && keys.iter().zip(outs).all(|(a, b)| forge_axes::plan::same(a, b));
            if !same {
                return Err(Error::axes(
                    op,
                    format!("the bias has the axes `{}`, the outputs `{}`", list_text(&keys), list_text(outs)),
                ));
            }
        }
        let axes = p.with(Names { lhs: &lhs, rhs: &rhs });
        let bias = bias.map(Self::raw);
        let y = raw::conv_transpose(self.raw(), w.raw(), bias, &axes, &how.steps(), [how.output_pad, 0], op)?;
        Ok(Self::new(y, p.axes))
    }
}
