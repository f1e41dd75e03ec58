//! Selecting and updating positions along one axis: gather, scatter, and rows by a list.
//!
//! Positions are i64; a position outside the axis is an error that names it (there is no wrapping of negative ones).
//! Where several entries name one place they act in row-major order, on any number of threads.

use super::{At, Names, RawTensor, by_dtype, by_native_number, cast, compare, shape};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result, axes_text};
use forge_axes::Key;
use forge_axes::plan::{self, MAX_RANK, NONE, Positions};
use forge_kernels::index::{self as kernel, Groups};
use forge_kernels::{DType, Layout};
use std::sync::Arc;

/// How the axes of an index meet those of a tensor `x` whose axis `axis` it indexes.
///
/// Axes that both have (but for `axis`) run together; the index's other axes are new, and take the place of `axis`.
#[derive(Clone, Copy, Debug)]
pub struct SelectPlan {
    /// For each axis of `x`, its position in the index, or [`NONE`]: the indexed axis, or one that the index lacks.
    shared: Positions,
    /// Positions in the index of the new axes, in its order.
    fresh: Positions,
    fresh_len: u8,
    any_shared: bool,
}

impl SelectPlan {
    /// The plan for a tensor `x` and an index.
    ///
    /// # Panics
    /// When a list has more than 16 axes.
    pub const fn new(x: &[Key<'_>], axis: usize, index: &[Key<'_>]) -> Self {
        let mut p = Self { shared: plan::map(x, index), fresh: [NONE; MAX_RANK], fresh_len: 0, any_shared: false };
        p.shared[axis] = NONE;
        let mut j = 0;
        while j < index.len() {
            let at = plan::pos(x, &index[j]);
            if at == NONE || at as usize == axis {
                p.fresh[p.fresh_len as usize] = j as u8;
                p.fresh_len += 1;
            } else {
                p.any_shared = true;
            }
            j += 1;
        }
        p
    }

    /// Positions in the index of the new axes.
    pub(crate) fn fresh(&self) -> &[u8] {
        &self.fresh[..self.fresh_len as usize]
    }

    /// Sizes of the new axes.
    fn fresh_sizes(&self, index: &RawTensor) -> Vec<usize> {
        self.fresh().iter().map(|&j| index.shape()[j as usize]).collect()
    }
}

fn want_index(op: &'static str, index: &RawTensor) -> Result<()> {
    if index.dtype() == DType::I64 {
        return Ok(());
    }
    Err(Error::DType { op, expected: "an i64 index", found: index.dtype() })
}

/// `index` dense, its positions checked against the axis.
fn checked(op: &'static str, at: At, index: &RawTensor, size: usize) -> Result<RawTensor> {
    want_index(op, index)?;
    let dense = index.detach().contiguous();
    let list = dense.as_slice::<i64>().expect("made dense");
    match kernel::first_outside(list, size) {
        None => Ok(dense),
        Some(i) => Err(at.index_error(op, i, size)),
    }
}

/// The shape of `x` with another size of axis `axis`.
fn resized(x: &RawTensor, axis: usize, n: usize) -> Vec<usize> {
    let mut s = x.shape().to_vec();
    s[axis] = n;
    s
}

/// The index as seen by `x` (whose axes it may lack: strides 0), its new axes joined at the place of the indexed one.
fn along(
    op: &'static str,
    x: &RawTensor,
    at: At,
    index: &RawTensor,
    p: &SelectPlan,
    names: Names,
) -> Result<RawTensor> {
    let index = checked(op, at, index, x.shape()[at.axis])?;
    let order: Vec<u8> =
        p.shared[..x.rank()].iter().copied().filter(|&j| j != NONE).chain(p.fresh().iter().copied()).collect();
    let shared = order.len() - p.fresh().len();
    let view = shape::join(&shape::permute(&index, &order), shared, p.fresh().len());
    let mut sizes = x.shape().to_vec();
    let mut strides = vec![0; x.rank()];
    sizes[at.axis] = view.shape()[shared];
    strides[at.axis] = view.layout.strides()[shared];
    let mut next = 0;
    for (i, &j) in p.shared[..x.rank()].iter().enumerate() {
        if j == NONE {
            continue;
        }
        if view.shape()[next] != x.shape()[i] {
            return Err(names.mismatch(op, (x, i), (&index, j as usize)));
        }
        strides[i] = view.layout.strides()[next];
        next += 1;
    }
    Ok(view.view(Layout::new(&sizes, &strides), view.offset))
}

