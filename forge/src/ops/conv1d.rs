//! Convolutions along one axis.

use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::dyn_tensor::{DynAxis, check_distinct, keys_of, list_text};
use crate::error::Error;
use crate::raw::conv::{ConvAxes, Steps};
use crate::raw::{Names, RawTensor, conv as raw};
use crate::tensor::{Tensor, names, position, wrap};
use forge_axes::plan::NONE;
use forge_axes::{Axes, Axis, Distinct, Has, Minus, PermutationOf, Replace, Resizable, RoomFor};
use forge_macros::fallible;

/// Axes of a convolution of `X` with weights `W` over the channel axis `C`: the weights' other axes (without the taps
/// `K`) take its place.
pub type ConvOf<X, W, C, K> = Replace<X, C, Minus<W, (K, C)>>;

/// How a [`conv1d`](Tensor::conv1d) moves: stride, padding, dilation and groups. By default none of them.
///
/// ```
/// use forge::Conv1d;
/// let how = Conv1d::new().stride(2).pad(1).dilation(4);
/// # let _ = how;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Conv1d {
    stride: usize,
    pad: (usize, usize),
    dilation: usize,
    groups: usize,
}

impl Default for Conv1d {
    fn default() -> Self {
        Self { stride: 1, pad: (0, 0), dilation: 1, groups: 1 }
    }
}

impl Conv1d {
    /// Stride 1, no padding, dilation 1, one group.
    pub fn new() -> Self {
        Self::default()
    }

    /// Inputs from one output to the next.
    pub fn stride(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    /// Positions outside of the input that outputs may reach, before its start and after its end.
    pub fn pad(self, pad: usize) -> Self {
        Self { pad: (pad, pad), ..self }
    }

    /// [`Self::pad`] with different numbers before the start and after the end.
    pub fn pad_each(self, before: usize, after: usize) -> Self {
        Self { pad: (before, after), ..self }
    }

    /// Inputs from one tap to the next.
    pub fn dilation(self, dilation: usize) -> Self {
        Self { dilation, ..self }
    }

    /// Groups of channels that do not see each other: the first share of the inputs makes the first share of the
    /// outputs, and so on. The weights' channel axis is one group's.
    pub fn groups(self, groups: usize) -> Self {
        Self { groups, ..self }
    }

    fn steps(self) -> Steps {
        Steps {
            stride: [self.stride, 1],
            dilation: [self.dilation, 1],
            pad: [self.pad, (0, 0)],
            groups: self.groups,
            may_be_short: false,
        }
    }
}

/// How a causal convolution looks back: dilation and groups. By default every tap is one step from the next, and all
/// channels see each other.
///
/// ```
/// use forge::CausalConv1d;
/// // Three taps, eight steps apart, reach 16 steps back.
/// assert_eq!(CausalConv1d::new().dilation(8).history(3), 16);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct CausalConv1d {
    dilation: usize,
    groups: usize,
}

impl Default for CausalConv1d {
    fn default() -> Self {
        Self { dilation: 1, groups: 1 }
    }
}

impl CausalConv1d {
    /// Dilation 1, one group.
    pub fn new() -> Self {
        Self::default()
    }

    /// Steps from one tap to the next.
    pub fn dilation(self, dilation: usize) -> Self {
        Self { dilation, ..self }
    }

    /// Groups of channels that do not see each other (see [`Conv1d::groups`]).
    pub fn groups(self, groups: usize) -> Self {
        Self { groups, ..self }
    }

    /// How many steps before the newest one the oldest of `taps` taps stands: the rows of state that a stream keeps.
    pub fn history(self, taps: usize) -> usize {
        taps.saturating_sub(1).saturating_mul(self.dilation)
    }

    fn steps(self, before: usize) -> Steps {
        // An empty piece of a stream sees its history alone.
        let pad = [(before, 0), (0, 0)];
        Steps { stride: [1; 2], dilation: [self.dilation, 1], pad, groups: self.groups, may_be_short: true }
    }
}

