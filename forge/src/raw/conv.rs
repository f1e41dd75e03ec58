//! Convolutions, plain, depthwise and transposed, in one and two dimensions.
//!
//! All of them are derivatives of one trilinear form (see [`forge_kernels::conv`]), and so are their gradients: the form
//! is closed under differentiation, to any order. The three functions at the end of this file are its derivatives on
//! tensors `[batch, lines, positions, channels]`; everything before brings axes into that order and back.

use super::{Names, RawTensor, by_dtype, by_float, cast, reduce, shape};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result, axes_text};
use forge_axes::plan::NONE;
use forge_kernels::conv::{self as kernel, Conv, Side};
use forge_kernels::{DType, MAX_RANK, elementwise};

/// Which axes of the operands play which part.
#[derive(Clone, Copy)]
pub struct ConvAxes<'k> {
    /// Positions of the spatial axes of the input: one, or lines and then positions.
    pub spatial: &'k [u8],
    /// Position of the input's channels.
    pub channel: u8,
    /// Positions of the taps along each spatial axis, in the weights.
    pub taps: &'k [u8],
    /// Position of the channels that the weights share with the input; [`NONE`] where each channel has a filter of its
    /// own.
    pub w_channel: u8,
    /// Names of both operands' axes.
    pub names: Names<'k>,
}

/// How the kernel moves, for each spatial axis.
#[derive(Clone, Copy)]
pub struct Steps {
    /// Inputs from one output to the next.
    pub stride: [usize; 2],
    /// Inputs from one tap to the next.
    pub dilation: [usize; 2],
    /// Positions outside of the input before its first element and after its last.
    pub pad: [(usize, usize); 2],
    /// Groups of channels that do not see each other.
    pub groups: usize,
    /// An input that the kernel does not fit gives no output, instead of an error.
    pub may_be_short: bool,
}

/// Larger numbers are refused, so that positions cannot overflow.
const LIMIT: usize = 1 << 40;

impl Steps {
    fn check(&self, op: &'static str, n: usize) -> Result<()> {
        for i in 0..n {
            if self.stride[i] == 0 || self.dilation[i] == 0 {
                return Err(Error::argument(op, "stride and dilation must be at least 1"));
            }
            let largest = self.stride[i].max(self.dilation[i]).max(self.pad[i].0).max(self.pad[i].1);
            if largest > LIMIT {
                return Err(Error::argument(op, format!("a stride, dilation or padding of {largest} is too large")));
            }
        }
        if self.groups == 0 {
            return Err(Error::argument(op, "there must be at least 1 group"));
        }
        Ok(())
    }
}

/// The axes of a tensor in the order of the kernels, and the way back.
#[derive(Clone, Copy)]
struct View {
    rank: usize,
    /// Axis `i` in the kernels' order is axis `order[i]` of the tensor.
    order: [u8; MAX_RANK],
    /// Sizes in the kernels' order.
    shape: [usize; MAX_RANK],
}

impl View {
    fn new(order: &[u8], shape: &[usize]) -> Self {
        let mut v = Self { rank: order.len(), order: [0; MAX_RANK], shape: [1; MAX_RANK] };
        v.order[..order.len()].copy_from_slice(order);
        for (i, &o) in order.iter().enumerate() {
            v.shape[i] = shape[o as usize];
        }
        v
    }

    /// `t` as `[batch, lines, positions, channels]`, dense.
    fn image(&self, t: &RawTensor, four: [usize; 4]) -> Result<RawTensor> {
        shape::reshape(&shape::permute(t, &self.order[..self.rank]), &four)
    }

    /// `t` as `[lines, positions, in, out]`: without a copy, unless several output axes do not lie together.
    fn taps(&self, t: &RawTensor, spatial: usize, inputs: usize) -> RawTensor {
        let mut t = shape::permute(t, &self.order[..self.rank]);
        for _ in spatial..2 {
            t = shape::insert(&t, 0);
        }
        for _ in inputs..1 {
            t = shape::insert(&t, 2);
        }
        join_last(&t, 3)
    }