/// Axis `axis` cut into `sizes`, unless that changes nothing.
fn spread_axis(y: RawTensor, axis: usize, sizes: &[usize]) -> Result<RawTensor> {
    if sizes.len() == 1 {
        return Ok(y);
    }
    shape::split(&y, At { axis, keys: &[] }, sizes)
}

/// The positions `index` of an axis: the index's axes take its place.
pub fn gather(op: &'static str, x: &RawTensor, at: At, index: &RawTensor) -> Result<RawTensor> {
    let list = checked(op, at, index, x.shape()[at.axis])?;
    spread_axis(pick(x, at.axis, &list)?, at.axis, index.shape())
}

/// [`gather`], where axes that `index` shares with `x` run together.
pub fn select(
    op: &'static str,
    x: &RawTensor,
    at: At,
    index: &RawTensor,
    p: &SelectPlan,
    names: Names,
) -> Result<RawTensor> {
    if !p.any_shared {
        return gather(op, x, at, index);
    }
    let view = along(op, x, at, index, p, names)?;
    spread_axis(take_along(x, at.axis, &view), at.axis, &p.fresh_sizes(index))
}

/// `x` with `src` added (or, if `set`, written) at the positions `index` of an axis. `src` has the axes of `x`, the
/// index's new ones in place of that axis; `src_keys` names them.
pub fn scatter(
    op: &'static str,
    x: &RawTensor,
    at: At,
    index: &RawTensor,
    p: &SelectPlan,
    names: Names,
    src: &RawTensor,
    src_keys: &[Key],
    set: bool,
) -> Result<RawTensor> {
    let mut want = x.shape().to_vec();
    want.splice(at.axis..=at.axis, p.fresh_sizes(index));
    check_source(op, x, src, &want, src_keys)?;
    let src = shape::join(src, at.axis, p.fresh().len());
    if !set && !p.any_shared {
        let list = checked(op, at, index, x.shape()[at.axis])?;
        return add_rows(Some(x), &src, at.axis, &list, x.shape()[at.axis]);
    }
    let view = along(op, x, at, index, p, names)?;
    if set { set_along(x, &src, at.axis, &view) } else { add_along(x, &src, at.axis, &view) }
}

/// That `src` has the dtype of `x` and the sizes `want`.
fn check_source(op: &'static str, x: &RawTensor, src: &RawTensor, want: &[usize], keys: &[Key]) -> Result<()> {
    if src.dtype() != x.dtype() {
        return Err(Error::DType { op, expected: "two operands of one dtype", found: src.dtype() });
    }
    match (0..want.len()).find(|&i| want[i] != src.shape()[i]) {
        None => Ok(()),
        Some(i) => Err(Error::SizeMismatch {
            op,
            axis: keys.get(i).map_or("?", |k| k.name).to_owned(),
            lhs: want[i],
            rhs: src.shape()[i],
            lhs_axes: axes_text(keys, want),
            rhs_axes: axes_text(keys, src.shape()),
        }),
    }
}

// ---- by a list ---------------------------------------------------------------------------------------------------

fn as_list(list: &RawTensor) -> &[i64] {
    list.as_slice().expect("a checked list is dense")
}