/// A causal convolution: without `past` the taps before the first step are not there, with it they are its rows.
fn causal(
    op: &'static str,
    x: &RawTensor,
    past: Option<(&RawTensor, Names)>,
    w: &RawTensor,
    axes: &ConvAxes,
    how: CausalConv1d,
) -> Result<RawTensor, Error> {
    if axes.w_channel == NONE && how.groups != 1 {
        return Err(Error::argument(
            op,
            "every channel of a depthwise convolution is a group of its own; leave `groups` at 1",
        ));
    }
    let history = how.history(w.shape()[axes.taps[0] as usize]);
    let Some((past, past_names)) = past else {
        return raw::conv(x, w, axes, &how.steps(history), op);
    };
    let time = axes.spatial[0] as usize;
    if past.shape()[time] != history {
        let name = axes.names.lhs.get(time).map_or("?", |k| k.name);
        return Err(Error::argument(
            op,
            format!(
                "the state must have the {history} rows of `{name}` that the taps reach back, not {}",
                past.shape()[time]
            ),
        ));
    }
    let whole = raw::prepend(past, x, time, past_names, op)?;
    raw::conv(&whole, w, axes, &how.steps(0), op)
}

/// Rows of state: the newest `rows` rows of `past`, then `x`.
fn newest(
    op: &'static str,
    past: &RawTensor,
    x: &RawTensor,
    at: crate::raw::At,
    names: Names,
) -> Result<RawTensor, Error> {
    let whole = raw::prepend(past, x, at.axis, names, op)?;
    crate::raw::shape::narrow(&whole, at, x.shape()[at.axis], past.shape()[at.axis])
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Convolution along `time`: `y[t, out] = sum over taps and channels of x[t stride + tap dilation - pad, channel]
    /// w[tap, channel, out]` (a correlation, as everywhere in deep learning: taps are not flipped).
    ///
    /// All axes of `w` beside `tap` and `channel` are output axes and take the place of `channel`; all other axes of the
    /// tensor are batch axes. The axes of both may be in any order; `(.., Time, Channel)` and `(Tap, Channel, Out)` are
    /// computed in place. There are `(size + before + after - dilation (taps - 1) - 1) / stride + 1` outputs, rounded
    /// down. With kernel size 1 this is a matrix product along `channel`.
    ///
    /// Each output is one chain of multiply-adds over the taps and channels that it sees, in their order, and nothing
    /// else: its bits do not depend on how many outputs there are, on the batch, or on threads. A signal that is cut
    /// anywhere gives the same bits as the whole. Padding is never multiplied, so an infinite weight meets no zero.
    ///
    /// ```
    /// use forge::Conv1d;
    /// use forge::axes::{Batch, Channel, OutChannel, Tap, Time};
    /// use forge::prelude::*;
    /// let x = Tensor::<(Batch, Time, Channel)>::ones((2, 10, 4));
    /// let w = Tensor::<(Tap, Channel, OutChannel)>::ones((3, 4, 8));
    /// let y: Tensor<(Batch, Time, OutChannel)> = x.conv1d(&w, Time, Channel, Tap, Conv1d::new().stride(2).pad(1));
    /// assert_eq!(y.shape(), [2, 5, 8]);
    /// assert_eq!(y.get((0, 0, 0)), 8.0); // the first output sees two taps of four channels
    /// ```
    ///
    /// # Errors
    /// When the channels do not fit the weights and groups, the kernel does not fit the padded input, or an option is 0.
    #[fallible]
    pub fn conv1d<W: Axes, T: Resizable, C: Axis, K: Axis>(
        &self,
        w: &Tensor<W, D>,
        time: T,
        channel: C,
        tap: K,
        how: Conv1d,
    ) -> Tensor<ConvOf<X, W, C, K>, D>
    where
        X: Has<T> + Has<C> + RoomFor<Minus<W, (K, C)>, C>,
        W: Has<C> + Has<K>,
        (T, C): Distinct,
        (K, C): Distinct,
        D: Float,
    {
        let _ = (time, channel, tap);
        Ok(wrap(raw::conv(self.raw(), w.raw(), &parts::<X, W, T, C, K>(), &how.steps(), "conv1d")?))
    }

    /// Convolution that looks back only: the last tap is the newest sample, and there are as many outputs as inputs:
    /// `y[t, out] = sum over taps and channels of x[t - dilation (taps - 1 - tap), channel] w[tap, channel, out]`.
    /// Before the first sample there is nothing.
    ///
    /// Axes and bits are as in [`conv1d`](Self::conv1d). To process a stream piece by piece, see
    /// [`causal_conv1d_after`](Self::causal_conv1d_after).
    ///
    /// ```
    /// use forge::CausalConv1d;
    /// use forge::axes::{Channel, OutChannel, Tap, Time};
    /// use forge::prelude::*;
    /// let x = Tensor::<(Time, Channel)>::from_vec((4, 1), vec![1., 2., 3., 4.]);
    /// let w = Tensor::<(Tap, Channel, OutChannel)>::from_vec((2, 1, 1), vec![10., 1.]);
    /// let y = x.causal_conv1d(&w, Time, Channel, Tap, CausalConv1d::new());
    /// assert_eq!(y.to_vec(), [1., 12., 23., 34.]);
    /// ```
    ///
    /// # Errors
    /// When the channels do not fit the weights and groups, or an option is 0.
    #[fallible]
    pub fn causal_conv1d<W: Axes, T: Axis, C: Axis, K: Axis>(
        &self,
        w: &Tensor<W, D>,
        time: T,
        channel: C,
        tap: K,
        how: CausalConv1d,
    ) -> Tensor<ConvOf<X, W, C, K>, D>
    where
        X: Has<T> + Has<C> + RoomFor<Minus<W, (K, C)>, C>,
        W: Has<C> + Has<K>,
        (T, C): Distinct,
        (K, C): Distinct,
        D: Float,
    {
        let _ = (time, channel, tap);
        Ok(wrap(causal("causal_conv1d", self.raw(), None, w.raw(), &parts::<X, W, T, C, K>(), how)?))
    }

    /// [`causal_conv1d`](Self::causal_conv1d) of a piece of a stream: `past` holds the
    /// [`history`](CausalConv1d::history) rows before it, oldest first. The result has the bits that the whole stream
    /// would give, whatever the pieces; at the very beginning, `past` of zeros is the same as none (for finite weights).
    /// [`causal_state`](Self::causal_state) makes the `past` of the next piece.
    ///
    /// ```
    /// use forge::CausalConv1d;
    /// use forge::axes::{Channel, OutChannel, Tap};
    /// use forge::prelude::*;
    /// axes! { Time }
    /// let w = Tensor::<(Tap, Channel, OutChannel)>::from_vec((2, 1, 1), vec![10., 1.]);
    /// let mut past = Tensor::<(Time, Channel)>::zeros((CausalConv1d::new().history(2), 1));
    /// let mut out = vec![];
    /// for piece in [vec![1.], vec![2., 3.], vec![4.]] {
    ///     let x = Tensor::<(Time, Channel)>::from_vec((piece.len(), 1), piece);
    ///     out.extend(x.causal_conv1d_after(&past, &w, Time, Channel, Tap, CausalConv1d::new()).to_vec());
    ///     past = x.causal_state(&past, Time);
    /// }
    /// assert_eq!(out, [1., 12., 23., 34.]);
    /// ```
    ///
    /// # Errors
    /// As [`causal_conv1d`](Self::causal_conv1d), and when `past` has another number of rows or other sizes.
    #[fallible]
    pub fn causal_conv1d_after<W: Axes, T: Resizable, C: Axis, K: Axis>(
        &self,
        past: &Self,
        w: &Tensor<W, D>,
        time: T,
        channel: C,
        tap: K,
        how: CausalConv1d,
    ) -> Tensor<ConvOf<X, W, C, K>, D>
    where
        X: Has<T> + Has<C> + RoomFor<Minus<W, (K, C)>, C>,
        W: Has<C> + Has<K>,
        (T, C): Distinct,
        (K, C): Distinct,
        D: Float,
    {
        let _ = (time, channel, tap);
        let past = Some((past.raw(), names::<X, X>()));
        Ok(wrap(causal("causal_conv1d_after", self.raw(), past, w.raw(), &parts::<X, W, T, C, K>(), how)?))
    }

    /// The state after a piece of a stream: as many rows of `time` as `past` has, the newest of `past` and this tensor.
    ///
    /// # Errors
    /// When another axis of `past` has another size.
    #[fallible]
    pub fn causal_state<T: Resizable>(&self, past: &Self, time: T) -> Self
    where
        X: Has<T>,
        D: Float,
    {
        let _ = time;
        let at = crate::tensor::at::<X, T>();
        Ok(wrap(newest("causal_state", past.raw(), self.raw(), at, names::<X, X>())?))
    }

    /// [`causal_conv1d`](Self::causal_conv1d) in which every channel has its own filter and sees only itself:
    /// `y[t, c] = sum over taps of x[t - dilation (taps - 1 - tap), c] w[tap, c]`.
    ///
    /// ```
    /// use forge::CausalConv1d;
    /// use forge::axes::{Channel, Tap, Time};
    /// use forge::prelude::*;
    /// let x = Tensor::<(Time, Channel)>::from_vec((3, 2), vec![1., 10., 2., 20., 3., 30.]);
    /// let w = Tensor::<(Channel, Tap)>::from_vec((2, 2), vec![1., 1., 0., 1.]);
    /// let y = x.causal_depthwise_conv1d(&w, Time, Channel, Tap, CausalConv1d::new());
    /// assert_eq!(y.to_vec(), [1., 10., 3., 20., 5., 30.]);
    /// ```
    ///
    /// # Errors
    /// When the channels differ in number, or an option is 0, or groups are asked for.
    #[fallible]
    pub fn causal_depthwise_conv1d<W: Axes, T: Axis, C: Axis, K: Axis>(
        &self,
        w: &Tensor<W, D>,
        time: T,
        channel: C,
        tap: K,
        how: CausalConv1d,
    ) -> Self
    where
        X: Has<T> + Has<C>,
        W: Has<C> + Has<K> + PermutationOf<(C, K)>,
        (T, C): Distinct,
        D: Float,
    {
        let _ = (time, channel, tap);
        let axes = ConvAxes { w_channel: NONE, ..parts::<X, W, T, C, K>() };
        Ok(wrap(causal("causal_depthwise_conv1d", self.raw(), None, w.raw(), &axes, how)?))
    }

    /// [`causal_depthwise_conv1d`](Self::causal_depthwise_conv1d) of a piece of a stream, as
    /// [`causal_conv1d_after`](Self::causal_conv1d_after).
    ///
    /// # Errors
    /// As those two.
    #[fallible]
    pub fn causal_depthwise_conv1d_after<W: Axes, T: Resizable, C: Axis, K: Axis>(
        &self,
        past: &Self,
        w: &Tensor<W, D>,
        time: T,
        channel: C,
        tap: K,
        how: CausalConv1d,
    ) -> Self
    where
        X: Has<T> + Has<C>,
        W: Has<C> + Has<K> + PermutationOf<(C, K)>,
        (T, C): Distinct,
        D: Float,
    {
        let _ = (time, channel, tap);
        let axes = ConvAxes { w_channel: NONE, ..parts::<X, W, T, C, K>() };
        let past = Some((past.raw(), names::<X, X>()));
        Ok(wrap(causal("causal_depthwise_conv1d_after", self.raw(), past, w.raw(), &axes, how)?))
    }
}

