//! [`Conv1d`] and [`ConvTranspose1d`]: filters along one axis.

use super::Module;
use super::debug::debug_layer;
use super::init::kaiming_uniform;
use super::param::Param;
use crate::axes::Tap;
use crate::dtype::Differentiable;
use crate::error::{Error, Result, raise};
use crate::raw::arith;
use crate::raw::conv::{self as raw, ConvAxes, Steps};
use crate::rng::Key;
use crate::tensor::{Tensor, names, position, sizes, wrap};
use forge_axes::plan::PointwisePlan;
use forge_axes::{Axes, Axis, Distinct, Has, Lacks, Remove, Replace, Resizable, SizeArg};
use forge_kernels::arith::BinaryOp;
use forge_macros::fallible;

/// A convolution along the axis `T`, from the channels `I` to the channels `O`, which take their place; all other axes are
/// examples:
///
/// ```text
/// y[.., t, o] = bias[o] + sum over tap, i of x[.., t stride + tap dilation - before, i] weight[tap, i, o]
/// ```
///
/// The last tap meets the newest sample. What lies outside of `x` counts as 0. In a [causal](Self::causal) layer position
/// `t` sees nothing after `t`, and there are as many positions as before (with stride 1).
///
/// ```
/// use forge::axes::{Batch, Channel, OutChannel, Time};
/// use forge::nn::Conv1d;
/// use forge::prelude::*;
/// use forge::rng::Key;
/// let conv = Conv1d::<Time, Channel, OutChannel>::new((4, 8), 3, Key::new(0)).dilation(2).causal();
/// let x = Tensor::<(Batch, Time, Channel)>::ones((2, 10, 4));
/// let y: Tensor<(Batch, Time, OutChannel)> = conv.forward(&x);
/// assert_eq!(y.shape(), [2, 10, 8]);
/// ```
#[derive(Clone, Module)]
pub struct Conv1d<T: Axis, I: Axis, O: Axis, D: Differentiable = f32> {
    /// The filters; with groups, `I` has the channels of one group.
    pub weight: Param<(Tap, I, O), D>,
    /// What is added to each output channel, if anything.
    pub bias: Option<Param<O, D>>,
    #[module(skip)]
    how: How,
    #[module(skip)]
    axis: std::marker::PhantomData<fn() -> T>,
}

debug_layer!(Conv1d<T: Axis, I: Axis, O: Axis, D: Differentiable>);

/// How the filters of a layer move.
#[derive(Clone, Copy, Debug)]
struct How {
    stride: usize,
    dilation: usize,
    groups: usize,
    pad: Pad,
    /// More outputs at the end of a transposed convolution.
    extra: usize,
}

#[derive(Clone, Copy, Debug)]
enum Pad {
    By(usize, usize),
    /// Before, by the span of the kernel.
    Causal,
}

impl How {
    const PLAIN: Self = Self { stride: 1, dilation: 1, groups: 1, pad: Pad::By(0, 0), extra: 0 };

    fn steps(&self, taps: usize) -> Steps {
        let pad = match self.pad {
            Pad::By(before, after) => (before, after),
            Pad::Causal => (taps.saturating_sub(1).saturating_mul(self.dilation), 0),
        };
        let may_be_short = matches!(self.pad, Pad::Causal);
        Steps {
            stride: [self.stride; 2],
            dilation: [self.dilation; 2],
            pad: [pad; 2],
            groups: self.groups,
            may_be_short,
        }
    }
}

/// `inputs` and `outputs` fall into `groups`, and `cut`, the axis of the weights that has one group only, may be shorter
/// than it is elsewhere.
pub(super) fn check_groups<Cut: Axis>(layer: &'static str, sizes: [usize; 2], groups: usize) -> Result<()> {
    let [inputs, outputs] = sizes;
    if groups == 0 || inputs % groups != 0 || outputs % groups != 0 {
        let what = format!("{inputs} input and {outputs} output channels do not make {groups} equal groups");
        return Err(Error::argument(layer, what));
    }
    if groups > 1 && Cut::KEY.fixed.is_some() {
        let what =
            format!("axis `{}` has a fixed size, so the weights of {groups} groups cannot cut it", Cut::KEY.name);
        return Err(Error::argument(layer, what));
    }
    Ok(())
}

