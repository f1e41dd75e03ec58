//! An axis cut into windows that may overlap, and the adjoint of that.

use super::{At, RawTensor, by_dtype, by_native_number, cast, shape};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result};
use forge_kernels::conv::Side;
use forge_kernels::{DType, Layout, MAX_RANK, elementwise, fold as kernel};

/// Larger numbers are refused, so that positions cannot overflow.
const LIMIT: usize = 1 << 40;

/// The windows of an axis of `n` elements.
pub fn side(
    op: &'static str,
    at: At,
    n: usize,
    taps: usize,
    stride: usize,
    dilation: usize,
    pad: usize,
) -> Result<Side> {
    if taps == 0 || stride == 0 || dilation == 0 {
        return Err(Error::argument(op, "size, stride and dilation of a window must be at least 1"));
    }
    if n.max(stride).max(dilation).max(pad) > LIMIT || taps.checked_mul(dilation).is_none_or(|n| n > LIMIT) {
        return Err(Error::argument(op, format!("the windows along axis `{}` are too large", at.name())));
    }
    let span = (taps - 1) * dilation + 1;
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
    Ok(Side::padded(n, taps, stride, dilation, pad, pad))
}

/// The windows along `axis`, their elements along a new last axis. A view without padding; padding is zeros.
#[must_use]
pub fn unfold(x: &RawTensor, axis: usize, side: &Side) -> RawTensor {
    let base = if side.pad == 0 { x.detach() } else { padded(x, axis, side) };
    let step = base.layout.strides()[axis];
    let windows = base.layout.resized(axis, side.output, step * side.stride as isize);
    let out = base.view(windows.with(x.rank(), side.taps, step * side.dilation as isize), base.offset);
    if !tracks(&[x]) {
        return out;
    }
    let side = *side;
    record(out, [x], move |p| Ok([Some(fold(p.grad, axis, x_last(p.grad), &side)?)]))
}

/// Position of the last axis.
fn x_last(x: &RawTensor) -> usize {
    x.rank() - 1
}

/// `x` with zeros before and after it along `axis`, as far as windows reach.
fn padded(x: &RawTensor, axis: usize, side: &Side) -> RawTensor {
    let (n, pad) = (x.shape()[axis], side.pad.unsigned_abs());
    let mut full = [1; MAX_RANK];
    full[..x.rank()].copy_from_slice(x.shape());
    full[axis] = n + 2 * pad;
    let full = &full[..x.rank()];
    let layout = Layout::contiguous(full);
    let step = layout.strides()[axis];
    by_dtype!(x.dtype(), T => {
        let v = x.strided::<T>();
        RawTensor::build(full, |out: &mut [T]| {
            out.fill(T::default());
            elementwise::place(out, pad * step as usize, &layout.resized(axis, n, step), &v);
        })
    })
}

/// The adjoint of [`unfold`]: elements of windows along `axis` and `taps` (which disappears) are added where they come
/// from; those outside of the axis are dropped.
pub fn fold(x: &RawTensor, axis: usize, taps: usize, side: &Side) -> Result<RawTensor> {
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return cast::to(&fold(&cast::to(x, DType::F32)?, axis, taps, side)?, x.dtype());
    }
    // Order of the kernel: what is before the axis, the axis, the taps, what is after.
    let rank = x.rank();
    let mut order = [0u8; MAX_RANK];
    let others = (0..rank).filter(|&i| i != axis && i != taps);
    let before = others.clone().filter(|&i| i < axis);
    let sequence = before.clone().chain([axis, taps]).chain(others.filter(|&i| i > axis));
    for (o, i) in order.iter_mut().zip(sequence) {
        *o = i as u8;
    }
    let place = before.count();
    let dense = shape::permute(&x.detach(), &order[..rank]).contiguous();
    let (outer, inner) = (dense.shape()[..place].iter().product(), dense.shape()[place + 2..].iter().product());
    let mut out_shape = [1; MAX_RANK];
    out_shape[..=place].copy_from_slice(&dense.shape()[..=place]);
    out_shape[place] = side.input;
    out_shape[place + 1..rank - 1].copy_from_slice(&dense.shape()[place + 2..]);
    let out = by_native_number!("fold", x.dtype(), T => {
        let v = dense.as_slice::<T>().expect("dense");
        RawTensor::build(&out_shape[..rank - 1], |out: &mut [T]| kernel::fold(out, v, outer, side, inner))
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    let side = *side;
    Ok(record(out, [x], move |p| {
        // The new taps come last; they go back to where they were.
        let g = unfold(p.grad, place, &side);
        let mut back = [0u8; MAX_RANK];
        let mut next = 0;
        for (i, b) in back.iter_mut().enumerate().take(rank) {
            if i == taps {
                *b = (rank - 1) as u8;
            } else {
                *b = next;
                next += 1;
            }
        }
        Ok([Some(shape::permute(&g, &back[..rank]))])
    }))
}