/// Which axes play which part.
pub(super) const fn parts<X: Axes, W: Axes, T: Axis, C: Axis, K: Axis>() -> ConvAxes<'static> {
    ConvAxes {
        spatial: const { &[position::<X, T>() as u8] },
        channel: position::<X, C>() as u8,
        taps: const { &[position::<W, K>() as u8] },
        w_channel: position::<W, C>() as u8,
        names: names::<X, W>(),
    }
}

/// [`parts`] at run time: positions of the spatial axes and the channel in `x`, of the taps and the channel in `w`, and
/// the result's axes.
pub(super) struct DynParts {
    pub spatial: Vec<u8>,
    pub channel: u8,
    pub taps: Vec<u8>,
    pub w_channel: u8,
    pub axes: Vec<DynAxis>,
}

impl DynParts {
    pub fn new(
        op: &'static str,
        x: &DynTensor,
        w: &DynTensor,
        spatial: &[DynAxis],
        channel: &DynAxis,
        taps: &[DynAxis],
    ) -> Result<Self, Error> {
        let place = |t: &DynTensor, a: &DynAxis| Ok::<_, Error>(t.position(op, a)? as u8);
        let places = |t: &DynTensor, axes: &[DynAxis]| axes.iter().map(|a| place(t, a)).collect::<Result<Vec<u8>, _>>();
        let (c, wc) = (place(x, channel)?, place(w, channel)?);
        let (s, k) = (places(x, spatial)?, places(w, taps)?);
        for (list, last, keys) in [(&s, c, spatial), (&k, wc, taps)] {
            let mut all: Vec<u8> = list.clone();
            all.push(last);
            all.sort_unstable();
            if all.windows(2).any(|p| p[0] == p[1]) {
                let mut named = keys.to_vec();
                named.push(channel.clone());
                return Err(Error::axes(op, format!("`{}` names an axis twice", list_text(&keys_of(&named)))));
            }
        }
        let outs = (0..w.axes().len()).filter(|&i| !k.contains(&(i as u8)) && i != wc as usize);
        let mut axes = x.axes().to_vec();
        axes.splice(c as usize..=c as usize, outs.map(|i| w.axes()[i].clone()));
        if axes.len() > 8 {
            return Err(Error::axes(
                op,
                format!("the result would have {} axes; a tensor may have at most 8", axes.len()),
            ));
        }
        check_distinct(op, &keys_of(&axes))?;
        Ok(Self { spatial: s, channel: c, taps: k, w_channel: wc, axes })
    }

