//! Tensors made of others: joined, repeated, rolled, padded, with parts replaced.

pub use super::unbind::unbind;
use super::{At, Names, RawTensor, by_dtype, cast, reduce, shape};
use crate::autograd::{record, record_many, tracks};
use crate::error::{Error, Result, axes_text};
use forge_axes::Key;
use forge_kernels::assemble::{self as kernel, Piece};
use std::ops::Range;

/// A part of the result along the axis.
enum Part<'a> {
    Data(&'a RawTensor),
    /// So many positions of a scalar's value.
    Fill(&'a RawTensor, usize),
}

/// `parts` side by side along `axis`; they agree in dtype and in `shape`, but for that axis.
fn side_by_side(shape: &[usize], axis: usize, parts: &[Part]) -> RawTensor {
    let inner: usize = shape[axis + 1..].iter().product();
    let mut out_shape = shape.to_vec();
    out_shape[axis] = parts
        .iter()
        .map(|p| match p {
            Part::Data(x) => x.shape()[axis],
            Part::Fill(_, n) => *n,
        })
        .sum();
    let (Part::Data(first) | Part::Fill(first, _)) = parts[0];
    // Many short runs of a strided tensor are slow to find one by one.
    let dense: Vec<Option<RawTensor>> = parts
        .iter()
        .map(|p| match p {
            Part::Data(x) if x.shape()[axis] * inner < 64 => Some(x.detach().contiguous()),
            _ => None,
        })
        .collect();
    by_dtype!(first.dtype(), T => {
        let pieces: Vec<Piece<T>> = parts.iter().zip(&dense).map(|(p, dense)| match p {
            Part::Data(x) => Piece::Data(dense.as_ref().unwrap_or(x).strided(), x.shape()[axis] * inner),
            Part::Fill(v, n) => Piece::Fill(v.strided::<T>().get(&[]), n * inner),
        }).collect();
        RawTensor::build(&out_shape, |out: &mut [T]| kernel::concat(out, &pieces))
    })
}

/// Positions `range` of an axis.
fn part(x: &RawTensor, axis: usize, range: Range<usize>) -> RawTensor {
    shape::narrow(x, At { axis, keys: &[] }, range.start, range.len()).expect("the range is inside the axis")
}

/// `parts` joined along an axis; `keys` names their axes. At least one part.
pub fn concat(op: &'static str, parts: &[&RawTensor], at: At) -> Result<RawTensor> {
    let (first, axis) = (parts[0], at.axis);
    for p in &parts[1..] {
        if p.dtype() != first.dtype() {
            return Err(Error::DType { op, expected: "operands of one dtype", found: p.dtype() });
        }
        if let Some(i) = (0..first.rank()).find(|&i| i != axis && p.shape()[i] != first.shape()[i]) {
            return Err(Names { lhs: at.keys, rhs: at.keys }.mismatch(op, (first, i), (p, i)));
        }
    }
    if parts.len() == 1 {
        return Ok(first.clone());
    }
    let list: Vec<Part> = parts.iter().map(|p| Part::Data(p)).collect();
    let out = side_by_side(first.shape(), axis, &list);
    if !tracks(parts) {
        return Ok(out);
    }
    let sizes: Vec<usize> = parts.iter().map(|p| p.shape()[axis]).collect();
    Ok(record_many(out, parts, move |p, grads| {
        let mut start = 0;
        for (i, n) in sizes.iter().enumerate() {
            if p.needs(i) {
                grads[i] = Some(part(p.grad, axis, start..start + n));
            }
            start += n;
        }
        Ok(())
    }))
}

/// `parts`, of one shape, along a new first axis.
pub fn stack(parts: &[&RawTensor], keys: &[Key]) -> Result<RawTensor> {
    let first = parts[0];
    for p in &parts[1..] {
        if let Some(i) = (0..first.rank()).find(|&i| p.shape()[i] != first.shape()[i]) {
            return Err(Names { lhs: keys, rhs: keys }.mismatch("stack", (first, i), (p, i)));
        }
    }
    let wide: Vec<RawTensor> = parts.iter().map(|p| shape::insert(p, 0)).collect();
    concat("stack", &wide.iter().collect::<Vec<_>>(), At { axis: 0, keys: &[] })
}

/// The whole axis `n` times over.
pub fn repeat(x: &RawTensor, at: At, n: usize) -> Result<RawTensor> {
    times("repeat", x, at, at.axis, n)
}

/// Each position of the axis `n` times in a row.
pub fn repeat_interleave(x: &RawTensor, at: At, n: usize) -> Result<RawTensor> {
    times("repeat_interleave", x, at, at.axis + 1, n)
}

/// A new axis of `n` equal positions before position `place`, joined with the axis beside it.
fn times(op: &'static str, x: &RawTensor, at: At, place: usize, n: usize) -> Result<RawTensor> {
    if n == 1 {
        return Ok(x.clone());
    }
    if !x.shape()[at.axis].checked_mul(n).is_some_and(|n| fits(x, at.axis, n)) {
        return Err(Error::argument(
            op,
            format!("{n} times {} exceeds the address space", axes_text(at.keys, x.shape())),
        ));
    }
    let wide = shape::expand(&shape::insert(x, place), At { axis: place, keys: &[] }, n)?;
    Ok(shape::join(&wide, at.axis, 2))
}

/// Whether memory for `x` with another size of an axis can be asked for at all.
fn fits(x: &RawTensor, axis: usize, n: usize) -> bool {
    let others = x.shape().iter().enumerate().filter(|(i, _)| *i != axis);
    others.map(|(_, &d)| d).try_fold(n, usize::checked_mul).is_some_and(|n| n <= isize::MAX as usize / 16)
}

/// Position `i` moves to `i + shift`, and around from the end to the beginning.
#[must_use]
pub fn roll(x: &RawTensor, axis: usize, shift: isize) -> RawTensor {
    let n = x.shape()[axis];
    let by = if n == 0 { 0 } else { shift.rem_euclid(n as isize) as usize };
    if by == 0 {
        return x.clone();
    }
    let d = x.detach();
    let parts = [part(&d, axis, n - by..n), part(&d, axis, 0..n - by)];
    let out = side_by_side(x.shape(), axis, &[Part::Data(&parts[0]), Part::Data(&parts[1])]);
    if !tracks(&[x]) {
        return out;
    }
    record(out, [x], move |p| Ok([Some(roll(p.grad, axis, -(by as isize)))]))
}

/// `before` positions of `value` (a scalar of any dtype) in front of an axis and `after` behind it; negative counts cut.
pub fn pad(
    op: &'static str,
    x: &RawTensor,
    at: At,
    before: isize,
    after: isize,
    value: &RawTensor,
) -> Result<RawTensor> {
    let axis = at.axis;
    // Counts may be as large as the type allows where they cancel.
    let (n, b, a) = (x.shape()[axis] as i128, before as i128, after as i128);
    let size = usize::try_from(n + b + a).ok().filter(|&m| fits(x, axis, m));
    let (Some(size), Some(_), Some(_)) = (size, before.checked_neg(), after.checked_neg()) else {
        let what = format!("axis `{}` of size {n} cannot be padded by {before} and {after}", at.name());
        return Err(Error::argument(op, what));
    };
    if before == 0 && after == 0 {
        return Ok(x.clone());
    }
    // Where the data begin and end in the result, and which of them are there.
    let inside = |at: i128| at.clamp(0, size as i128) as usize;
    let (from, to) = (inside(b), inside(b + n));
    let range = if from < to { (from as i128 - b) as usize..(to as i128 - b) as usize } else { 0..0 };
    let (front, back) = if from < to { (from, size - to) } else { (size, 0) };
    if front == 0 && back == 0 {
        return Ok(part(x, axis, range));
    }
    let (kept, value) = (part(&x.detach(), axis, range), cast::to(value, x.dtype())?);
    let parts = [Part::Fill(&value, front), Part::Data(&kept), Part::Fill(&value, back)];
    let out = side_by_side(x.shape(), axis, &parts);
    if !tracks(&[x]) {
        return Ok(out);
    }
    Ok(record(out, [x], move |p| Ok([Some(pad(op, p.grad, At { axis, keys: &[] }, -before, -after, &zero())?)])))
}

fn zero() -> RawTensor {
    RawTensor::full(&[], false)
}

/// The axis on the diagonal of a square over two axes at its place, zeros elsewhere.
#[must_use]
pub fn diag_embed(x: &RawTensor, axis: usize) -> RawTensor {
    let n = x.shape()[axis];
    let mut order: Vec<u8> = (0..x.rank()).filter(|&a| a != axis).map(|a| a as u8).collect();
    order.push(axis as u8);
    let mut full = x.shape().to_vec();
    full.insert(axis, n);
    shape::on_diagonal(&shape::permute(x, &order), &full, axis, axis + 1)
}

/// The sum of the elements whose positions on axes `a` and `b` agree.
pub fn trace(x: &RawTensor, a: usize, b: usize) -> Result<RawTensor> {
    let d = shape::diagonal(x, a, b);
    let last = d.rank() - 1;
    reduce::sum(&d, &[last])
}

/// `x` with `src` in place of the positions from `start` on.
pub fn set_slice(x: &RawTensor, at: At, start: usize, src: &RawTensor) -> Result<RawTensor> {
    const OP: &str = "set_slice";
    let (n, axis) = (x.shape()[at.axis], at.axis);
    if src.dtype() != x.dtype() {
        return Err(Error::DType { op: OP, expected: "two operands of one dtype", found: src.dtype() });
    }
    if let Some(i) = (0..x.rank()).find(|&i| i != axis && x.shape()[i] != src.shape()[i]) {
        return Err(Names { lhs: at.keys, rhs: at.keys }.mismatch(OP, (x, i), (src, i)));
    }
    let len = src.shape()[axis];
    let end = inside(OP, at, n, start, len)?;
    let d = x.detach();
    let (front, back) = (part(&d, axis, 0..start), part(&d, axis, end..n));
    let out = side_by_side(x.shape(), axis, &[Part::Data(&front), Part::Data(src), Part::Data(&back)]);
    if !tracks(&[x, src]) {
        return Ok(out);
    }
    Ok(record(out, [x, src], move |p| {
        Ok([p.needs(0).then(|| cleared(p.grad, axis, start..end)), p.needs(1).then(|| part(p.grad, axis, start..end))])
    }))
}

/// `x` with zeros in the positions `start..start + len`.
pub fn zero_slice(x: &RawTensor, at: At, start: usize, len: usize) -> Result<RawTensor> {
    let end = inside("zero_slice", at, x.shape()[at.axis], start, len)?;
    Ok(cleared(x, at.axis, start..end))
}

fn cleared(x: &RawTensor, axis: usize, range: Range<usize>) -> RawTensor {
    let d = x.detach();
    let value = cast::to(&zero(), x.dtype()).expect("a constant converts to any dtype");
    let (front, back) = (part(&d, axis, 0..range.start), part(&d, axis, range.end..x.shape()[axis]));
    let out = side_by_side(x.shape(), axis, &[Part::Data(&front), Part::Fill(&value, range.len()), Part::Data(&back)]);
    if !tracks(&[x]) {
        return out;
    }
    record(out, [x], move |p| Ok([Some(cleared(p.grad, axis, range.clone()))]))
}

/// The end of `start..start + len`, which must lie in an axis of size `n`.
fn inside(op: &'static str, at: At, n: usize, start: usize, len: usize) -> Result<usize> {
    start.checked_add(len).filter(|&end| end <= n).ok_or_else(|| {
        let what = format!("{start}..{} is not inside axis `{}` of size {n}", start.saturating_add(len), at.name());
        Error::argument(op, what)
    })
}
