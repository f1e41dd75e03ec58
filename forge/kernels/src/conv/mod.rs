//! Convolutions over dense images with channels last, in one and two dimensions.
//!
//! With `x[batch, height, width, groups * cin]`, `w[tap_y, tap_x, cin, groups * cout]` and
//! `y[batch, out_y, out_x, groups * cout]`, all three functions are about one trilinear form:
//!
//! ```text
//! sum of x[b, oy sy + ky dy - py, ox sx + kx dx - px, g cin + c] * w[ky, kx, c, g cout + o] * y[b, oy, ox, g cout + o]
//! ```
//!
//! [`forward`] is its derivative with respect to `y` (the convolution), [`input`] with respect to `x` (the transposed
//! convolution, and the gradient of the input), [`weights`] with respect to `w`. A convolution over time has height 1;
//! a causal one pads only before.
//!
//! # What the bits depend on
//! Every element of [`forward`] is one chain of multiply-adds from its start value (the bias, or zero): taps in
//! row-major order, within a tap the channels in order, with one rounding for each step where the instruction set has a
//! fused multiply-add and two where not. Taps that fall outside of the image are not part of the chain: nothing is
//! multiplied by a padding zero. So **the bits of an output depend on the inputs and weights that it sees and on nothing
//! else**: not on how many outputs there are, where it stands among them, the batch, or the number of threads. A signal
//! cut at any place, each piece computed with the inputs that it sees, gives the same bits as the whole. The same holds
//! for [`input`], whose chain has the taps in reverse. [`weights`] sums outputs in chunks that follow from sizes alone,
//! and adds the chunks in order.
//!
//! # How it is fast
//! There is no im2col: register tiles of outputs walk the taps in place, since with channels last a tap is a run of
//! memory, and outputs with the same valid taps form rectangles in which it moves at one distance. Depthwise
//! convolutions go over channels, or over time and channels as one axis when these are few.

mod grad;
mod pack;
mod pass;
mod side;
#[cfg(test)]
mod tests;
mod tile;

pub use side::Side;
pub use tile::ConvFloat;

use crate::isa::isa;
use crate::layout::Strided;
use crate::scratch::Scratch;
use crate::team;
use pack::Weights;
use pass::{Image, Pass};
use tile::Kernel;

/// Sizes of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv {
    /// Independent images.
    pub batch: usize,
    /// Lines (y), then positions of a line (x).
    pub sides: [Side; 2],
    /// Groups of channels that do not see each other.
    pub groups: usize,
    /// Input channels of a group.
    pub cin: usize,
    /// Output channels of a group.
    pub cout: usize,
}

impl Conv {
    /// Elements of `x`.
    pub fn x_len(&self) -> usize {
        self.batch * self.sides[0].input * self.sides[1].input * self.groups * self.cin
    }

    /// Elements of `y`.
    pub fn y_len(&self) -> usize {
        self.batch * self.sides[0].output * self.sides[1].output * self.groups * self.cout
    }

    /// Sizes of `w`.
    pub fn w_shape(&self) -> [usize; 4] {
        [self.sides[0].taps, self.sides[1].taps, self.cin, self.groups * self.cout]
    }

    /// One input and one output channel in each group.
    fn is_depthwise(&self) -> bool {
        self.cin == 1 && self.cout == 1
    }

    /// The same convolution with as few axes as possible: lines that see only themselves are positions.
    fn merged(mut self) -> Self {
        let [y, x] = self.sides;
        if x.is_pointwise() && y.is_pointwise() {
            let n = self.batch * y.input * x.input;
            (self.batch, self.sides) = (1, [Side::POINT, Side { input: n, output: n, ..x }]);
        } else if x.is_pointwise() && x.input == 1 {
            // An image one position wide is a line.
            self.sides = [Side::POINT, y];
        }
        self
    }

    fn check<T>(&self, x: Option<&[T]>, y: Option<&[T]>, w: &[usize]) {
        self.sides.iter().for_each(Side::check);
        assert!(x.is_none_or(|x| x.len() == self.x_len()), "the input does not have the size that {self:?} says");
        assert!(y.is_none_or(|y| y.len() == self.y_len()), "the output does not have the size that {self:?} says");
        assert_eq!(w, self.w_shape(), "the weights do not have the shape that {self:?} says");
    }
}

