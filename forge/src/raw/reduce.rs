//! Reductions over one or several axes.

use super::{Names, RawTensor, arith, by_dtype, by_float, by_native_number, cast, compare, shape};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result};
use arrayvec::ArrayVec;
use forge_axes::Key;
use forge_axes::plan::PointwisePlan;
use forge_kernels::arith::BinaryOp;
use forge_kernels::compare::TestOp;
use forge_kernels::unary::UnaryOp;
use forge_kernels::{DType, Layout, MAX_RANK, reduce as kernel};

/// The dtype of sums and products: f32 for 16-bit floats, i64 for integers and bools.
pub(crate) fn sum_dtype(d: DType) -> DType {
    match d {
        DType::F32 | DType::F64 => d,
        DType::F16 | DType::BF16 => DType::F32,
        _ => DType::I64,
    }
}

/// The axes of a reduction with the names of all axes, for its error messages.
#[derive(Clone, Copy)]
pub struct Over<'k> {
    /// Positions, ascending.
    pub axes: &'k [usize],
    /// Names of all axes of the operand.
    pub keys: &'k [Key<'k>],
}

impl Over<'_> {
    /// The error that there is nothing to choose from.
    fn empty_error(&self, op: &'static str, x: &RawTensor) -> Error {
        let empty = self.axes.iter().find(|&&a| x.shape()[a] == 0);
        let name = empty.and_then(|&a| self.keys.get(a)).map_or("?", |k| k.name);
        Error::argument(op, format!("axis `{name}` is empty: there is no element to take"))
    }
}

/// Sum over the axes `axes` (positions, ascending), which disappear; in the dtype `sum_dtype`.
pub fn sum(x: &RawTensor, axes: &[usize]) -> Result<RawTensor> {
    if axes.is_empty() {
        return cast::to(x, sum_dtype(x.dtype()));
    }
    let out = by_dtype!(x.dtype(), T => reduced(x, axes, kernel::sum::<T>));
    if !tracks(&[x]) {
        return Ok(out);
    }
    let axes: ArrayVec<usize, MAX_RANK> = axes.iter().copied().collect();
    let full = x.layout;
    Ok(record(out, [x], move |p| Ok([Some(repeat_along(p.grad, &axes, full.shape()))])))
}

/// Runs a reduction kernel with the kept axes of `x` first.
fn reduced<T: forge_kernels::Element, U: forge_kernels::Element>(
    x: &RawTensor,
    axes: &[usize],
    f: impl FnOnce(&mut [U], &forge_kernels::Strided<T>, usize),
) -> RawTensor {
    let (kept, order) = kept_first(x.rank(), axes);
    let layout = x.layout.permuted(&order);
    let v = forge_kernels::Strided::new(x.buf.host::<T>(), x.offset, layout);
    RawTensor::build(&layout.shape()[..kept], |out| f(out, &v, kept))
}

/// Mean over the axes `axes`, which disappear; an empty axis gives NaN. Floats only.
pub fn mean(x: &RawTensor, axes: &[usize]) -> Result<RawTensor> {
    if !x.dtype().is_float() {
        return Err(Error::DType { op: "mean", expected: "floats", found: x.dtype() });
    }
    let n = count(x, axes);
    arith::scalar_owned(BinaryOp::Div, sum(x, axes)?, n as f64)
}

/// Elements of one lane.
fn count(x: &RawTensor, axes: &[usize]) -> usize {
    axes.iter().map(|&a| x.shape()[a]).product()
}

/// Product over the axes `axes`, which disappear; in the dtype `sum_dtype`. The gradient is exact where elements are 0.
pub fn prod(x: &RawTensor, axes: &[usize]) -> Result<RawTensor> {
    if axes.is_empty() {
        return cast::to(x, sum_dtype(x.dtype()));
    }
    if tracks(&[x]) && axes.len() > 1 {
        // One axis at a time: the derivative of each is that of a single one.
        let (&last, others) = axes.split_last().expect("not empty");
        return prod(&prod(x, &[last])?, others);
    }
    let out = by_dtype!(x.dtype(), T => reduced(x, axes, kernel::prod::<T>));
    if !tracks(&[x]) {
        return Ok(out);
    }
    let (saved, axis) = (x.clone(), axes[0]);
    Ok(record(out, [x], move |p| {
        // Each element's slope is the product of those before it and of those after it.
        let before = super::scan::cumprod_before(&saved, axis, false)?;
        let after = super::scan::cumprod_before(&saved, axis, true)?;
        let slope = arith::same(BinaryOp::Mul, &before, &after)?;
        Ok([Some(arith::same(BinaryOp::Mul, &repeat_along(p.grad, &[axis], saved.shape()), &slope)?)])
    }))
}

