//! Pooling over windows of two axes, and repetition of pixels.

use super::{At, RawTensor, by_float, cast, shape};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result};
use forge_kernels::conv::Side;
use forge_kernels::pool::{self as kernel, Pool};
use forge_kernels::{DType, MAX_RANK};

/// The windows along each of the two axes.
#[derive(Clone, Copy)]
pub struct Windows {
    /// Elements of a window.
    pub size: [usize; 2],
    /// Inputs from one window to the next.
    pub stride: [usize; 2],
    /// Inputs from one element of a window to the next.
    pub dilation: [usize; 2],
    /// Positions outside of the input on both sides.
    pub pad: [usize; 2],
}

/// The two pooled axes brought together in the middle.
#[derive(Clone, Copy)]
struct View {
    rank: usize,
    order: [u8; MAX_RANK],
    /// Axes before the two.
    outer: usize,
}

impl View {
    fn new(rank: usize, lines: usize, positions: usize) -> Self {
        let mut v = Self { rank, order: [0; MAX_RANK], outer: lines.min(positions) };
        let first = v.outer;
        let others = (0..rank).filter(|&i| i != lines && i != positions);
        let order =
            others.clone().filter(|&i| i < first).chain([lines, positions]).chain(others.filter(|&i| i > first));
        for (o, i) in v.order.iter_mut().zip(order) {
            *o = i as u8;
        }
        v
    }

    /// Sizes in the kernels' order, with other sizes for the pooled axes.
    fn sizes(&self, x: &[usize], pooled: [usize; 2]) -> [usize; MAX_RANK] {
        let mut s = [1; MAX_RANK];
        for (i, s) in s.iter_mut().enumerate().take(self.rank) {
            *s = x[self.order[i] as usize];
        }
        [s[self.outer], s[self.outer + 1]] = pooled;
        s
    }

    fn to_kernel(self, t: &RawTensor) -> RawTensor {
        shape::permute(t, &self.order[..self.rank])
    }

    fn back(self, t: &RawTensor) -> RawTensor {
        let mut back = [0u8; MAX_RANK];
        for (i, &o) in self.order[..self.rank].iter().enumerate() {
            back[o as usize] = i as u8;
        }
        shape::permute(t, &back[..self.rank])
    }
}

/// A pooling with its axes assigned.
#[derive(Clone, Copy)]
struct Plan {
    view: View,
    pool: Pool,
    /// Sizes of `x` and `y` in the kernels' order.
    x: [usize; MAX_RANK],
    y: [usize; MAX_RANK],
}

impl Plan {
    fn new(shape: &[usize], axes: [usize; 2], sides: [Side; 2]) -> Self {
        let view = View::new(shape.len(), axes[0], axes[1]);
        let x = view.sizes(shape, [sides[0].input, sides[1].input]);
        let y = view.sizes(shape, [sides[0].output, sides[1].output]);
        let outer = x[..view.outer].iter().product();
        let inner = x[view.outer + 2..view.rank].iter().product();
        Self { view, pool: Pool { outer, sides, inner }, x, y }
    }

    fn x_shape(&self) -> &[usize] {
        &self.x[..self.view.rank]
    }

    fn y_shape(&self) -> &[usize] {
        &self.y[..self.view.rank]
    }
}

/// Larger numbers are refused, so that positions cannot overflow.
const LIMIT: usize = 1 << 40;

fn plan(op: &'static str, x: &RawTensor, lines: At, positions: At, w: &Windows) -> Result<Plan> {
    if lines.axis == positions.axis {
        return Err(Error::argument(op, format!("axis `{}` is named twice", lines.name())));
    }
    let mut sides = [Side::POINT; 2];
    for (i, at) in [lines, positions].into_iter().enumerate() {
        let (size, stride, dilation, pad) = (w.size[i], w.stride[i], w.dilation[i], w.pad[i]);
        if size == 0 || stride == 0 || dilation == 0 {
            return Err(Error::argument(op, "size, stride and dilation of a window must be at least 1"));
        }
        if stride.max(dilation).max(pad) > LIMIT || size.checked_mul(dilation).is_none_or(|n| n > LIMIT) {
            return Err(Error::argument(op, format!("the windows along axis `{}` are too large", at.name())));
        }
        let n = x.shape()[at.axis];
        let span = (size - 1) * dilation + 1;
        if n > 0 && n + 2 * pad < span {
            return Err(Error::argument(
                op,
                format!(
                    "a window spans {span} positions of axis `{}`, which has {} with its padding",
                    at.name(),
                    n + 2 * pad
                ),
            ));
        }
        sides[i] = Side::padded(n, size, stride, dilation, pad, pad);
    }
    if w.size[0].checked_mul(w.size[1]).is_none_or(|n| i32::try_from(n).is_err()) {
        return Err(Error::argument(op, "a window has too many elements"));
    }
    Ok(Plan::new(x.shape(), [lines.axis, positions.axis], sides))
}