    /// Undoes either: from four axes to the tensor's own.
    fn back(&self, t: &RawTensor) -> Result<RawTensor> {
        let mut back = [0u8; MAX_RANK];
        for (i, &o) in self.order[..self.rank].iter().enumerate() {
            back[o as usize] = i as u8;
        }
        Ok(shape::permute(&shape::reshape(t, &self.shape[..self.rank])?, &back[..self.rank]))
    }
}

/// The axes from position `at` on as one.
fn join_last(t: &RawTensor, at: usize) -> RawTensor {
    const SAME: [u8; MAX_RANK] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    match t.rank() - at {
        0 => shape::insert(t, at),
        1 => t.clone(),
        n => shape::merge(t, &SAME[..t.rank()], at, n),
    }
}

/// A list of axis positions on the stack.
struct List {
    len: usize,
    items: [u8; MAX_RANK],
}

impl List {
    fn new(items: impl IntoIterator<Item = u8>) -> Self {
        let mut list = Self { len: 0, items: [0; MAX_RANK] };
        list.extend(items);
        list
    }

    fn extend(&mut self, items: impl IntoIterator<Item = u8>) {
        for i in items {
            self.items[self.len] = i;
            self.len += 1;
        }
    }
}

impl std::ops::Deref for List {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.items[..self.len]
    }
}

/// A convolution brought to four axes.
#[derive(Clone, Copy)]
struct Plan {
    spatial: usize,
    depthwise: bool,
    x: View,
    w: View,
    y: View,
    conv: Conv,
    /// The input of the operation is the output side of `conv`.
    transposed: bool,
}

impl ConvAxes<'_> {
    fn text(&self, x: &RawTensor, w: &RawTensor) -> (String, String) {
        (axes_text(self.names.lhs, x.shape()), axes_text(self.names.rhs, w.shape()))
    }

    /// The output axes of the weights.
    fn outs(&self, w: &RawTensor) -> List {
        List::new((0..w.rank() as u8).filter(|i| !self.taps.contains(i) && *i != self.w_channel))
    }

    /// Input channels, output channels (both of all groups); `shared` is the size of the weights' channel axis in each
    /// group, `outs` the product of its output axes.
    fn channels(
        &self,
        op: &'static str,
        x: &RawTensor,
        w: &RawTensor,
        groups: usize,
        transposed: bool,
    ) -> Result<[usize; 2]> {
        let cx = x.shape()[self.channel as usize];
        let outs: usize = self.outs(w).iter().map(|&o| w.shape()[o as usize]).product();
        if self.w_channel == NONE {
            // Depthwise: the one output axis is the channel.
            if outs != cx {
                let own = self.outs(w)[0] as usize;
                return Err(self.names.mismatch(op, (x, self.channel as usize), (w, own)));
            }
            return Ok([cx, cx]);
        }
        let cw = w.shape()[self.w_channel as usize];
        let (per_group, out, split) = if transposed { (cx, outs * groups, cx) } else { (cw * groups, outs, outs) };
        let name = |i: u8| self.names.lhs.get(i as usize).map_or("?", |k| k.name);
        if (if transposed { cw } else { per_group }) != cx {
            if groups == 1 || transposed {
                return Err(self.names.mismatch(op, (x, self.channel as usize), (w, self.w_channel as usize)));
            }
            let (xt, wt) = self.text(x, w);
            return Err(Error::argument(
                op,
                format!(
                    "axis `{}` has size {cx} in {xt}, but {groups} groups of weights {wt} take {per_group}",
                    name(self.channel)
                ),
            ));
        }
        if split % groups != 0 {
            let what = if transposed { "input" } else { "output" };
            return Err(Error::argument(op, format!("{split} {what} channels do not fall into {groups} groups")));
        }
        Ok([cx, out])
    }

    /// The plan: sizes checked, every axis assigned. `side` makes the side of a spatial axis from its size and taps.
    fn plan(
        &self,
        op: &'static str,
        x: &RawTensor,
        w: &RawTensor,
        groups: usize,
        transposed: bool,
        side: impl Fn(usize, usize, usize, &str) -> Result<Side>,
    ) -> Result<Plan> {
        let n = self.spatial.len();
        let depthwise = self.w_channel == NONE;
        let outs = self.outs(w);
        let groups = if depthwise { x.shape()[self.channel as usize] } else { groups };
        let [cx, cy] = self.channels(op, x, w, groups, transposed)?;
        let mut sides = [Side::POINT; 2];
        for i in 0..n {
            let axis = self.spatial[i] as usize;
            let name = self.names.lhs.get(axis).map_or("?", |k| k.name);
            sides[2 - n + i] = side(i, x.shape()[axis], w.shape()[self.taps[i] as usize], name)?;
        }
        // The result has the input's axes, the output axes at the place of the channel.
        let batch = || (0..x.rank() as u8).filter(|i| !self.spatial.contains(i) && *i != self.channel);
        let extra = outs.len() as u8;
        let moved = |i: u8| if i > self.channel { i + extra - 1 } else { i };
        let mut x_order = List::new(batch());
        x_order.extend(self.spatial.iter().copied());
        x_order.extend([self.channel]);
        let mut y_order = List::new(batch().map(moved));
        y_order.extend(self.spatial.iter().map(|&i| moved(i)));
        y_order.extend((0..extra).map(|i| self.channel + i));
        let rank = x.rank() + outs.len() - 1;
        if rank > MAX_RANK {
            return Err(Error::argument(op, format!("the result would have {rank} axes")));
        }
        let mut y_shape = [1; MAX_RANK];
        for i in 0..x.rank() as u8 {
            if i != self.channel {
                y_shape[moved(i) as usize] = x.shape()[i as usize];
            }
        }
        for (i, &s) in self.spatial.iter().enumerate() {
            let s_ = &sides[2 - n + i];
            y_shape[moved(s) as usize] = if transposed { s_.input } else { s_.output };
        }
        for (i, &o) in outs.iter().enumerate() {
            y_shape[self.channel as usize + i] = w.shape()[o as usize] * if transposed { groups } else { 1 };
        }
        let mut w_order = List::new(self.taps.iter().copied());
        if transposed {
            w_order.extend(outs.iter().copied());
            w_order.extend([self.w_channel]);
        } else {
            w_order.extend((!depthwise).then_some(self.w_channel));
            w_order.extend(outs.iter().copied());
        }
        let (cin, cout) = match (depthwise, transposed) {
            (true, _) => (1, 1),
            (false, true) => (cy / groups, cx / groups),
            (false, false) => (cx / groups, cy / groups),
        };
        let batch = batch().map(|i| x.shape()[i as usize]).product();
        Ok(Plan {
            spatial: n,
            depthwise,
            x: View::new(&x_order, x.shape()),
            w: View::new(&w_order, w.shape()),
            y: View::new(&y_order, &y_shape[..rank]),
            conv: Conv { batch, sides, groups, cin, cout },
            transposed,
        })
    }
}

