//! Views and rearrangements: zero-copy wherever strides can say it.

use super::{At, RawTensor, by_dtype, reduce};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result, axes_text};
use forge_axes::Key;
use forge_axes::plan::NONE;
use forge_kernels::{Layout, MAX_RANK, elementwise};

/// The axes in another order: axis `i` of the result is axis `order[i]` of `x`.
#[must_use]
pub fn permute(x: &RawTensor, order: &[u8]) -> RawTensor {
    let out = x.view(x.layout.permuted(order), x.offset);
    if !tracks(&[x]) {
        return out;
    }
    let mut back = [0u8; MAX_RANK];
    for (i, &o) in order.iter().enumerate() {
        back[o as usize] = i as u8;
    }
    let n = order.len();
    record(out, [x], move |p| Ok([Some(permute(p.grad, &back[..n]))]))
}

/// `b` under `layout`, in which axis `i` is axis `map[i]` of `b`, or repeats it with stride 0 where `map[i]` is `NONE`.
pub(crate) fn broadcast_view(b: &RawTensor, layout: Layout, map: &[u8]) -> RawTensor {
    let out = b.view(layout, b.offset);
    if !tracks(&[b]) {
        return out;
    }
    let mut kept = [NONE; MAX_RANK];
    kept[..map.len()].copy_from_slice(map);
    let (n, rank) = (map.len(), b.rank());
    record(out, [b], move |p| Ok([Some(sum_to(p.grad, &kept[..n], rank)?)]))
}

/// `x` over the axes `keys` of sizes `sizes`: axis `i` is axis `map[i]` of `x`, or repeats it where that is `NONE`.
pub fn broadcast(op: &'static str, x: &RawTensor, sizes: &[usize], map: &[u8], keys: &[Key]) -> Result<RawTensor> {
    let mut strides = [0; MAX_RANK];
    for (i, &m) in map.iter().enumerate().filter(|(_, m)| **m != NONE) {
        let n = x.shape()[m as usize];
        if n != sizes[i] {
            let what = format!("axis `{}` has size {n}, not {}, and size 1 does not stretch", keys[i].name, sizes[i]);
            return Err(Error::argument(op, what));
        }
        strides[i] = x.layout.strides()[m as usize];
    }
    Ok(broadcast_view(x, Layout::new(sizes, &strides[..map.len()]), map))
}

/// Undoes [`broadcast_view`] for a gradient: sums over the repeated axes and restores the order of the others.
fn sum_to(g: &RawTensor, map: &[u8], rank: usize) -> Result<RawTensor> {
    let repeated: Vec<usize> = (0..map.len()).filter(|&i| map[i] == NONE).collect();
    let kept: Vec<u8> = map.iter().copied().filter(|&m| m != NONE).collect();
    let summed = reduce::sum(g, &repeated)?;
    // Axis `kept[i]` of the operand is axis `i` of the sum.
    let mut order = vec![0u8; rank];
    for (i, &k) in kept.iter().enumerate() {
        order[k as usize] = i as u8;
    }
    Ok(permute(&summed, &order))
}

/// Axis `axis` repeated `n` times; it must have size 1.
pub fn expand(x: &RawTensor, at: At, n: usize) -> Result<RawTensor> {
    if x.shape()[at.axis] != 1 {
        return Err(Error::argument(
            "expand",
            format!(
                "axis `{}` must have size 1 to be repeated, but {} has it at {}",
                at.name(),
                axes_text(at.keys, x.shape()),
                x.shape()[at.axis]
            ),
        ));
    }
    let out = x.view(x.layout.resized(at.axis, n, 0), x.offset);
    if !tracks(&[x]) {
        return Ok(out);
    }
    let axis = at.axis;
    Ok(record(out, [x], move |p| Ok([Some(insert(&reduce::sum(p.grad, &[axis])?, axis))])))
}

/// A new axis of size 1 before position `at`.
#[must_use]
pub fn insert(x: &RawTensor, at: usize) -> RawTensor {
    let out = x.view(x.layout.with(at, 1, 0), x.offset);
    if !tracks(&[x]) {
        return out;
    }
    record(out, [x], move |p| Ok([Some(drop_axis(p.grad, at))]))
}

fn drop_axis(x: &RawTensor, axis: usize) -> RawTensor {
    let out = x.view(x.layout.without(axis), x.offset);
    if !tracks(&[x]) {
        return out;
    }
    record(out, [x], move |p| Ok([Some(insert(p.grad, axis))]))
}

/// The tensor without an axis of size 1.
pub fn squeeze(x: &RawTensor, at: At) -> Result<RawTensor> {
    if x.shape()[at.axis] != 1 {
        return Err(Error::argument(
            "squeeze",
            format!(
                "axis `{}` must have size 1, but it has {} in {}",
                at.name(),
                x.shape()[at.axis],
                axes_text(at.keys, x.shape())
            ),
        ));
    }
    Ok(drop_axis(x, at.axis))
}