/// Largest element of each window; positions outside of the input do not take part, so a window that meets nothing gives
/// negative infinity. The gradient goes to the first of equal maxima; a NaN is the largest.
pub fn max(x: &RawTensor, lines: At, positions: At, w: &Windows, op: &'static str) -> Result<RawTensor> {
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return cast::to(&max(&cast::to(x, DType::F32)?, lines, positions, w, op)?, x.dtype());
    }
    let p = plan(op, x, lines, positions, w)?;
    let dense = p.view.to_kernel(&x.detach()).contiguous();
    let mut taps = None;
    let out = by_float!(op, x.dtype(), T => {
        let v = dense.as_slice::<T>().expect("dense");
        RawTensor::build(p.y_shape(), |y: &mut [T]| {
            taps = Some(RawTensor::build(p.y_shape(), |taps: &mut [i32]| kernel::max(y, taps, v, &p.pool)));
        })
    });
    let out = p.view.back(&out);
    if !tracks(&[x]) {
        return Ok(out);
    }
    let taps = taps.expect("made beside the maxima");
    Ok(record(out, [x], move |c| Ok([Some(p.view.back(&scatter(&p.view.to_kernel(c.grad), &taps, p)?))])))
}

/// Each element of `g` to the place of its window's largest: linear in `g`, with [`gather`] as its adjoint.
fn scatter(g: &RawTensor, taps: &RawTensor, p: Plan) -> Result<RawTensor> {
    let g = g.contiguous();
    let t = taps.as_slice::<i32>().expect("dense");
    let out = by_float!("max_pool2d", g.dtype(), T => {
        let v = g.as_slice::<T>().expect("dense");
        RawTensor::build(p.x_shape(), |x: &mut [T]| kernel::max_scatter(x, v, t, &p.pool))
    });
    if !tracks(&[&g]) {
        return Ok(out);
    }
    let taps = taps.clone();
    Ok(record(out, [&g], move |c| Ok([Some(gather(c.grad, &taps, p)?)])))
}

fn gather(x: &RawTensor, taps: &RawTensor, p: Plan) -> Result<RawTensor> {
    let x = x.contiguous();
    let t = taps.as_slice::<i32>().expect("dense");
    let out = by_float!("max_pool2d", x.dtype(), T => {
        let v = x.as_slice::<T>().expect("dense");
        RawTensor::build(p.y_shape(), |y: &mut [T]| kernel::max_gather(y, v, t, &p.pool))
    });
    if !tracks(&[&x]) {
        return Ok(out);
    }
    let taps = taps.clone();
    Ok(record(out, [&x], move |c| Ok([Some(scatter(c.grad, &taps, p)?)])))
}

/// Mean of each window over the elements that it meets; NaN where it meets none.
pub fn avg(x: &RawTensor, lines: At, positions: At, w: &Windows, op: &'static str) -> Result<RawTensor> {
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return cast::to(&avg(&cast::to(x, DType::F32)?, lines, positions, w, op)?, x.dtype());
    }
    linear(x, plan(op, x, lines, positions, w)?, true, false, op)
}

/// Every element twice along both axes.
pub fn upsample2x(x: &RawTensor, lines: At, positions: At, op: &'static str) -> Result<RawTensor> {
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return cast::to(&upsample2x(&cast::to(x, DType::F32)?, lines, positions, op)?, x.dtype());
    }
    if lines.axis == positions.axis {
        return Err(Error::argument(op, format!("axis `{}` is named twice", lines.name())));
    }
    // The adjoint of sums over 2 x 2 windows.
    let side = |at: At| {
        let n = x.shape()[at.axis];
        if n > LIMIT {
            return Err(Error::argument(op, format!("axis `{}` is too long", at.name())));
        }
        Ok(Side::padded(2 * n, 2, 2, 1, 0, 0))
    };
    let sides = [side(lines)?, side(positions)?];
    linear(x, Plan::new(x.shape(), [lines.axis, positions.axis], sides), false, true, op)
}

/// Sums (or means) of windows, or the adjoint of that: each is the other's derivative.
fn linear(x: &RawTensor, p: Plan, mean: bool, adjoint: bool, op: &'static str) -> Result<RawTensor> {
    let dense = p.view.to_kernel(&x.detach()).contiguous();
    let out = by_float!(op, x.dtype(), T => {
        let v = dense.as_slice::<T>().expect("dense");
        RawTensor::build(if adjoint { p.x_shape() } else { p.y_shape() }, |out: &mut [T]| match adjoint {
            true => kernel::spread(out, v, mean, &p.pool),
            false => kernel::sum(out, v, mean, &p.pool),
        })
    });
    let out = p.view.back(&out);
    if !tracks(&[x]) {
        return Ok(out);
    }
    Ok(record(out, [x], move |c| Ok([Some(linear(c.grad, p, mean, !adjoint, op)?)])))
}