/// Largest (`largest`) or smallest element over the axes, which disappear. NaN wins. Of no elements: the infinity that any
/// element would replace; integers have none.
///
/// The gradient goes to the first extremum of each lane in row-major order.
pub fn extremum(x: &RawTensor, over: Over, largest: bool) -> Result<RawTensor> {
    let name = if largest { "max" } else { "min" };
    if over.axes.is_empty() {
        return Ok(x.clone());
    }
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return cast::to(&extremum(&cast::to(x, DType::F32)?, over, largest)?, x.dtype());
    }
    if !x.dtype().is_float() && count(x, over.axes) == 0 {
        return Err(over.empty_error(name, x));
    }
    let out = by_native_number!(name, x.dtype(), T => {
        reduced(x, over.axes, if largest { kernel::max::<T> } else { kernel::min::<T> })
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    let (saved, axes) = (x.detach(), over.axes.to_vec());
    Ok(record(out, [x], move |p| {
        if saved.is_empty() {
            return Ok([Some(saved.zeros_like())]);
        }
        let at = positions(&saved, Over { axes: &axes, keys: &[] }, largest, name)?;
        Ok([Some(put(p.grad, &axes, &at, saved.shape()))])
    }))
}

/// Where the first extremum of each lane is, counted in row-major order of the axes; NaN is an extremum.
fn positions(x: &RawTensor, over: Over, largest: bool, op: &'static str) -> Result<RawTensor> {
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return positions(&cast::to(&x.detach(), DType::F32)?, over, largest, op);
    }
    if count(x, over.axes) == 0 {
        return Err(over.empty_error(op, x));
    }
    by_native_number!(op, x.dtype(), T => {
        Ok(reduced(x, over.axes, if largest { kernel::argmax::<T> } else { kernel::argmin::<T> }))
    })
}

/// Position of the first largest element along an axis, as i64; the first NaN where there is one.
pub fn argmax(x: &RawTensor, over: Over) -> Result<RawTensor> {
    positions(x, over, true, "argmax")
}

/// Position of the first smallest element along an axis, as i64; the first NaN where there is one.
pub fn argmin(x: &RawTensor, over: Over) -> Result<RawTensor> {
    positions(x, over, false, "argmin")
}

/// Variance over the axes, which disappear: the mean of the squared distance from the mean, with `n - ddof` in place of
/// `n`. Two passes, so a large common offset costs no precision.
pub fn variance(x: &RawTensor, axes: &[usize], ddof: usize) -> Result<RawTensor> {
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return cast::to(&variance(&cast::to(x, DType::F32)?, axes, ddof)?, x.dtype());
    }
    let n = count(x, axes);
    let degrees = n.saturating_sub(ddof) as f64;
    let out = by_float!("variance", x.dtype(), T => {
        let mean = mean(&x.detach(), axes)?;
        let squares = reduced(x, axes, |out: &mut [T], v, kept| {
            kernel::squared_deviations(out, v, kept, &mean.to_vec::<T>());
        });
        arith::scalar_owned(BinaryOp::Div, squares, degrees)?
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    let (saved, axes) = (x.clone(), axes.to_vec());
    Ok(record(out, [x], move |p| {
        let full = saved.shape();
        let centred = arith::same(BinaryOp::Sub, &saved, &repeat_along(&mean(&saved, &axes)?, &axes, full))?;
        let g = arith::scalar(BinaryOp::Mul, p.grad, 2.0 / degrees)?;
        Ok([Some(arith::same(BinaryOp::Mul, &repeat_along(&g, &axes, full), &centred)?)])
    }))
}

/// `ln(sum(e^x))` over the axes, which disappear. Of no elements: -inf.
pub fn logsumexp(x: &RawTensor, axes: &[usize]) -> Result<RawTensor> {
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return cast::to(&logsumexp(&cast::to(x, DType::F32)?, axes)?, x.dtype());
    }
    let out = by_float!("logsumexp", x.dtype(), T => reduced(x, axes, kernel::log_sum_exp::<T>));
    if !tracks(&[x]) {
        return Ok(out);
    }
    let (saved, y, axes) = (x.clone(), out.clone(), axes.to_vec());
    Ok(record(out, [x], move |p| {
        // Where the result is infinite the shift is dropped: the weights are then 0 or infinite, not NaN.
        let y = p.output(&y);
        let infinite = compare::test(TestOp::Inf, &y)?;
        let y = compare::where_(&infinite, &compare::constant(y.dtype(), y.shape(), 0.0), &y)?;
        let full = saved.shape();
        let centred = arith::same(BinaryOp::Sub, &saved, &repeat_along(&y, &axes, full))?;
        let weights = super::unary::unary(UnaryOp::Exp, &centred, 0.0, "logsumexp")?;
        Ok([Some(arith::same(BinaryOp::Mul, &repeat_along(p.grad, &axes, full), &weights)?)])
    }))
}