impl Plan {
    /// Sizes of the operation's input (`false`) or result (`true`) as four axes.
    fn four(&self, result: bool) -> [usize; 4] {
        let c = &self.conv;
        let [y, x] = c.sides;
        if result == self.transposed {
            [c.batch, y.input, x.input, c.groups * c.cin]
        } else {
            [c.batch, y.output, x.output, c.groups * c.cout]
        }
    }

    fn x(&self, x: &RawTensor) -> Result<RawTensor> {
        self.x.image(x, self.four(false))
    }

    fn y(&self, y: &RawTensor) -> Result<RawTensor> {
        self.y.image(y, self.four(true))
    }

    fn w(&self, w: &RawTensor) -> RawTensor {
        if self.transposed && self.w.rank != self.spatial + 2 {
            // Output axes stand before the channel: joined, or made.
            let outs = self.w.rank - self.spatial - 1;
            let mut t = shape::permute(w, &self.w.order[..self.w.rank]);
            let same = |n: usize| View::new(&List::new(0..n as u8), &[1; MAX_RANK]).order;
            t = match outs {
                0 => shape::insert(&t, self.spatial),
                n => shape::merge(&t, &same(t.rank())[..t.rank()], self.spatial, n),
            };
            return (self.spatial..2).fold(t, |t, _| shape::insert(&t, 0));
        }
        self.w.taps(w, self.spatial, usize::from(!self.depthwise))
    }