/// Distances in a dense image of `width` positions of `channels`.
fn image(side: &[usize; 2], channels: usize) -> Image {
    let line = side[1] * channels;
    Image { batch: (side[0] * line) as isize, line: line as isize, pos: channels as isize }
}

/// `y = bias + x * w`: the convolution. `w` may have any strides; `bias` has one value for each output channel.
///
/// # Panics
/// When a slice does not have the size that `conv` says.
///
/// ```
/// use forge_kernels::{Strided, conv::{self, Conv, Side}};
/// let x = [1.0f32, 2.0, 3.0, 4.0];
/// let w = [10.0, 1.0];
/// let time = Side::padded(4, 2, 1, 1, 1, 0); // causal: padded before, by taps - 1
/// let conv = Conv { batch: 1, sides: [Side::POINT, time], groups: 1, cin: 1, cout: 1 };
/// let mut y = [0.0; 4];
/// conv::forward(&mut y, &x, &Strided::dense(&w, &[1, 2, 1, 1]), None, &conv);
/// assert_eq!(y, [1.0, 12.0, 23.0, 34.0]);
/// ```
pub fn forward<T: ConvFloat>(y: &mut [T], x: &[T], w: &Strided<T>, bias: Option<&[T]>, conv: &Conv) {
    conv.check(Some(x), Some(y), w.shape());
    let (conv, w) = merged(w, conv);
    let [sy, sx] = conv.sides;
    let a = (x.as_ptr(), image(&[sy.input, sx.input], conv.groups * conv.cin));
    let c = (y.as_mut_ptr(), image(&[sy.output, sx.output], conv.groups * conv.cout));
    pass(&conv, conv.sides, w, a, c, bias);
}

/// `x = bias + y * w`, transposed: every output goes back to the inputs that it came from. `w` may have any strides;
/// `bias` has one value for each channel of `x`.
///
/// # Panics
/// When a slice does not have the size that `conv` says.
pub fn input<T: ConvFloat>(x: &mut [T], y: &[T], w: &Strided<T>, bias: Option<&[T]>, conv: &Conv) {
    conv.check(Some(x), Some(y), w.shape());
    let (conv, w) = merged(w, conv);
    let [sy, sx] = conv.sides;
    let a = (y.as_ptr(), image(&[sy.output, sx.output], conv.groups * conv.cout));
    let ic = image(&[sy.input, sx.input], conv.groups * conv.cin);
    for ry in 0..sy.stride.min(sy.input) {
        for rx in 0..sx.stride.min(sx.input) {
            let (py, px) = (sy.phase(ry), sx.phase(rx));
            let shift = py.last as isize * w.ys + px.last as isize * w.xs;
            let w = Weights {
                offset: w.offset + shift,
                taps: [py.side.taps, px.side.taps],
                rows: w.cols,
                cols: w.rows,
                ys: -(py.step as isize) * w.ys,
                xs: -(px.step as isize) * w.xs,
                rs: w.cs,
                cs: w.rs,
                ..w
            };
            let first = x.as_mut_ptr().wrapping_offset(ry as isize * ic.line + rx as isize * ic.pos);
            let (line, pos) = (ic.line * sy.stride as isize, ic.pos * sx.stride as isize);
            pass(&conv, [py.side, px.side], w, a, (first, Image { line, pos, ..ic }), bias);
        }
    }
}

/// `w = x * y`, summed over all outputs: the gradient of the weights, dense in the order of [`Conv::w_shape`].
///
/// # Panics
/// When a slice does not have the size that `conv` says.
pub fn weights<T: ConvFloat>(w: &mut [T], x: &[T], y: &[T], conv: &Conv) {
    conv.check(Some(x), Some(y), &conv.w_shape());
    assert_eq!(w.len(), conv.w_shape().iter().product::<usize>());
    let conv = conv.merged();
    let time = conv.sides[1];
    if conv.is_depthwise() && conv.groups == 1 && conv.sides[0] == Side::POINT && time.dilation == 1 && time.taps >= FEW
    {
        filter(w, x, y, &conv);
    } else {
        grad::weights(kernel::<T>(), w, x, y, &conv);
    }
}

