//! [`Conv2d`]: filters over images.

use super::Module;
use super::conv1d::{add_bias, check_groups};
use super::debug::debug_layer;
use super::init::kaiming_uniform;
use super::param::Param;
use crate::axes::{KernelHeight, KernelWidth};
use crate::dtype::Differentiable;
use crate::error::raise;
use crate::raw::conv::{self as raw, ConvAxes, Steps};
use crate::rng::Key;
use crate::tensor::{Tensor, names, position, sizes};
use forge_axes::{Axes, Axis, Distinct, Has, Lacks, Remove, Replace, Resizable, SizeArg};
use forge_macros::fallible;
use std::marker::PhantomData;

/// A convolution over the axes `H` and `W`, from the channels `I` to the channels `O`, which take their place; all other
/// axes are examples. What lies outside of the image counts as 0.
///
/// ```
/// use forge::axes::{Batch, Channel, Height, OutChannel, Width};
/// use forge::nn::Conv2d;
/// use forge::prelude::*;
/// use forge::rng::Key;
/// // 3 by 3 filters that keep the size of the image.
/// let conv = Conv2d::<Height, Width, Channel, OutChannel>::new((3, 8), (3, 3), Key::new(0)).pad(1, 1);
/// let x = Tensor::<(Batch, Height, Width, Channel)>::ones((2, 6, 5, 3));
/// let y: Tensor<(Batch, Height, Width, OutChannel)> = conv.forward(&x);
/// assert_eq!(y.shape(), [2, 6, 5, 8]);
/// ```
#[derive(Clone, Module)]
pub struct Conv2d<H: Axis, W: Axis, I: Axis, O: Axis, D: Differentiable = f32> {
    /// The filters; with groups, `I` has the channels of one group.
    pub weight: Param<(KernelHeight, KernelWidth, I, O), D>,
    /// What is added to each output channel, if anything.
    pub bias: Option<Param<O, D>>,
    #[module(skip)]
    steps: StepsOf,
    #[module(skip)]
    axes: PhantomData<fn() -> (H, W)>,
}

debug_layer!(Conv2d<H: Axis, W: Axis, I: Axis, O: Axis, D: Differentiable>);

/// How the filters move, along height and width.
#[derive(Clone, Copy, Debug)]
struct StepsOf {
    stride: [usize; 2],
    dilation: [usize; 2],
    pad: [usize; 2],
    groups: usize,
}

impl<H: Resizable, W: Resizable, I: Axis, O: Axis, D: Differentiable> Conv2d<H, W, I, O, D>
where
    (KernelHeight, KernelWidth, I, O): Distinct,
    (H, W, I): Distinct,
{
    /// Filters of `taps` (rows, columns) between the sizes `(of I, of O)`: strides and dilations 1, no padding, a bias.
    ///
    /// Weight and bias start uniform with magnitude below `sqrt(1 / (inputs of a group * rows * columns))`, as torch's do
    /// ([He et al. 2015](https://arxiv.org/abs/1502.01852) with `a = sqrt 5`); the numbers come from
    /// `key.derive("weight")` and `key.derive("bias")`.
    pub fn new(dims: (SizeArg<I>, SizeArg<O>), taps: (usize, usize), key: Key) -> Self {
        Self::try_grouped(dims, taps, 1, key).unwrap_or_else(|e| raise(e))
    }

    /// [`Self::new`] with the channels in `groups` that do not see each other; as many as channels make it depthwise.
    ///
    /// # Errors
    /// When the channels do not fall into groups, or the axis `I`, of which the weights have one group, has a fixed size.
    #[fallible]
    pub fn grouped(dims: (SizeArg<I>, SizeArg<O>), taps: (usize, usize), groups: usize, key: Key) -> Self {
        let (inputs, outputs) = (sizes::<I>(dims.0).0[0], sizes::<O>(dims.1).0[0]);
        check_groups::<I>("Conv2d", [inputs, outputs], groups)?;
        let fan_in = inputs / groups * taps.0 * taps.1;
        let cut = <I::Size as forge_axes::Size>::arg::<I>(inputs / groups);
        Ok(Self {
            weight: Param::new(kaiming_uniform((taps.0, taps.1, cut, dims.1), fan_in, key.derive("weight"))?),
            bias: Some(Param::new(kaiming_uniform(dims.1, fan_in, key.derive("bias"))?)),
            steps: StepsOf { stride: [1; 2], dilation: [1; 2], pad: [0; 2], groups },
            axes: PhantomData,
        })
    }
}

impl<H: Resizable, W: Resizable, I: Axis, O: Axis, D: Differentiable> Conv2d<H, W, I, O, D> {
    /// The same with other strides along height and width.
    #[must_use]
    pub fn stride(mut self, height: usize, width: usize) -> Self {
        self.steps.stride = [height, width];
        self
    }

    /// The same with other distances of neighbouring taps.
    #[must_use]
    pub fn dilation(mut self, height: usize, width: usize) -> Self {
        self.steps.dilation = [height, width];
        self
    }

    /// The same with `height` rows of 0 above and below the image, and `width` columns left and right.
    #[must_use]
    pub fn pad(mut self, height: usize, width: usize) -> Self {
        self.steps.pad = [height, width];
        self
    }

    /// The same without a bias.
    #[must_use]
    pub fn without_bias(mut self) -> Self {
        self.bias = None;
        self
    }

    /// Number of groups of channels that do not see each other.
    pub fn groups(&self) -> usize {
        self.steps.groups
    }

    /// The convolution.
    ///
    /// # Errors
    /// When `x` has another number of channels, or the padded image is smaller than the filters span.
    #[fallible]
    pub fn forward<X: Axes + Has<H> + Has<W> + Has<I>>(&self, x: &Tensor<X, D>) -> Tensor<Replace<X, I, O>, D>
    where
        Remove<X, I>: Lacks<O>,
    {
        let axes = ConvAxes {
            spatial: &[position::<X, H>() as u8, position::<X, W>() as u8],
            channel: position::<X, I>() as u8,
            taps: &[0, 1],
            w_channel: 2,
            names: names::<X, (KernelHeight, KernelWidth, I, O)>(),
        };
        let StepsOf { stride, dilation, pad, groups } = self.steps;
        let steps = Steps { stride, dilation, pad: pad.map(|p| (p, p)), groups, may_be_short: false };
        add_bias(raw::conv(x.raw(), self.weight.raw(), &axes, &steps, "conv2d")?, self.bias.as_ref())
    }
}