    /// The result of the operation on the untracked operands.
    fn run(&self, x: &RawTensor, w: &RawTensor, bias: Option<&RawTensor>) -> Result<RawTensor> {
        let (x, w) = (self.x(&x.detach())?, self.w(&w.detach()));
        let y = if self.transposed {
            let bias = bias.map(|b| shape::reshape(&b.detach(), &[b.len()])).transpose()?;
            inputs_of(&x, &w, bias.as_ref(), self.conv)?
        } else {
            outputs_of(&x, &w, self.conv)?
        };
        self.y.back(&y)
    }

    /// Gradients of both operands, as far as they are asked for.
    fn pull(&self, g: &RawTensor, x: Option<&RawTensor>, w: Option<&RawTensor>) -> Result<[Option<RawTensor>; 2]> {
        let g = self.y(g)?;
        let gx = match w {
            None => None,
            Some(w) => {
                let w = self.w(w);
                let gx =
                    if self.transposed { outputs_of(&g, &w, self.conv)? } else { inputs_of(&g, &w, None, self.conv)? };
                Some(self.x.back(&gx)?)
            }
        };
        let gw = match x {
            None => None,
            Some(x) => {
                let x = self.x(x)?;
                let gw = if self.transposed { weights_of(&g, &x, self.conv)? } else { weights_of(&x, &g, self.conv)? };
                Some(self.w.back(&gw)?)
            }
        };
        Ok([gx, gw])
    }
}

/// Both operands have one float dtype; 16-bit ones are widened and the result rounded once.
fn same_float(op: &'static str, x: &RawTensor, w: &RawTensor) -> Result<bool> {
    if !x.dtype().is_float() {
        return Err(Error::DType { op, expected: "floats", found: x.dtype() });
    }
    if x.dtype() != w.dtype() {
        return Err(Error::DType { op, expected: x.dtype().name(), found: w.dtype() });
    }
    Ok(!x.dtype().is_differentiable())
}

/// The convolution of `x` with `w`: spatial axes shrink as `steps` say, the channel axis gives way to the output axes of
/// the weights. Differentiable in both, to any order.
pub fn conv(x: &RawTensor, w: &RawTensor, axes: &ConvAxes, steps: &Steps, op: &'static str) -> Result<RawTensor> {
    if same_float(op, x, w)? {
        let y = conv(&cast::to(x, DType::F32)?, &cast::to(w, DType::F32)?, axes, steps, op)?;
        return cast::to(&y, x.dtype());
    }
    steps.check(op, axes.spatial.len())?;
    let plan = axes.plan(op, x, w, steps.groups, false, |i, size, taps, name| {
        let (before, after) = steps.pad[i];
        let (stride, dilation) = (steps.stride[i], steps.dilation[i]);
        let span = span(op, taps, dilation)?;
        if size > 0 && size + before + after < span && !steps.may_be_short {
            return Err(Error::argument(
                op,
                format!(
                    "the kernel spans {span} positions of axis `{name}`, which has {} with its padding",
                    size + before + after
                ),
            ));
        }
        Ok(Side::padded(size, taps, stride, dilation, before, after))
    })?;
    let out = plan.run(x, w, None)?;
    if !tracks(&[x, w]) {
        return Ok(out);
    }
    // Each side is kept only if the other wants a gradient.
    let (sx, sw) = (w.requires_grad().then(|| x.clone()), x.requires_grad().then(|| w.clone()));
    Ok(record(out, [x, w], move |p| plan.pull(p.grad, sx.as_ref(), sw.as_ref())))
}

/// Positions from the first tap to the last.
fn span(op: &'static str, taps: usize, dilation: usize) -> Result<usize> {
    if taps == 0 {
        return Err(Error::argument(op, "a kernel needs at least one tap"));
    }
    match (taps - 1).checked_mul(dilation) {
        Some(n) if n < LIMIT => Ok(n + 1),
        _ => Err(Error::argument(op, format!("a kernel of {taps} taps with dilation {dilation} is too large"))),
    }
}

