//! Scans along an axis: running sums and products, linear recurrences, sums of segments.

use super::reduce::sum_dtype;
use super::{At, Names, RawTensor, arith, by_dtype, by_float, by_native_number, cast, shape};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result};
use forge_axes::plan::PointwisePlan;
use forge_kernels::DType;
use forge_kernels::arith::BinaryOp;
use forge_kernels::scan::{self as kernel, Direction};

/// Running sums along axis `axis`, from the end with `reverse`; in the dtype `sum_dtype`.
pub fn cumsum(x: &RawTensor, axis: usize, reverse: bool) -> Result<RawTensor> {
    let x = &cast::to(x, sum_dtype(x.dtype()))?;
    let out = by_native_number!("cumsum", x.dtype(), T => {
        let v = x.strided::<T>();
        RawTensor::build(x.shape(), |out: &mut [T]| {
            kernel::cumsum(out, &v, axis, Direction { reverse, ..Direction::default() });
        })
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    Ok(record(out, [x], move |p| Ok([Some(cumsum(p.grad, axis, !reverse)?)])))
}

/// Running products along axis `axis`; in the dtype `sum_dtype`. The gradient is exact where elements are 0.
pub fn cumprod(x: &RawTensor, axis: usize) -> Result<RawTensor> {
    cumprod_from(&cast::to(x, sum_dtype(x.dtype()))?, axis, false)
}

fn cumprod_from(x: &RawTensor, axis: usize, reverse: bool) -> Result<RawTensor> {
    let out = products(x, axis, Direction { reverse, ..Direction::default() })?;
    if !tracks(&[x]) {
        return Ok(out);
    }
    let saved = x.clone();
    Ok(record(out, [x], move |p| {
        // d/dx_i = (product of what comes before i) * h_i, where h_i = g_i + x_(i+1) h_(i+1) gathers what comes after.
        let after =
            recurrence(p.grad, &saved, None, axis, Direction { reverse: !reverse, late: true, exclusive: false })?;
        Ok([Some(arith::same(BinaryOp::Mul, &cumprod_before(&saved, axis, reverse)?, &after)?)])
    }))
}

fn products(x: &RawTensor, axis: usize, how: Direction) -> Result<RawTensor> {
    Ok(by_native_number!("cumprod", x.dtype(), T => {
        let v = x.strided::<T>();
        RawTensor::build(x.shape(), |out: &mut [T]| kernel::cumprod(out, &v, axis, how))
    }))
}

/// The product of what comes before each place (after it, with `reverse`), recorded where it must be.
pub(crate) fn cumprod_before(x: &RawTensor, axis: usize, reverse: bool) -> Result<RawTensor> {
    if !tracks(&[x]) || x.is_empty() {
        return products(x, axis, Direction { reverse, exclusive: true, late: false });
    }
    // The inclusive product, moved one place on; 1 comes in at the end that it leaves.
    let n = x.shape()[axis];
    let first = if reverse { n - 1 } else { 0 };
    let mut edge_shape = vec![1; x.rank()];
    edge_shape[axis] = n;
    let edge = by_float!("cumprod", x.dtype(), T => {
        RawTensor::build(&edge_shape, |o: &mut [T]| o.iter_mut().enumerate().for_each(|(i, o)| *o = if i == first { 1.0 } else { 0.0 }))
    });
    let ones = repeat_ones(&edge, x.shape(), axis);
    let moved = moved(&cumprod_from(x, axis, reverse)?, axis, !reverse)?;
    arith::same(BinaryOp::Add, &moved, &ones)
}

/// A tensor of size 1 on every axis but `axis`, repeated to `shape`.
fn repeat_ones(edge: &RawTensor, shape: &[usize], axis: usize) -> RawTensor {
    let mut l = edge.layout;
    for (a, &n) in shape.iter().enumerate() {
        if a != axis {
            l = l.resized(a, n, 0);
        }
    }
    edge.view(l, edge.offset)
}

/// `x` moved one place along an axis (to higher positions with `up`), with 0 coming in.
fn moved(x: &RawTensor, axis: usize, up: bool) -> Result<RawTensor> {
    let n = x.shape()[axis];
    if n == 0 {
        return Ok(x.clone());
    }
    let part = shape::narrow(x, At { axis, keys: &[] }, usize::from(!up), n - 1)?;
    Ok(shape::embed(&part, axis, usize::from(up), n))
}

/// `h[t] = a[t] h[t - 1] + x[t]` along axis `at`: `decay` is broadcast to `x`'s axes by `plan`; `initial`, which lacks the axis, is
/// `h[-1]` (without it `h[0] = x[0]`). One multiplication and one addition a step, so a sequence in parts, each begun with
/// the last state of the one before, gives the same bits as the whole.
pub fn linear_recurrence(
    x: &RawTensor,
    at: At,
    decay: &RawTensor,
    plan: &PointwisePlan,
    names: Names,
    initial: Option<&RawTensor>,
) -> Result<RawTensor> {
    const OP: &str = "linear_recurrence";
    for t in std::iter::once(decay).chain(initial) {
        if t.dtype() != x.dtype() {
            return Err(Error::DType { op: OP, expected: "operands of one dtype", found: t.dtype() });
        }
    }
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        let wide = |t: &RawTensor| cast::to(t, DType::F32);
        let initial = initial.map(wide).transpose()?;
        let y = linear_recurrence(&wide(x)?, at, &wide(decay)?, plan, names, initial.as_ref())?;
        return cast::to(&y, x.dtype());
    }
    let a = arith::broadcast(OP, x, decay, plan, names)?;
    if let Some(h) = initial {
        let kept = |i: usize| i + usize::from(i >= at.axis);
        if let Some(i) = (0..h.rank()).find(|&i| h.shape()[i] != x.shape()[kept(i)]) {
            let keys: Vec<_> = (0..h.rank()).filter_map(|i| at.keys.get(kept(i)).copied()).collect();
            return Err(Names { lhs: at.keys, rhs: &keys }.mismatch(OP, (x, kept(i)), (h, i)));
        }
    }
    recurrence(x, &a, initial, at.axis, Direction::default())
}

fn recurrence(
    x: &RawTensor,
    a: &RawTensor,
    initial: Option<&RawTensor>,
    axis: usize,
    how: Direction,
) -> Result<RawTensor> {
    let out = by_float!("linear_recurrence", x.dtype(), T => {
        let (v, d) = (x.strided::<T>(), a.strided::<T>());
        let h = initial.map(RawTensor::to_vec::<T>).unwrap_or_default();
        RawTensor::build(x.shape(), |out: &mut [T]| kernel::linear(out, &v, &d, &h, axis, how))
    });
    let none = x.detach();
    let first = initial.unwrap_or(&none);
    let inputs = [x, a, first];
    let recorded = if initial.is_some() { tracks(&inputs) } else { tracks(&inputs[..2]) };
    if !recorded {
        return Ok(out);
    }
    let (decay, y) = (a.clone(), out.clone());
    let state = initial.cloned();
    Ok(record(out, inputs, move |p| {
        // The adjoint runs the other way, with the decay of the neighbouring place.
        let back = Direction { reverse: !how.reverse, late: !how.late, exclusive: false };
        let gx = recurrence(p.grad, &decay, None, axis, back)?;
        let n = gx.shape()[axis];
        let ga = if p.needs(1) {
            // What each decay multiplied, times the gradient of what it went into.
            let y = p.output(&y);
            Some(if how.late {
                arith::same(BinaryOp::Mul, &y, &moved(&gx, axis, how.reverse)?)?
            } else {
                let mut before = moved(&y, axis, !how.reverse)?;
                if let Some(h) = &state
                    && n > 0
                {
                    let h = shape::insert(h, axis);
                    let h = shape::embed(&h, axis, if how.reverse { n - 1 } else { 0 }, n);
                    before = arith::same(BinaryOp::Add, &before, &h)?;
                }
                arith::same(BinaryOp::Mul, &before, &gx)?
            })
        } else {
            None
        };
        let gh = match &state {
            Some(h) if p.needs(2) => Some(if n == 0 {
                h.zeros_like()
            } else {
                let at = At { axis, keys: &[] };
                let end = if how.reverse { n as isize - 1 } else { 0 };
                arith::same(BinaryOp::Mul, &shape::select(&decay, at, end)?, &shape::select(&gx, at, end)?)?
            }),
            _ => None,
        };
        Ok([p.needs(0).then_some(gx), ga, gh])
    }))
}

/// Sums of contiguous segments of an axis: segment `s` is positions `offsets[s]..offsets[s + 1]`. In the dtype `sum_dtype`.
pub fn segment_sum(x: &RawTensor, at: At, offsets: &[usize]) -> Result<RawTensor> {
    const OP: &str = "segment_sum";
    let n = x.shape()[at.axis];
    let ends = (offsets.first(), offsets.last());
    if ends != (Some(&0), Some(&n)) || offsets.windows(2).any(|w| w[0] > w[1]) {
        return Err(Error::argument(
            OP,
            format!(
                "the offsets must rise from 0 to the size of axis `{}`, which is {n}: found {offsets:?}",
                at.name()
            ),
        ));
    }
    let mut out_shape = x.shape().to_vec();
    out_shape[at.axis] = offsets.len() - 1;
    let out = by_dtype!(x.dtype(), T => {
        let v = x.strided::<T>();
        RawTensor::build(&out_shape, |out: &mut [_]| kernel::segment_sum(out, &v, at.axis, offsets))
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    let (axis, offsets) = (at.axis, offsets.to_vec());
    Ok(record(out, [x], move |p| Ok([Some(segment_spread(p.grad, axis, &offsets)?)])))
}

/// The adjoint of [`segment_sum`]: each segment's value at every position of it.
fn segment_spread(g: &RawTensor, axis: usize, offsets: &[usize]) -> Result<RawTensor> {
    let mut shape = g.shape().to_vec();
    shape[axis] = offsets[offsets.len() - 1];
    let out = by_float!("segment_sum", g.dtype(), T => {
        let v = g.strided::<T>();
        RawTensor::build(&shape, |out: &mut [T]| kernel::segment_spread(out, &v, axis, offsets))
    });
    if !tracks(&[g]) {
        return Ok(out);
    }
    let offsets = offsets.to_vec();
    Ok(record(out, [g], move |p| Ok([Some(segment_sum(p.grad, At { axis, keys: &[] }, &offsets)?)])))
}