/// The gradient of one long filter on one channel: a convolution whose taps are the outputs. It has one result for each
/// tap, so it goes along the taps as a convolution goes along time.
fn filter<T: ConvFloat>(w: &mut [T], x: &[T], y: &[T], conv: &Conv) {
    /// Outputs of one chain.
    const CHUNK: usize = 4096;
    let time = conv.sides[1];
    let chunks = time.output.div_ceil(CHUNK);
    let parts = conv.batch * chunks;
    if w.is_empty() || parts == 0 {
        return w.fill(T::default());
    }
    let mut buffer = Scratch::<T>::new(parts * w.len());
    team::for_each_chunk(&mut buffer, w.len(), |i, sums| {
        let (batch, first) = (i / chunks, i % chunks * CHUNK);
        let taps = CHUNK.min(time.output - first);
        let side = Side {
            input: time.input,
            output: time.taps,
            taps,
            stride: 1,
            dilation: time.stride,
            pad: time.pad - (first * time.stride) as isize,
        };
        let x = &x[batch * time.input..(batch + 1) * time.input];
        let y = &y[batch * time.output + first..batch * time.output + first + taps];
        let one = Conv { batch: 1, sides: [Side::POINT, side], groups: 1, cin: 1, cout: 1 };
        forward(sums, x, &Strided::dense(y, &one.w_shape()), None, &one);
    });
    grad::total(w, &buffer, parts);
}

/// The tiles in use.
fn kernel<T: ConvFloat>() -> &'static Kernel<T> {
    T::table(isa()).0
}

/// The convolution with as few axes as possible, and its weights.
fn merged<'a, T: ConvFloat>(w: &Strided<'a, T>, conv: &Conv) -> (Conv, Weights<'a, T>) {
    let (s, shape) = (w.layout().strides(), w.shape());
    let w = Weights {
        data: w.data(),
        offset: w.offset() as isize,
        taps: [shape[0], shape[1]],
        rows: conv.cin,
        cols: conv.cout,
        groups: conv.groups,
        ys: s[0],
        xs: s[1],
        rs: s[2],
        cs: s[3],
        gs: conv.cout as isize * s[3],
    };
    let conv = conv.merged();
    // Lines that became positions take their taps along.
    let along = conv.sides[0].taps == 1 && w.taps[0] > 1;
    (conv, if along { Weights { taps: [1, w.taps[0]], xs: w.ys, ys: 0, ..w } } else { w })
}

/// Columns from which on a line of a depthwise image fills registers by itself.
const FEW: usize = 16;

/// One pass over `sides`, from `a` to `c`.
fn pass<T: ConvFloat>(
    conv: &Conv,
    sides: [Side; 2],
    w: Weights<T>,
    a: (*const T, Image),
    c: (*mut T, Image),
    bias: Option<&[T]>,
) {
    let channels = w.cols * w.groups;
    assert!(bias.is_none_or(|b| b.len() == channels), "a bias has one value for each of {channels} channels");
    let uses = conv.batch * sides[0].output * sides[1].output;
    if uses == 0 || channels == 0 {
        return;
    }
    let deep = conv.is_depthwise();
    // A filter for each channel: one group of columns.
    let w = if deep { Weights { rows: 1, cols: channels, groups: 1, cs: w.gs, gs: 0, ..w } } else { w };
    let period = if deep && channels < FEW && sides[1].stride == 1 && c.1.pos == channels as isize {
        channels * FEW / gcd(channels, FEW)
    } else {
        0
    };
    let packed = if period > 0 { w.tile(period, bias) } else { w.pack(uses / 6) };
    let bias = match bias {
        None => std::ptr::null(),
        Some(_) if period > 0 => packed.ptr.wrapping_add(w.depth() * period),
        Some(b) => b.as_ptr(),
    };
    let pass = Pass {
        kernel: kernel::<T>(),
        sides,
        batch: conv.batch,
        groups: w.groups,
        rows: w.rows,
        cols: w.cols,
        deep,
        period,
        a: a.0,
        image_a: a.1,
        weights: packed,
        bias,
        c: c.0,
        image_c: c.1,
    };
    pass.run();
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