/// Which norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Norm {
    /// Sum of magnitudes.
    L1,
    /// Square root of the sum of squares; its gradient at the zero vector is 0.
    L2,
    /// Largest magnitude; its gradient goes to the first one.
    Inf,
}

/// Norm over the axes, which disappear.
pub fn norm(x: &RawTensor, axes: &[usize], kind: Norm) -> Result<RawTensor> {
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return cast::to(&norm(&cast::to(x, DType::F32)?, axes, kind)?, x.dtype());
    }
    let recorded = tracks(&[x]);
    if recorded && kind != Norm::L2 {
        let a = super::unary::unary(UnaryOp::Abs, x, 0.0, "norm")?;
        return if kind == Norm::L1 {
            sum(&a, axes)
        } else if count(x, axes) == 0 {
            // The largest of no magnitudes is 0, where `extremum` has -inf.
            arith::scalar(BinaryOp::Maximum, &extremum(&a, Over { axes, keys: &[] }, true)?, 0.0)
        } else {
            extremum(&a, Over { axes, keys: &[] }, true)
        };
    }
    let out = by_float!("norm", x.dtype(), T => match kind {
        Norm::L1 => reduced(x, axes, kernel::sum_abs::<T>),
        Norm::Inf => reduced(x, axes, kernel::max_abs::<T>),
        Norm::L2 => {
            let squares = reduced(x, axes, kernel::sum_squares::<T>);
            super::unary::unary_owned(UnaryOp::Sqrt, squares, 0.0, "norm")?
        }
    });
    if !recorded {
        return Ok(out);
    }
    let (saved, y, axes) = (x.clone(), out.clone(), axes.to_vec());
    Ok(record(out, [x], move |p| {
        let y = p.output(&y);
        // Where the norm is 0, 1 stands in for it: every x there is 0, so the slope comes out 0.
        let zero = compare::logical_not(&y)?;
        let y = compare::where_(&zero, &compare::constant(y.dtype(), y.shape(), 1.0), &y)?;
        let g = arith::same(BinaryOp::Div, p.grad, &y)?;
        Ok([Some(arith::same(BinaryOp::Mul, &saved, &repeat_along(&g, &axes, saved.shape()))?)])
    }))
}

/// Whether any element of each lane holds (is not 0; NaN holds).
pub fn any(x: &RawTensor, axes: &[usize]) -> Result<RawTensor> {
    Ok(reduced(&compare::truth(x)?, axes, kernel::any))
}

/// Whether all elements of each lane hold.
pub fn all(x: &RawTensor, axes: &[usize]) -> Result<RawTensor> {
    Ok(reduced(&compare::truth(x)?, axes, kernel::all))
}

/// A reduction that takes a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masked {
    /// [`sum`].
    Sum,
    /// [`mean`].
    Mean,
    /// [`prod`].
    Prod,
    /// The largest element.
    Max,
    /// The smallest element.
    Min,
}