/// `y` plus the bias, if there is one.
pub(super) fn add_bias<Y: Axes, O: Axis, D: Differentiable>(
    y: crate::raw::RawTensor,
    bias: Option<&Param<O, D>>,
) -> Result<Tensor<Y, D>> {
    let Some(bias) = bias else { return Ok(wrap(y)) };
    let plan = const { &PointwisePlan::new(Y::KEYS, <O as Axes>::KEYS) };
    Ok(wrap(arith::binary_owned(BinaryOp::Add, y, bias.raw(), plan, names::<Y, O>())?))
}

macro_rules! options {
    () => {
        /// The same with `stride` positions of the wider side from one of the narrower to the next.
        #[must_use]
        pub fn stride(mut self, stride: usize) -> Self {
            self.how.stride = stride;
            self
        }

        /// The same with `dilation` positions from one tap to the next.
        #[must_use]
        pub fn dilation(mut self, dilation: usize) -> Self {
            self.how.dilation = dilation;
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
            self.how.groups
        }
    };
}

impl<T: Resizable, I: Axis, O: Axis, D: Differentiable> Conv1d<T, I, O, D>
where
    (Tap, I, O): Distinct,
    (T, I): Distinct,
{
    /// Filters of `taps` taps between the sizes `(of I, of O)`: stride and dilation 1, no padding, a bias.
    ///
    /// Weight and bias start uniform with magnitude below `sqrt(1 / (inputs of a group * taps))`, as torch's do
    /// ([He et al. 2015](https://arxiv.org/abs/1502.01852) with `a = sqrt 5`); the numbers come from
    /// `key.derive("weight")` and `key.derive("bias")`.
    pub fn new(dims: (SizeArg<I>, SizeArg<O>), taps: usize, key: Key) -> Self {
        Self::try_grouped(dims, taps, 1, key).unwrap_or_else(|e| raise(e))
    }

    /// [`Self::new`] with the channels in `groups` that do not see each other; as many as channels make it depthwise.
    ///
    /// # Errors
    /// When the channels do not fall into groups, or the axis `I`, of which the weights have one group, has a fixed size.
    #[fallible]
    pub fn grouped(dims: (SizeArg<I>, SizeArg<O>), taps: usize, groups: usize, key: Key) -> Self {
        let (inputs, outputs) = (sizes::<I>(dims.0).0[0], sizes::<O>(dims.1).0[0]);
        check_groups::<I>("Conv1d", [inputs, outputs], groups)?;
        let fan_in = inputs / groups * taps;
        let cut = <I::Size as forge_axes::Size>::arg::<I>(inputs / groups);
        Ok(Self {
            weight: Param::new(kaiming_uniform((taps, cut, dims.1), fan_in, key.derive("weight"))?),
            bias: Some(Param::new(kaiming_uniform(dims.1, fan_in, key.derive("bias"))?)),
            how: How { groups, ..How::PLAIN },
            axis: std::marker::PhantomData,
        })
    }
}

impl<T: Resizable, I: Axis, O: Axis, D: Differentiable> Conv1d<T, I, O, D> {
    options!();

    /// The same with `before` and `after` positions of 0 around the input.
    #[must_use]
    pub fn pad(mut self, before: usize, after: usize) -> Self {
        self.how.pad = Pad::By(before, after);
        self
    }

    /// The same, padded before by what the filters span: no position sees a later one.
    #[must_use]
    pub fn causal(mut self) -> Self {
        self.how.pad = Pad::Causal;
        self
    }

    /// The convolution.
    ///
    /// # Errors
    /// When `x` has another number of channels, or fewer positions than the filters span.
    #[fallible]
    pub fn forward<X: Axes + Has<T> + Has<I>>(&self, x: &Tensor<X, D>) -> Tensor<Replace<X, I, O>, D>
    where
        Remove<X, I>: Lacks<O>,
    {
        let axes = ConvAxes {
            spatial: &[position::<X, T>() as u8],
            channel: position::<X, I>() as u8,
            taps: &[0],
            w_channel: 1,
            names: names::<X, (Tap, I, O)>(),
        };
        let y = raw::conv(x.raw(), self.weight.raw(), &axes, &self.how.steps(self.weight.shape()[0]), "conv1d")?;
        add_bias(y, self.bias.as_ref())
    }
}