/// The transposed convolution: the adjoint of [`conv`] with the same weights, with `extra` more outputs at the end.
/// Differentiable in all operands, to any order.
pub fn conv_transpose(
    x: &RawTensor,
    w: &RawTensor,
    bias: Option<&RawTensor>,
    axes: &ConvAxes,
    steps: &Steps,
    extra: [usize; 2],
    op: &'static str,
) -> Result<RawTensor> {
    if same_float(op, x, w)? {
        let bias = bias.map(|b| cast::to(b, DType::F32)).transpose()?;
        let (wide_x, wide_w) = (cast::to(x, DType::F32)?, cast::to(w, DType::F32)?);
        let y = conv_transpose(&wide_x, &wide_w, bias.as_ref(), axes, steps, extra, op)?;
        return cast::to(&y, x.dtype());
    }
    steps.check(op, axes.spatial.len())?;
    if steps.groups > 1 && axes.outs(w).len() != 1 {
        return Err(Error::argument(op, "several groups need weights with exactly one output axis"));
    }
    let plan = axes.plan(op, x, w, steps.groups, true, |i, size, taps, name| {
        let (stride, dilation, (before, after)) = (steps.stride[i], steps.dilation[i], steps.pad[i]);
        let span = span(op, taps, dilation)?;
        if extra[i] >= stride.max(dilation) {
            return Err(Error::argument(
                op,
                format!(
                    "an output padding of {} is not below the stride {stride} or the dilation {dilation}",
                    extra[i]
                ),
            ));
        }
        let full = match size.saturating_sub(1).checked_mul(stride) {
            Some(n) if n < LIMIT => n + span + extra[i],
            _ => {
                return Err(Error::argument(
                    op,
                    format!("a stride of {stride} on axis `{name}` of size {size} is too large"),
                ));
            }
        };
        if size > 0 && full < before + after {
            return Err(Error::argument(
                op,
                format!("a padding of {before} and {after} takes away more than the {full} positions of axis `{name}`"),
            ));
        }
        let input = if size == 0 { 0 } else { full - before - after };
        Ok(Side { input, output: size, taps, stride, dilation, pad: before as isize })
    })?;
    if let Some(b) = bias {
        let outs = axes.outs(w);
        let fits = b.rank() == outs.len()
            && outs.iter().zip(b.shape()).all(|(&o, &n)| w.shape()[o as usize] * steps.groups == n);
        if !fits {
            let channels = plan.conv.groups * plan.conv.cin;
            let what = format!(
                "the bias, of shape {:?}, is not one value for each of the {channels} output channels",
                b.shape()
            );
            return Err(Error::argument(op, what));
        }
        if b.dtype() != x.dtype() {
            return Err(Error::DType { op, expected: x.dtype().name(), found: b.dtype() });
        }
    }
    let out = plan.run(x, w, bias)?;
    let Some(b) = bias else {
        if !tracks(&[x, w]) {
            return Ok(out);
        }
        let (sx, sw) = (w.requires_grad().then(|| x.clone()), x.requires_grad().then(|| w.clone()));
        return Ok(record(out, [x, w], move |p| plan.pull(p.grad, sx.as_ref(), sw.as_ref())));
    };
    if !tracks(&[x, w, b]) {
        return Ok(out);
    }
    let (sx, sw) = (w.requires_grad().then(|| x.clone()), x.requires_grad().then(|| w.clone()));
    let layout = b.layout;
    Ok(record(out, [x, w, b], move |p| {
        let [gx, gw] = plan.pull(p.grad, sx.as_ref(), sw.as_ref())?;
        let gb = if p.needs(2) {
            Some(shape::reshape(&reduce::sum(&plan.y(p.grad)?, &[0, 1, 2])?, layout.shape())?)
        } else {
            None
        };
        Ok([gx, gw, gb])
    }))
}