    pub fn with<'k>(&'k self, names: Names<'k>) -> ConvAxes<'k> {
        ConvAxes { spatial: &self.spatial, channel: self.channel, taps: &self.taps, w_channel: self.w_channel, names }
    }
}

impl DynTensor {
    /// [`Tensor::conv1d`].
    ///
    /// # Errors
    /// As there, and when an axis is missing or would appear twice.
    pub fn conv1d(
        &self,
        w: &Self,
        time: impl Into<DynAxis>,
        channel: impl Into<DynAxis>,
        tap: impl Into<DynAxis>,
        how: Conv1d,
    ) -> Result<Self, Error> {
        let p = DynParts::new("conv1d", self, w, &[time.into()], &channel.into(), &[tap.into()])?;
        let (lhs, rhs) = (self.keys(), w.keys());
        let y = raw::conv(self.raw(), w.raw(), &p.with(Names { lhs: &lhs, rhs: &rhs }), &how.steps(), "conv1d")?;
        Ok(Self::new(y, p.axes))
    }

    /// [`Tensor::causal_conv1d`].
    ///
    /// # Errors
    /// As there, and when an axis is missing or would appear twice.
    pub fn causal_conv1d(
        &self,
        w: &Self,
        time: impl Into<DynAxis>,
        channel: impl Into<DynAxis>,
        tap: impl Into<DynAxis>,
        how: CausalConv1d,
    ) -> Result<Self, Error> {
        self.causal("causal_conv1d", None, w, &time.into(), &channel.into(), &tap.into(), how)
    }