/// A reduction of the elements where `mask`, broadcast to `x`'s axes, holds: the others count as the value that changes
/// nothing. A lane without any gives `empty`, or what the reduction of no elements is.
pub fn masked(
    kind: Masked,
    x: &RawTensor,
    over: Over,
    (mask, plan, names): (&RawTensor, &PointwisePlan, Names),
    empty: Option<f64>,
) -> Result<RawTensor> {
    let op = match kind {
        Masked::Sum => "sum_masked",
        Masked::Mean => "mean_masked",
        Masked::Prod => "prod_masked",
        Masked::Max => "max_masked",
        Masked::Min => "min_masked",
    };
    let m = compare::mask_for(op, x, mask, plan, names)?;
    let neutral = match kind {
        Masked::Sum | Masked::Mean => 0.0,
        Masked::Prod => 1.0,
        // Saturates to the least and the greatest integer.
        Masked::Max => f64::NEG_INFINITY,
        Masked::Min => f64::INFINITY,
    };
    let filled = compare::where_(&m, x, &compare::constant(x.dtype(), x.shape(), neutral))?;
    let out = match kind {
        Masked::Sum => sum(&filled, over.axes)?,
        Masked::Prod => prod(&filled, over.axes)?,
        Masked::Mean => {
            let s = mean_sum(&filled, over.axes)?;
            let n = cast::to(&sum(&m, over.axes)?, s.dtype())?;
            arith::same(BinaryOp::Div, &s, &n)?
        }
        Masked::Max => extremum(&filled, over, true)?,
        Masked::Min => extremum(&filled, over, false)?,
    };
    let choice = matches!(kind, Masked::Max | Masked::Min) && !x.dtype().is_float();
    if empty.is_none() && !choice {
        return Ok(out);
    }
    let seen = any(&m, over.axes)?;
    match empty {
        Some(v) => compare::where_(&seen, &out, &compare::constant(out.dtype(), out.shape(), v)),
        None if all(&seen, &(0..seen.rank()).collect::<Vec<_>>())?.strided::<bool>().get(&[]) => Ok(out),
        None => Err(Error::argument(
            op,
            "the mask leaves no element in some place, and integers have no infinity: give `.empty(value)`",
        )),
    }
}

/// The sum that a mean divides: floats only.
fn mean_sum(x: &RawTensor, axes: &[usize]) -> Result<RawTensor> {
    if x.dtype().is_float() {
        sum(x, axes)
    } else {
        Err(Error::DType { op: "mean_masked", expected: "floats", found: x.dtype() })
    }
}

/// `out[kept.., j..] = x` at lane position `at[kept.., j..]`: positions count in row-major order of the axes `axes`; `at` has
/// the kept axes, then at most one more.
pub(crate) fn pick(x: &RawTensor, axes: &[usize], at: &RawTensor) -> RawTensor {
    let (kept, order) = kept_first(x.rank(), axes);
    let k = at.shape()[kept..].iter().product();
    let at = at.contiguous();
    let out = by_dtype!(x.dtype(), T => {
        let v = forge_kernels::Strided::new(x.buf.host::<T>(), x.offset, x.layout.permuted(&order));
        let places = at.as_slice::<i64>().expect("just made dense");
        RawTensor::build(at.shape(), |out: &mut [T]| kernel::pick(out, &v, kept, places, k))
    });
    if !tracks(&[x]) {
        return out;
    }
    let (axes, full) = (axes.to_vec(), x.shape().to_vec());
    record(out, [x], move |p| Ok([Some(put(p.grad, &axes, &at, &full))]))
}

/// The adjoint of [`pick`] where no position of a lane occurs twice: `g` at those positions of zeros of shape `full`.
pub(crate) fn put(g: &RawTensor, axes: &[usize], at: &RawTensor, full: &[usize]) -> RawTensor {
    let (kept, order) = kept_first(full.len(), axes);
    let k = at.shape()[kept..].iter().product();
    let at = at.contiguous();
    let out = by_dtype!(g.dtype(), T => {
        let (v, layout) = (g.strided::<T>(), Layout::contiguous(full).permuted(&order));
        let places = at.as_slice::<i64>().expect("just made dense");
        RawTensor::build(full, |out: &mut [T]| {
            out.fill(T::default());
            kernel::put(out, &layout, kept, places, k, &v);
        })
    });
    if !tracks(&[g]) {
        return out;
    }
    let axes = axes.to_vec();
    record(out, [g], move |p| Ok([Some(pick(p.grad, &axes, &at))]))
}

/// How many axes stay, and the order that puts them first (in their order), the reduced ones last.
fn kept_first(rank: usize, axes: &[usize]) -> (usize, ArrayVec<u8, MAX_RANK>) {
    let mut order: ArrayVec<u8, MAX_RANK> = (0..rank).filter(|a| !axes.contains(a)).map(|a| a as u8).collect();
    let kept = order.len();
    order.extend(axes.iter().map(|&a| a as u8));
    (kept, order)
}