/// Axis `at` cut into axes of `sizes`, which must multiply to its size.
pub fn split(x: &RawTensor, at: At, sizes: &[usize]) -> Result<RawTensor> {
    let whole = x.shape()[at.axis];
    if sizes.iter().try_fold(1usize, |n, &d| n.checked_mul(d)) != Some(whole) {
        return Err(Error::argument(
            "split",
            format!("axis `{}` of size {whole} cannot be split into {sizes:?}", at.name()),
        ));
    }
    let mut l = x.layout.without(at.axis);
    let mut stride = x.layout.strides()[at.axis];
    for &n in sizes.iter().rev() {
        l = l.with(at.axis, n, stride);
        stride *= n as isize;
    }
    let out = x.view(l, x.offset);
    if !tracks(&[x]) {
        return Ok(out);
    }
    let (axis, n) = (at.axis, sizes.len());
    Ok(record(out, [x], move |p| Ok([Some(join(p.grad, axis, n))])))
}

/// `n` adjacent axes from `axis` joined into one; a view when their strides chain.
pub(crate) fn join(x: &RawTensor, axis: usize, n: usize) -> RawTensor {
    let (shape, strides) = (x.shape(), x.layout.strides());
    let parts = axis..axis + n;
    let size: usize = shape[parts.clone()].iter().product();
    // The stride of the joined axis, if there is one.
    let mut step = None;
    let mut chains = true;
    for i in parts.clone().rev() {
        if shape[i] == 1 {
            continue;
        }
        match step {
            None => step = Some((strides[i], strides[i] * shape[i] as isize)),
            Some((s, next)) if strides[i] == next => step = Some((s, next * shape[i] as isize)),
            Some(_) => chains = false,
        }
    }
    let base = if chains || size == 0 { x.view(x.layout, x.offset) } else { x.compacted() };
    let step = if chains { step.map_or(0, |s| s.0) } else { base.layout.strides()[axis + n - 1] };
    let mut l = base.layout;
    for _ in parts {
        l = l.without(axis);
    }
    let out = base.view(l.with(axis, size, step), base.offset);
    if !tracks(&[x]) {
        return out;
    }
    let from = x.layout;
    record(out, [x], move |p| Ok([Some(split(p.grad, At { axis, keys: &[] }, &from.shape()[axis..axis + n])?)]))
}

/// Axes brought together by `order`, then the `n` from position `axis` joined into one.
#[must_use]
pub fn merge(x: &RawTensor, order: &[u8], axis: usize, n: usize) -> RawTensor {
    let in_place = order.iter().enumerate().all(|(i, &o)| i == o as usize);
    if in_place { join(x, axis, n) } else { join(&permute(x, order), axis, n) }
}

/// The elements in row-major order under another shape.
pub fn reshape(x: &RawTensor, shape: &[usize]) -> Result<RawTensor> {
    RawTensor::check_len("reshape", shape, x.len(), &[])?;
    let dense = if x.layout.is_contiguous() { x.view(x.layout, x.offset) } else { x.compacted() };
    let out = dense.view(Layout::contiguous(shape), dense.offset);
    if !tracks(&[x]) {
        return Ok(out);
    }
    let from = x.layout;
    Ok(record(out, [x], move |p| Ok([Some(reshape(p.grad, from.shape())?)])))
}

/// A cut through a layout: `start`, size and step on one axis, or a diagonal of two. Its adjoint writes into zeros.
#[derive(Clone, Copy)]
enum Cut {
    Range { axis: usize, start: isize, len: usize, step: isize },
    Diagonal { a: usize, b: usize },
}

impl Cut {
    fn apply(self, l: &Layout, offset: usize) -> (Layout, usize) {
        match self {
            Self::Range { axis, start, len, step } => {
                let s = l.strides()[axis];
                let first = if len == 0 { 0 } else { start * s };
                (l.resized(axis, len, s * step), offset.wrapping_add_signed(first))
            }
            Self::Diagonal { a, b } => {
                let n = l.shape()[a].min(l.shape()[b]);
                let s = l.strides()[a] + l.strides()[b];
                let l = l.without(a.max(b)).without(a.min(b));
                (l.with(l.rank(), n, s), offset)
            }
        }
    }
}

fn cut(x: &RawTensor, cut_: Cut) -> RawTensor {
    let (l, o) = cut_.apply(&x.layout, x.offset);
    let out = x.view(l, o);
    if !tracks(&[x]) {
        return out;
    }
    let from = x.layout;
    record(out, [x], move |p| Ok([Some(uncut(p.grad, from.shape(), cut_))]))
}

/// Zeros of `shape` with `g` where the cut lies: the adjoint of [`cut`].
fn uncut(g: &RawTensor, shape: &[usize], cut_: Cut) -> RawTensor {
    let (l, o) = cut_.apply(&Layout::contiguous(shape), 0);
    let out = by_dtype!(g.dtype(), T => {
        let v = g.strided::<T>();
        RawTensor::build(shape, |out: &mut [T]| {
            out.fill(T::default());
            elementwise::place(out, o, &l, &v);
        })
    });
    if !tracks(&[g]) {
        return out;
    }
    record(out, [g], move |p| Ok([Some(cut(p.grad, cut_))]))
}