/// The rows of `past`, then those of `x`, along axis `axis`. All other axes have equal sizes.
pub fn prepend(past: &RawTensor, x: &RawTensor, axis: usize, names: Names, op: &'static str) -> Result<RawTensor> {
    if past.dtype() != x.dtype() {
        return Err(Error::DType { op, expected: x.dtype().name(), found: past.dtype() });
    }
    if let Some(a) = (0..x.rank()).find(|&a| a != axis && past.shape()[a] != x.shape()[a]) {
        return Err(names.mismatch(op, (x, a), (past, a)));
    }
    let (h, n) = (past.shape()[axis], x.shape()[axis]);
    let mut full = [1; MAX_RANK];
    full[..x.rank()].copy_from_slice(x.shape());
    full[axis] = h + n;
    let full = &full[..x.rank()];
    let layout = forge_kernels::Layout::contiguous(full);
    let step = layout.strides()[axis] as usize;
    let out = by_dtype!(x.dtype(), T => {
        let (p, v) = (past.strided::<T>(), x.strided::<T>());
        RawTensor::build(full, |out: &mut [T]| {
            elementwise::place(out, 0, &layout.resized(axis, h, step as isize), &p);
            elementwise::place(out, h * step, &layout.resized(axis, n, step as isize), &v);
        })
    });
    if !tracks(&[past, x]) {
        return Ok(out);
    }
    Ok(record(out, [past, x], move |p| {
        let at = super::At { axis, keys: &[] };
        Ok([
            if p.needs(0) { Some(shape::narrow(p.grad, at, 0, h)?) } else { None },
            if p.needs(1) { Some(shape::narrow(p.grad, at, h, n)?) } else { None },
        ])
    }))
}

/// The derivative of the trilinear form with respect to the outputs: the convolution.
fn outputs_of(x: &RawTensor, w: &RawTensor, c: Conv) -> Result<RawTensor> {
    let x = x.contiguous();
    let shape = [c.batch, c.sides[0].output, c.sides[1].output, c.groups * c.cout];
    let out = by_float!("conv", x.dtype(), T => {
        let (v, w) = (x.as_slice::<T>().expect("dense"), w.strided::<T>());
        RawTensor::build(&shape, |y: &mut [T]| kernel::forward(y, v, &w, None, &c))
    });
    if !tracks(&[&x, w]) {
        return Ok(out);
    }
    let (sx, sw) = (x.clone(), w.clone());
    Ok(record(out, [&x, w], move |p| {
        Ok([
            if p.needs(0) { Some(inputs_of(p.grad, &sw, None, c)?) } else { None },
            if p.needs(1) { Some(weights_of(&sx, p.grad, c)?) } else { None },
        ])
    }))
}

/// The derivative with respect to the inputs: the transposed convolution, plus a (constant) bias.
fn inputs_of(y: &RawTensor, w: &RawTensor, bias: Option<&RawTensor>, c: Conv) -> Result<RawTensor> {
    let y = y.contiguous();
    let shape = [c.batch, c.sides[0].input, c.sides[1].input, c.groups * c.cin];
    let out = by_float!("conv", y.dtype(), T => {
        let (v, w) = (y.as_slice::<T>().expect("dense"), w.strided::<T>());
        let bias = bias.map(|b| b.as_slice::<T>().expect("dense"));
        RawTensor::build(&shape, |x: &mut [T]| kernel::input(x, v, &w, bias, &c))
    });
    if !tracks(&[&y, w]) {
        return Ok(out);
    }
    let (sy, sw) = (y.clone(), w.clone());
    Ok(record(out, [&y, w], move |p| {
        Ok([
            if p.needs(0) { Some(outputs_of(p.grad, &sw, c)?) } else { None },
            if p.needs(1) { Some(weights_of(p.grad, &sy, c)?) } else { None },
        ])
    }))
}

/// The derivative with respect to the weights, dense `[lines, positions, in, out]`.
fn weights_of(x: &RawTensor, y: &RawTensor, c: Conv) -> Result<RawTensor> {
    let (x, y) = (x.contiguous(), y.contiguous());
    let out = by_float!("conv", x.dtype(), T => {
        let (vx, vy) = (x.as_slice::<T>().expect("dense"), y.as_slice::<T>().expect("dense"));
        RawTensor::build(&c.w_shape(), |w: &mut [T]| kernel::weights(w, vx, vy, &c))
    });
    if !tracks(&[&x, &y]) {
        return Ok(out);
    }
    let (sx, sy) = (x.clone(), y.clone());
    Ok(record(out, [&x, &y], move |p| {
        Ok([
            if p.needs(0) { Some(inputs_of(&sy, p.grad, None, c)?) } else { None },
            if p.needs(1) { Some(outputs_of(&sx, p.grad, c)?) } else { None },
        ])
    }))
}