/// The rows of `list` (checked, dense).
fn pick(x: &RawTensor, axis: usize, list: &RawTensor) -> Result<RawTensor> {
    let positions = as_list(list);
    let out = by_dtype!(x.dtype(), T => {
        let v = x.strided::<T>();
        RawTensor::build(&resized(x, axis, positions.len()), |out: &mut [T]| kernel::gather(out, &v, axis, positions))
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    let (list, n) = (list.clone(), x.shape()[axis]);
    Ok(record(out, [x], move |p| Ok([Some(add_rows(None, p.grad, axis, &list, n)?)])))
}

/// `base` (zeros where there is none) with row `j` of `src` added to row `list[j]`; axis `axis` of the result has size
/// `n`.
fn add_rows(base: Option<&RawTensor>, src: &RawTensor, axis: usize, list: &RawTensor, n: usize) -> Result<RawTensor> {
    if matches!(src.dtype(), DType::F16 | DType::BF16) {
        let wide = |t: &RawTensor| cast::to(t, DType::F32);
        let base = base.map(wide).transpose()?;
        return cast::to(&add_rows(base.as_ref(), &wide(src)?, axis, list, n)?, src.dtype());
    }
    let groups = Groups::new(as_list(list), n);
    let out = by_native_number!("index_add", src.dtype(), T => {
        let (b, s) = (base.map(RawTensor::strided::<T>), src.strided::<T>());
        RawTensor::build(&resized(src, axis, n), |out: &mut [T]| {
            kernel::add_rows(out, n, b.as_ref(), &s, axis, &groups);
        })
    });
    let none = src.detach();
    let base = base.unwrap_or(&none);
    if !tracks(&[base, src]) {
        return Ok(out);
    }
    let list = list.clone();
    Ok(record(out, [base, src], move |p| {
        Ok([p.needs(0).then(|| p.grad.clone()), if p.needs(1) { Some(pick(p.grad, axis, &list)?) } else { None }])
    }))
}

/// `x` with row `j` of `src` added to row `list[j]`, repeated positions adding up.
pub fn index_add(x: &RawTensor, at: At, list: &RawTensor, src: &RawTensor) -> Result<RawTensor> {
    let list = checked("index_add", at, list, x.shape()[at.axis])?;
    check_source("index_add", x, src, &resized(x, at.axis, list.len()), at.keys)?;
    add_rows(Some(x), src, at.axis, &list, x.shape()[at.axis])
}

/// `x` with row `j` of `src` in place of row `list[j]`; no position may be named twice.
pub fn set_rows(x: &RawTensor, at: At, list: &RawTensor, src: &RawTensor) -> Result<RawTensor> {
    let n = x.shape()[at.axis];
    let list = checked("set_rows", at, list, n)?;
    check_source("set_rows", x, src, &resized(x, at.axis, list.len()), at.keys)?;
    let groups = Groups::new(as_list(&list), n);
    if let Some(v) = groups.repeated() {
        let what = format!(
            "position {v} of axis `{}` is named twice; `index_add` adds up, `scatter` takes the last",
            at.name()
        );
        return Err(Error::argument("set_rows", what));
    }
    Ok(replace(x, Some(src), at.axis, &list, &Arc::new(groups)))
}

/// `x` with zeros in the rows of `list`.
pub fn zero_rows(x: &RawTensor, at: At, list: &RawTensor) -> Result<RawTensor> {
    let n = x.shape()[at.axis];
    let list = checked("zero_rows", at, list, n)?;
    let groups = Arc::new(Groups::new(as_list(&list), n));
    Ok(replace(x, None, at.axis, &list, &groups))
}

fn replace(x: &RawTensor, src: Option<&RawTensor>, axis: usize, list: &RawTensor, groups: &Arc<Groups>) -> RawTensor {
    let out = by_dtype!(x.dtype(), T => {
        let (v, s) = (x.strided::<T>(), src.map(RawTensor::strided::<T>));
        RawTensor::build(x.shape(), |out: &mut [T]| kernel::set_rows(out, &v, s.as_ref(), axis, groups))
    });
    let none = x.detach();
    let src = src.unwrap_or(&none);
    if !tracks(&[x, src]) {
        return out;
    }
    let (list, groups) = (list.clone(), groups.clone());
    record(out, [x, src], move |p| {
        Ok([
            p.needs(0).then(|| replace(p.grad, None, axis, &list, &groups)),
            if p.needs(1) { Some(pick(p.grad, axis, &list)?) } else { None },
        ])
    })
}

// ---- along the axis ----------------------------------------------------------------------------------------------

/// `out[o, j, i] = x[o, index[o, j, i], i]`; `index` (checked) has the shape of the result.
fn take_along(x: &RawTensor, axis: usize, index: &RawTensor) -> RawTensor {
    let out = by_dtype!(x.dtype(), T => {
        let (v, ix) = (x.strided::<T>(), index.strided::<i64>());
        RawTensor::build(index.shape(), |out: &mut [T]| kernel::take_along(out, &v, axis, &ix))
    });
    if !tracks(&[x]) {
        return out;
    }
    let (index, like) = (index.clone(), (x.shape().to_vec(), x.dtype()));
    record(out, [x], move |p| Ok([Some(add_along(&zeros(&like.0, like.1), p.grad, axis, &index)?)]))
}

fn zeros(shape: &[usize], dtype: DType) -> RawTensor {
    by_dtype!(dtype, T => RawTensor::full::<T>(shape, T::default()))
}

/// Whether an update along `axis` should run with that axis last: tasks are cut by the axes outside of it, and here
/// those alone are too few.
fn few_outer(x: &RawTensor, axis: usize) -> bool {
    let outer: usize = x.shape()[..axis].iter().product();
    outer < 8 && x.shape()[axis + 1..].iter().product::<usize>() > 1 && x.len() >= 1 << 14
}

/// The order that puts `axis` last, and its inverse.
fn last(rank: usize, axis: usize) -> (Vec<u8>, Vec<u8>) {
    let order: Vec<u8> = (0..rank).filter(|&a| a != axis).chain([axis]).map(|a| a as u8).collect();
    let mut back = vec![0; rank];
    for (i, &o) in order.iter().enumerate() {
        back[o as usize] = i as u8;
    }
    (order, back)
}

/// What `f` writes to a dense copy of `x`, where `f` gets the output, and the axis and the tensors as it should see
/// them: dense output slabs need the axis last when the axes outside of it are few.
fn update(
    x: &RawTensor,
    axis: usize,
    others: [&RawTensor; 2],
    f: impl Fn(RawTensor, usize, [&RawTensor; 2]) -> Result<RawTensor>,
) -> Result<RawTensor> {
    if !few_outer(x, axis) {
        return f(x.compacted(), axis, others);
    }
    let (order, back) = last(x.rank(), axis);
    let seen = |t: &RawTensor| shape::permute(&t.detach(), &order);
    let y = f(seen(x).compacted(), x.rank() - 1, [&seen(others[0]), &seen(others[1])])?;
    Ok(shape::permute(&y, &back).contiguous())
}

/// `x` with `out[o, index[o, j, i], i] += src[o, j, i]`.
fn add_along(x: &RawTensor, src: &RawTensor, axis: usize, index: &RawTensor) -> Result<RawTensor> {
    if matches!(src.dtype(), DType::F16 | DType::BF16) {
        let wide = add_along(&cast::to(x, DType::F32)?, &cast::to(src, DType::F32)?, axis, index)?;
        return cast::to(&wide, src.dtype());
    }
    let out = update(x, axis, [src, index], |mut out, axis, [src, index]| {
        let n = out.shape()[axis];
        by_native_number!("scatter_add", src.dtype(), T => {
            let data = out.as_mut_slice::<T>().expect("a fresh copy");
            kernel::add_along(data, n, &src.strided::<T>(), axis, &index.strided::<i64>());
        });
        Ok(out)
    })?;
    if !tracks(&[x, src]) {
        return Ok(out);
    }
    let index = index.clone();
    Ok(record(out, [x, src], move |p| {
        Ok([p.needs(0).then(|| p.grad.clone()), p.needs(1).then(|| take_along(p.grad, axis, &index))])
    }))
}

/// `x` with `out[o, index[o, j, i], i] = src[o, j, i]`, the last `j` winning.
fn set_along(x: &RawTensor, src: &RawTensor, axis: usize, index: &RawTensor) -> Result<RawTensor> {
    let out = update(x, axis, [src, index], |mut out, axis, [src, index]| {
        let n = out.shape()[axis];
        by_dtype!(src.dtype(), T => {
            let data = out.as_mut_slice::<T>().expect("a fresh copy");
            kernel::set_along(data, n, &src.strided::<T>(), axis, &index.strided::<i64>());
        });
        Ok(out)
    })?;
    if !tracks(&[x, src]) {
        return Ok(out);
    }
    let (index, shape) = (index.clone(), x.shape().to_vec());
    Ok(record(out, [x, src], move |p| {
        // Which entry each place took, if any: its gradient goes there, and to `x` where none landed.
        let winners = update(&zeros(&shape, DType::I64), axis, [&index, &index], |mut out, axis, [index, _]| {
            let n = out.shape()[axis];
            let data = out.as_mut_slice::<i64>().expect("a fresh copy");
            kernel::winners_along(data, n, axis, &index.strided::<i64>());
            Ok(out)
        })?;
        let gx = if p.needs(0) {
            let kept = mask(&winners, |_, w| w < 0);
            Some(compare::where_(&kept, p.grad, &p.grad.zeros_like())?)
        } else {
            None
        };
        let gs = if p.needs(1) {
            let inner: usize = index.shape()[axis + 1..].iter().product();
            let n = index.shape()[axis];
            let won = mask(&take_along(&winners, axis, &index), |e, w| w as usize == e / inner % n);
            let g = take_along(p.grad, axis, &index);
            Some(compare::where_(&won, &g, &g.zeros_like())?)
        } else {
            None
        };
        Ok([gx, gs])
    }))
}

/// `f(row-major place, value)` of every element of a dense i64 tensor.
fn mask(x: &RawTensor, f: impl Fn(usize, i64) -> bool) -> RawTensor {
    let v = as_list(x);
    RawTensor::build(x.shape(), |out: &mut [bool]| {
        for (i, (o, &v)) in out.iter_mut().zip(v).enumerate() {
            *o = f(i, v);
        }
    })
}

// ---- by a mask ---------------------------------------------------------------------------------------------------

/// The positions where `mask` holds, for an axis that joins the mask's axes; `x`'s own sizes of them are checked.
fn selected(op: &'static str, x: &RawTensor, mask: &RawTensor, names: Names) -> Result<RawTensor> {
    if mask.dtype() != DType::Bool {
        return Err(Error::DType { op, expected: "a bool mask", found: mask.dtype() });
    }
    let at = plan::map(names.rhs, names.lhs);
    for (j, &i) in at[..mask.rank()].iter().enumerate() {
        if x.shape()[i as usize] != mask.shape()[j] {
            return Err(names.mismatch(op, (x, i as usize), (mask, j)));
        }
    }
    let list = kernel::true_positions(&mask.strided::<bool>());
    RawTensor::from_slice(&[list.len()], &list)
}

/// The elements (rows, where `x` has axes that the mask lacks) where `mask` holds, in its row-major order, along one axis
/// at the place of the mask's first.
pub fn masked_select(x: &RawTensor, mask: &RawTensor, p: &plan::MergePlan, names: Names) -> Result<RawTensor> {
    let list = selected("masked_select", x, mask, names)?;
    let merged = shape::merge(x, &p.order[..x.rank()], p.at as usize, mask.rank());
    pick(&merged, p.at as usize, &list)
}

/// `x` with row `k` of `src` in place of the `k`-th element (row) where `mask` holds. `src` has the axes of
/// [`masked_select`]'s result; `keys` names them.
pub fn masked_scatter(
    x: &RawTensor,
    mask: &RawTensor,
    p: &plan::MergePlan,
    names: Names,
    src: &RawTensor,
    keys: &[Key],
) -> Result<RawTensor> {
    let list = selected("masked_scatter", x, mask, names)?;
    let (axis, order) = (p.at as usize, &p.order[..x.rank()]);
    let merged = shape::merge(x, order, axis, mask.rank());
    check_source("masked_scatter", x, src, &resized(&merged, axis, list.len()), keys)?;
    let groups = Arc::new(Groups::new(as_list(&list), merged.shape()[axis]));
    let y = replace(&merged, Some(src), axis, &list, &groups);
    let y = spread_axis(y, axis, mask.shape())?;
    Ok(shape::permute(&y, &plan::inverse(&p.order)[..x.rank()]))
}