/// The adjoint of [`sum`]: `g` repeated along the axes that were summed (a view).
pub(crate) fn repeat_along(g: &RawTensor, axes: &[usize], full: &[usize]) -> RawTensor {
    let mut map = Vec::with_capacity(full.len());
    let mut strides = Vec::with_capacity(full.len());
    let mut next = 0;
    for a in 0..full.len() {
        if axes.contains(&a) {
            map.push(forge_axes::plan::NONE);
            strides.push(0);
        } else {
            map.push(next as u8);
            strides.push(g.layout.strides()[next]);
            next += 1;
        }
    }
    shape::broadcast_view(g, Layout::new(full, &strides), &map)
}

/// How [`standardize`] works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standardize {
    ddof: usize,
    eps: f64,
    eps_outside: bool,
    wide: bool,
    valid: Option<usize>,
}

impl Default for Standardize {
    fn default() -> Self {
        Self::new()
    }
}

impl Standardize {
    /// The population's variance (`ddof` 0), `eps` 1e-5 under the root, statistics in the tensor's own dtype, every position
    /// valid.
    pub const fn new() -> Self {
        Self { ddof: 0, eps: 1e-5, eps_outside: false, wide: false, valid: None }
    }

    /// Divides the sum of squares by `n - ddof`: 1 for a sample's variance.
    #[must_use]
    pub const fn ddof(self, ddof: usize) -> Self {
        Self { ddof, ..self }
    }

    /// What keeps the divisor from 0: `sqrt(variance + eps)`.
    #[must_use]
    pub const fn eps(self, eps: f64) -> Self {
        Self { eps, eps_outside: false, ..self }
    }

    /// `eps` added outside the root: `sqrt(variance) + eps`.
    #[must_use]
    pub const fn eps_outside(self, eps: f64) -> Self {
        Self { eps, eps_outside: true, ..self }
    }

    /// Statistics and quotient in f64, rounded once.
    #[must_use]
    pub const fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    /// Only the first `valid` positions count; the others become 0.
    #[must_use]
    pub const fn valid(self, valid: usize) -> Self {
        Self { valid: Some(valid), ..self }
    }
}

/// `(x - mean) / deviation` along an axis.
pub fn standardize(x: &RawTensor, at: super::At, how: &Standardize) -> Result<RawTensor> {
    const OP: &str = "standardize";
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return cast::to(&standardize(&cast::to(x, DType::F32)?, at, how)?, x.dtype());
    }
    if !x.dtype().is_float() {
        return Err(Error::DType { op: OP, expected: "floats", found: x.dtype() });
    }
    let size = x.shape()[at.axis];
    let n = how.valid.unwrap_or(size);
    if n > size {
        return Err(Error::argument(OP, format!("{n} valid positions on axis `{}` of size {size}", at.name())));
    }
    let axis = [at.axis];
    let part = if n == size { x.clone() } else { shape::narrow(x, at, 0, n)? };
    let part = if how.wide { cast::to(&part, DType::F64)? } else { part };
    let full = part.shape();
    let centred = arith::same(BinaryOp::Sub, &part, &repeat_along(&mean(&part, &axis)?, &axis, full))?;
    let squares = sum(&super::unary::unary(UnaryOp::Square, &centred, 0.0, OP)?, &axis)?;
    let var = arith::scalar_owned(BinaryOp::Div, squares, n.saturating_sub(how.ddof) as f64)?;
    let deviation = if how.eps_outside {
        // The root's slope at 0 is infinite: 1 stands in for a variance of 0, and 0 for its root.
        let zero = compare::logical_not(&var)?;
        let filler = |v| compare::constant(var.dtype(), var.shape(), v);
        let root = super::unary::unary(UnaryOp::Sqrt, &compare::where_(&zero, &filler(1.0), &var)?, 0.0, OP)?;
        arith::scalar_owned(BinaryOp::Add, compare::where_(&zero, &filler(0.0), &root)?, how.eps)?
    } else {
        let shifted = arith::scalar_owned(BinaryOp::Add, var, how.eps)?;
        super::unary::unary_owned(UnaryOp::Sqrt, shifted, 0.0, OP)?
    };
    let y = arith::same(BinaryOp::Div, &centred, &repeat_along(&deviation, &axis, full))?;
    let y = cast::to(&y, x.dtype())?;
    Ok(if n == size { y } else { shape::embed(&y, at.axis, 0, size) })
}