/// Zeros of size `size` along an axis with `x` from position `start` on: the adjoint of [`narrow`].
pub(crate) fn embed(x: &RawTensor, axis: usize, start: usize, size: usize) -> RawTensor {
    let mut shape = x.shape().to_vec();
    let len = std::mem::replace(&mut shape[axis], size);
    uncut(x, &shape, Cut::Range { axis, start: start as isize, len, step: 1 })
}

/// Positions `start..start + len` of an axis.
pub fn narrow(x: &RawTensor, at: At, start: usize, len: usize) -> Result<RawTensor> {
    let size = x.shape()[at.axis];
    if start.checked_add(len).is_none_or(|end| end > size) {
        return Err(Error::argument(
            "narrow",
            format!("{start}..{} is not inside axis `{}` of size {size}", start.saturating_add(len), at.name()),
        ));
    }
    Ok(cut(x, Cut::Range { axis: at.axis, start: start as isize, len, step: 1 }))
}

/// One position of an axis, which disappears; negative positions count from the end.
pub fn select(x: &RawTensor, at: At, index: isize) -> Result<RawTensor> {
    let size = x.shape()[at.axis];
    let i = if index < 0 { index + size as isize } else { index };
    if i < 0 || i as usize >= size {
        return Err(at.index_error("select", index as i64, size));
    }
    Ok(drop_axis(&cut(x, Cut::Range { axis: at.axis, start: i, len: 1, step: 1 }), at.axis))
}

/// Positions `start, start + step, ..` before `end` of an axis, as Python slices: negative bounds count from the end,
/// bounds are clamped, `None` is the natural end, and a negative step walks backwards.
pub fn slice(x: &RawTensor, at: At, start: Option<isize>, end: Option<isize>, step: isize) -> Result<RawTensor> {
    if step == 0 {
        return Err(Error::argument("slice", format!("the step along axis `{}` is zero", at.name())));
    }
    let n = x.shape()[at.axis] as isize;
    let (lo, hi) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let bound = |b: Option<isize>, default: isize| match b {
        None => default,
        Some(b) => (if b < 0 { b.saturating_add(n) } else { b }).clamp(lo, hi),
    };
    let (s, e) = if step > 0 { (bound(start, 0), bound(end, n)) } else { (bound(start, n - 1), bound(end, -1)) };
    let span = if step > 0 { e - s } else { s - e };
    let len = if span <= 0 { 0 } else { (span as usize).div_ceil(step.unsigned_abs()) };
    Ok(cut(x, Cut::Range { axis: at.axis, start: s, len, step }))
}

/// An axis in reverse order.
#[must_use]
pub fn flip(x: &RawTensor, axis: usize) -> RawTensor {
    let n = x.shape()[axis];
    cut(x, Cut::Range { axis, start: n as isize - 1, len: n, step: -1 })
}

/// The elements whose positions on axes `a` and `b` agree; their common axis comes last.
#[must_use]
pub fn diagonal(x: &RawTensor, a: usize, b: usize) -> RawTensor {
    cut(x, Cut::Diagonal { a, b })
}

/// Zeros of `shape` with `x` where the positions on axes `a` and `b` agree; the last axis of `x` is theirs.
pub(crate) fn on_diagonal(x: &RawTensor, shape: &[usize], a: usize, b: usize) -> RawTensor {
    uncut(x, shape, Cut::Diagonal { a, b })
}

/// `x` over the axes of an outer operation: axis `i` is axis `map[i]` of `x`, or, where that is `NONE`, repeats it with
/// the size of axis `other_map[i]` of `other`.
pub(crate) fn spread(x: &RawTensor, map: &[u8], other: &RawTensor, other_map: &[u8]) -> RawTensor {
    if map.len() == x.rank() && map.iter().enumerate().all(|(i, &m)| m as usize == i) {
        return x.clone();
    }
    let mut shape = [1; MAX_RANK];
    let mut strides = [0; MAX_RANK];
    for i in 0..map.len() {
        if map[i] == NONE {
            shape[i] = other.shape()[other_map[i] as usize];
        } else {
            shape[i] = x.shape()[map[i] as usize];
            strides[i] = x.layout.strides()[map[i] as usize];
        }
    }
    broadcast_view(x, Layout::new(&shape[..map.len()], &strides[..map.len()]), map)
}

/// The first `k` axes joined into one (a new axis of size 1 when `k` is 0).
pub(crate) fn fold_front(x: &RawTensor, k: usize) -> RawTensor {
    if k == 0 { insert(x, 0) } else { join(x, 0, k) }
}

/// Undoes [`fold_front`]: the first axis cut into axes of `sizes`.
pub(crate) fn unfold_front(x: &RawTensor, sizes: &[usize]) -> RawTensor {
    if sizes.is_empty() {
        return drop_axis(x, 0);
    }
    split(x, At { axis: 0, keys: &[] }, sizes).expect("the sizes are those that were joined")
}