    /// [`Tensor::causal_conv1d_after`].
    ///
    /// # Errors
    /// As there, and when an axis is missing or would appear twice.
    pub fn causal_conv1d_after(
        &self,
        past: &Self,
        w: &Self,
        time: impl Into<DynAxis>,
        channel: impl Into<DynAxis>,
        tap: impl Into<DynAxis>,
        how: CausalConv1d,
    ) -> Result<Self, Error> {
        self.causal("causal_conv1d_after", Some(past), w, &time.into(), &channel.into(), &tap.into(), how)
    }

    /// [`Tensor::causal_state`].
    ///
    /// # Errors
    /// As there, and when an axis is missing or `past` has others.
    pub fn causal_state(&self, past: &Self, time: impl Into<DynAxis>) -> Result<Self, Error> {
        let past = self.like_me("causal_state", past)?;
        let keys = self.keys();
        let names = Names { lhs: &keys, rhs: &keys };
        let y = self.at("causal_state", &time.into(), |at| newest("causal_state", &past, self.raw(), at, names))?;
        Ok(self.with_raw(y))
    }

    /// [`Tensor::causal_depthwise_conv1d`].
    ///
    /// # Errors
    /// As there, and when an axis is missing or `w` has others than the channel and the taps.
    pub fn causal_depthwise_conv1d(
        &self,
        w: &Self,
        time: impl Into<DynAxis>,
        channel: impl Into<DynAxis>,
        tap: impl Into<DynAxis>,
        how: CausalConv1d,
    ) -> Result<Self, Error> {
        self.depthwise("causal_depthwise_conv1d", None, w, &time.into(), &channel.into(), &tap.into(), how)
    }