/// The transposed convolution along the axis `T`, from the channels `I` to the channels `O`: each input lays its filter
/// into the output, `stride` apart, and what meets is added. It is what a [`Conv1d`] from `O` to `I` does to gradients; a
/// layer that widens. All other axes are examples.
///
/// There are `(n - 1) stride + (taps - 1) dilation + 1 - before - after` outputs, plus those of
/// [`Self::output_pad`].
///
/// ```
/// use forge::axes::{Batch, Channel, OutChannel, Time};
/// use forge::nn::ConvTranspose1d;
/// use forge::prelude::*;
/// use forge::rng::Key;
/// let up = ConvTranspose1d::<Time, Channel, OutChannel>::new((4, 8), 4, Key::new(0)).stride(2).pad(1, 1);
/// let y: Tensor<(Batch, Time, OutChannel)> = up.forward(&Tensor::<(Batch, Time, Channel)>::ones((2, 10, 4)));
/// assert_eq!(y.shape(), [2, 20, 8]);
/// ```
#[derive(Clone, Module)]
pub struct ConvTranspose1d<T: Axis, I: Axis, O: Axis, D: Differentiable = f32> {
    /// The filters; with groups, `O` has the channels of one group.
    pub weight: Param<(Tap, I, O), D>,
    /// What is added to each output channel, if anything.
    pub bias: Option<Param<O, D>>,
    #[module(skip)]
    how: How,
    #[module(skip)]
    axis: std::marker::PhantomData<fn() -> T>,
}

debug_layer!(ConvTranspose1d<T: Axis, I: Axis, O: Axis, D: Differentiable>);

impl<T: Resizable, I: Axis, O: Axis, D: Differentiable> ConvTranspose1d<T, I, O, D>
where
    (Tap, I, O): Distinct,
    (T, I): Distinct,
{
    /// Filters of `taps` taps between the sizes `(of I, of O)`: stride and dilation 1, no padding, a bias.
    ///
    /// Weight and bias start uniform with magnitude below `sqrt(1 / (outputs of a group * taps))`, as torch's do; the
    /// numbers come from `key.derive("weight")` and `key.derive("bias")`.
    pub fn new(dims: (SizeArg<I>, SizeArg<O>), taps: usize, key: Key) -> Self {
        Self::try_grouped(dims, taps, 1, key).unwrap_or_else(|e| raise(e))
    }

    /// [`Self::new`] with the channels in `groups` that do not see each other.
    ///
    /// # Errors
    /// When the channels do not fall into groups, or the axis `O`, of which the weights have one group, has a fixed size.
    #[fallible]
    pub fn grouped(dims: (SizeArg<I>, SizeArg<O>), taps: usize, groups: usize, key: Key) -> Self {
        let (inputs, outputs) = (sizes::<I>(dims.0).0[0], sizes::<O>(dims.1).0[0]);
        check_groups::<O>("ConvTranspose1d", [inputs, outputs], groups)?;
        let fan_in = outputs / groups * taps;
        let cut = <O::Size as forge_axes::Size>::arg::<O>(outputs / groups);
        Ok(Self {
            weight: Param::new(kaiming_uniform((taps, dims.0, cut), fan_in, key.derive("weight"))?),
            bias: Some(Param::new(kaiming_uniform(dims.1, fan_in, key.derive("bias"))?)),
            how: How { groups, ..How::PLAIN },
            axis: std::marker::PhantomData,
        })
    }
}

impl<T: Resizable, I: Axis, O: Axis, D: Differentiable> ConvTranspose1d<T, I, O, D> {
    options!();

    /// The same with `before` and `after` positions cut off the output.
    #[must_use]
    pub fn pad(mut self, before: usize, after: usize) -> Self {
        self.how.pad = Pad::By(before, after);
        self
    }

    /// The same with `extra` more outputs at the end: with a stride, several lengths of output come from one of input.
    #[must_use]
    pub fn output_pad(mut self, extra: usize) -> Self {
        self.how.extra = extra;
        self
    }

    /// The transposed convolution.
    ///
    /// # Errors
    /// When `x` has another number of channels, or more is cut off than there is.
    #[fallible]
    pub fn forward<X: Axes + Has<T> + Has<I>>(&self, x: &Tensor<X, D>) -> Tensor<Replace<X, I, O>, D>
    where
        Remove<X, I>: Lacks<O>,
    {
        let axes = ConvAxes {
            spatial: &[position::<X, T>() as u8],
            channel: position::<X, I>() as u8,
            taps: &[0],
            w_channel: 1,
            names: names::<X, (Tap, I, O)>(),
        };
        let steps = self.how.steps(self.weight.shape()[0]);
        let bias = self.bias.as_ref().map(|b| b.raw());
        let y = raw::conv_transpose(
            x.raw(),
            self.weight.raw(),
            bias,
            &axes,
            &steps,
            [self.how.extra; 2],
            "conv_transpose1d",
        )?;
        Ok(wrap(y))
    }
}