    /// [`Tensor::causal_depthwise_conv1d_after`].
    ///
    /// # Errors
    /// As there, and when an axis is missing or `w` has others than the channel and the taps.
    pub fn causal_depthwise_conv1d_after(
        &self,
        past: &Self,
        w: &Self,
        time: impl Into<DynAxis>,
        channel: impl Into<DynAxis>,
        tap: impl Into<DynAxis>,
        how: CausalConv1d,
    ) -> Result<Self, Error> {
        self.depthwise("causal_depthwise_conv1d_after", Some(past), w, &time.into(), &channel.into(), &tap.into(), how)
    }

    fn causal(
        &self,
        op: &'static str,
        past: Option<&Self>,
        w: &Self,
        time: &DynAxis,
        channel: &DynAxis,
        tap: &DynAxis,
        how: CausalConv1d,
    ) -> Result<Self, Error> {
        let p = DynParts::new(op, self, w, std::slice::from_ref(time), channel, std::slice::from_ref(tap))?;
        let past = past.map(|p| self.like_me(op, p)).transpose()?;
        let (lhs, rhs) = (self.keys(), w.keys());
        let past = past.as_ref().map(|p| (p, Names { lhs: &lhs, rhs: &lhs }));
        let y = causal(op, self.raw(), past, w.raw(), &p.with(Names { lhs: &lhs, rhs: &rhs }), how)?;
        Ok(Self::new(y, p.axes))
    }

    fn depthwise(
        &self,
        op: &'static str,
        past: Option<&Self>,
        w: &Self,
        time: &DynAxis,
        channel: &DynAxis,
        tap: &DynAxis,
        how: CausalConv1d,
    ) -> Result<Self, Error> {
        let spatial = [self.position(op, time)? as u8];
        let taps = [w.position(op, tap)? as u8];
        let (c, wc) = (self.position(op, channel)?, w.position(op, channel)?);
        let (lhs, rhs) = (self.keys(), w.keys());
        if rhs.len() != 2 || usize::from(taps[0]) == wc || usize::from(spatial[0]) == c {
            let want =
                format!("weights of a filter for each channel have the axes `({}, {})`", channel.name(), tap.name());
            return Err(Error::axes(op, format!("{want} beside `{}`, not `{}`", time.name(), list_text(&rhs))));
        }
        let names = Names { lhs: &lhs, rhs: &rhs };
        let axes = ConvAxes { spatial: &spatial, channel: c as u8, taps: &taps, w_channel: NONE, names };
        let past = past.map(|p| self.like_me(op, p)).transpose()?;
        let past = past.as_ref().map(|p| (p, Names { lhs: &lhs, rhs: &lhs }));
        Ok(self.with_raw(causal(op, self.raw(), past, w.raw(), &axes, how)?))
    }

    /// `other` with its axes in this tensor's order; it must have the same.
    fn like_me(&self, op: &'static str, other: &Self) -> Result<RawTensor, Error> {
        let (own, theirs) = (self.keys(), other.keys());
        let order: Vec<u8> = own.iter().map(|k| forge_axes::plan::pos(&theirs, k)).collect();
        if own.len() != theirs.len() || order.contains(&NONE) {
            return Err(Error::axes(
                op,
                format!("the state has the axes `{}`, not `{}`", list_text(&theirs), list_text(&own)),
            ));
        }
        Ok(crate::raw::shape::permute(other.raw(), &order))
    }
}
