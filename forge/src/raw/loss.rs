//! Losses: cross entropy, negative log likelihood, and losses of pairs of elements.

use super::fused::{add, dense, is_half, mul, of, plus, scale, sub};
use super::{At, Names, RawTensor, arith, by_float, cast, compare, fused, reduce, softmax};
use crate::autograd::{grad_enabled, pull_composed, record, tracks};
use crate::error::{Error, Result};
use forge_axes::plan::PointwisePlan;
use forge_kernels::arith::BinaryOp;
use forge_kernels::lanes::Lanes;
use forge_kernels::loss::{self as kernel, IGNORED, PairLoss, Row};
use forge_kernels::unary::UnaryOp;
use forge_kernels::{DType, elementwise};
use std::sync::Arc;

/// What becomes of the losses of single rows or elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Their mean.
    Mean,
    /// Their sum.
    Sum,
    /// They stay as they are.
    Each,
}

/// How labels are read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LabelArgs {
    /// The label of rows that have no loss.
    pub ignore: Option<i64>,
    /// The share of the target that all classes have in equal parts.
    pub smoothing: f64,
}

impl LabelArgs {
    pub(crate) fn check(&self, op: &'static str) -> Result<()> {
        if (0.0..=1.0).contains(&self.smoothing) {
            return Ok(());
        }
        Err(Error::argument(op, format!("label smoothing is a share from 0 to 1, not {}", self.smoothing)))
    }

    /// The labels of `classes` classes, those to ignore as [`IGNORED`].
    pub(crate) fn read(&self, op: &'static str, labels: &RawTensor, class: At, classes: usize) -> Result<Vec<i64>> {
        if !labels.dtype().is_int() {
            return Err(Error::DType { op, expected: "integer labels", found: labels.dtype() });
        }
        let mut v = cast::to(&labels.detach(), DType::I64)?.to_vec::<i64>();
        for l in &mut v {
            if Some(*l) == self.ignore {
                *l = IGNORED;
            } else if usize::try_from(*l).map_or(true, |l| l >= classes) {
                return Err(class.index_error(op, *l, classes));
            }
        }
        Ok(v)
    }
}

/// The sum of all elements in their order, divided by `divisor`; 0 where that is 0. One order for any number of threads.
pub(crate) fn total(x: &RawTensor, divisor: f64) -> Result<RawTensor> {
    let factor = if divisor == 0.0 { 0.0 } else { 1.0 / divisor };
    let out = by_float!("loss", x.dtype(), T => {
        let d = dense(x);
        let sum = if divisor == 0.0 { 0.0 } else {
            kernel::serial_sum(d.as_slice::<T>().expect("made dense").iter().copied()) / divisor
        };
        RawTensor::full(&[], sum as T)
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    let full = x.shape().to_vec();
    Ok(record(out, [x], move |p| {
        let axes: Vec<usize> = (0..full.len()).collect();
        Ok([Some(reduce::repeat_along(&scale(p.grad, factor)?, &axes, &full))])
    }))
}

/// Losses of rows, of which `count` are not ignored, reduced.
pub(crate) fn reduce_rows(rows: RawTensor, how: Reduction, count: usize) -> Result<RawTensor> {
    match how {
        Reduction::Each => Ok(rows),
        Reduction::Sum => total(&rows, if count == 0 { 0.0 } else { 1.0 }),
        Reduction::Mean => total(&rows, count as f64),
    }
}

/// Labels must have the sizes of the logits without their classes.
fn check_labels(op: &'static str, x: &RawTensor, axis: usize, labels: &RawTensor, names: Names) -> Result<()> {
    for i in 0..labels.rank() {
        let a = if i < axis { i } else { i + 1 };
        if x.shape()[a] != labels.shape()[i] {
            return Err(names.mismatch(op, (x, a), (labels, i)));
        }
    }
    Ok(())
}

/// Cross entropy of logits along `at` with labels, whose axes are those of `x` without `at`, in order.
pub fn cross_entropy(
    x: &RawTensor,
    at: At,
    labels: &RawTensor,
    args: LabelArgs,
    how: Reduction,
    names: Names,
) -> Result<RawTensor> {
    const OP: &str = "cross_entropy";
    args.check(OP)?;
    check_labels(OP, x, at.axis, labels, names)?;
    if is_half(x) {
        let y = cross_entropy(&cast::to(x, DType::F32)?, at, labels, args, how, names)?;
        return cast::to(&y, x.dtype());
    }
    let labels = args.read(OP, labels, at, x.shape()[at.axis])?;
    let count = labels.iter().filter(|&&l| l != IGNORED).count();
    let rows = rows_of_logits(x, at.axis, Arc::new(labels), args.smoothing)?;
    reduce_rows(rows, how, count)
}

/// The loss of each lane of logits.
fn rows_of_logits(x: &RawTensor, axis: usize, labels: Arc<Vec<i64>>, smoothing: f64) -> Result<RawTensor> {
    const OP: &str = "cross_entropy";
    let lanes = Lanes::new(x.shape(), axis);
    let mut shape = x.shape().to_vec();
    shape.remove(axis);
    by_float!(OP, x.dtype(), T => {
        let d = dense(x);
        let mut rows = vec![Row::<T>::default(); lanes.count()];
        kernel::cross_entropy(lanes, &mut rows, d.as_slice().expect("made dense"), &labels, smoothing as T);
        let out = RawTensor::build(&shape, |out: &mut [T]| {
            out.iter_mut().zip(&rows).for_each(|(o, r)| *o = r.loss);
        });
        if !tracks(&[x]) {
            return Ok(out);
        }
        let saved = x.clone();
        Ok(record(out, [x], move |p| {
            if grad_enabled() && tracks(&[&saved, p.grad]) {
                return pull_composed([&saved], p.grad, |t| composed(&t[0], axis, &labels, smoothing));
            }
            let (d, g) = (dense(&saved), dense(p.grad));
            Ok([Some(RawTensor::build(saved.shape(), |dx: &mut [T]| {
                let (x, g) = (d.as_slice().expect("made dense"), g.as_slice().expect("made dense"));
                kernel::cross_entropy_backward(lanes, dx, x, &rows, &labels, g, smoothing as T);
            }))])
        }))
    })
}

/// [`rows_of_logits`] from recorded parts: `log sum exp(x) - sum(target x)`, both 0 for an ignored lane.
fn composed(x: &RawTensor, axis: usize, labels: &[i64], smoothing: f64) -> Result<RawTensor> {
    let lanes = Lanes::new(x.shape(), axis);
    let n = lanes.len;
    let target = fused::constant(x.shape(), x.dtype(), |i| {
        let (k, lane) = (i / lanes.inner % n, i / (lanes.inner * n) * lanes.inner + i % lanes.inner);
        match labels[lane] {
            IGNORED => 0.0,
            l => smoothing / n as f64 + if l == k as i64 { 1.0 - smoothing } else { 0.0 },
        }
    });
    let log_sum = softmax::log_sum_exp(x, axis)?;
    let counted = fused::constant(log_sum.shape(), x.dtype(), |lane| if labels[lane] == IGNORED { 0.0 } else { 1.0 });
    sub(&selected(&counted, &log_sum)?, &reduce::sum(&mul(&target, &selected(&target, x)?)?, &[axis])?)
}

/// `x` where `weight` is not 0, else 0.
fn selected(weight: &RawTensor, x: &RawTensor) -> Result<RawTensor> {
    compare::where_(&cast::to(weight, DType::Bool)?, x, &x.zeros_like())
}

/// `-x[label]` of log-probabilities along `at`.
pub fn nll_loss(
    x: &RawTensor,
    at: At,
    labels: &RawTensor,
    ignore: Option<i64>,
    how: Reduction,
    names: Names,
) -> Result<RawTensor> {
    const OP: &str = "nll_loss";
    check_labels(OP, x, at.axis, labels, names)?;
    if is_half(x) {
        let y = nll_loss(&cast::to(x, DType::F32)?, at, labels, ignore, how, names)?;
        return cast::to(&y, x.dtype());
    }
    let labels = LabelArgs { ignore, smoothing: 0.0 }.read(OP, labels, at, x.shape()[at.axis])?;
    let count = labels.iter().filter(|&&l| l != IGNORED).count();
    reduce_rows(picked(x, at.axis, x.shape()[at.axis], &Arc::new(labels))?, how, count)
}

/// Where in a dense tensor the labelled element of each lane is.
fn places(lanes: Lanes, labels: &[i64]) -> impl Iterator<Item = Option<usize>> + '_ {
    labels.iter().enumerate().map(move |(lane, &l)| {
        let (o, i) = (lane / lanes.inner, lane % lanes.inner);
        usize::try_from(l).ok().map(|l| (o * lanes.len + l) * lanes.inner + i)
    })
}

/// Minus the labelled element of each lane, 0 for an ignored one.
fn picked(x: &RawTensor, axis: usize, n: usize, labels: &Arc<Vec<i64>>) -> Result<RawTensor> {
    let mut shape = x.shape().to_vec();
    shape.remove(axis);
    let out = by_float!("nll_loss", x.dtype(), T => {
        let d = dense(x);
        let x = d.as_slice::<T>().expect("made dense");
        RawTensor::build(&shape, |out: &mut [T]| {
            for (o, at) in out.iter_mut().zip(places(Lanes::new(d.shape(), axis), labels)) {
                *o = at.map_or(0.0, |at| -x[at]);
            }
        })
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    let labels = Arc::clone(labels);
    Ok(record(out, [x], move |p| Ok([Some(put_back(p.grad, axis, n, &labels)?)])))
}

/// The adjoint of [`picked`].
fn put_back(g: &RawTensor, axis: usize, n: usize, labels: &Arc<Vec<i64>>) -> Result<RawTensor> {
    let mut shape = g.shape().to_vec();
    shape.insert(axis, n);
    let out = by_float!("nll_loss", g.dtype(), T => {
        let d = dense(g);
        let g = d.as_slice::<T>().expect("made dense");
        RawTensor::build(&shape, |out: &mut [T]| {
            out.fill(0.0);
            for (g, at) in g.iter().zip(places(Lanes::new(&shape, axis), labels)) {
                if let Some(at) = at {
                    out[at] = -g;
                }
            }
        })
    });
    if !tracks(&[g]) {
        return Ok(out);
    }
    let labels = Arc::clone(labels);
    Ok(record(out, [g], move |p| Ok([Some(picked(p.grad, axis, n, &labels)?)])))
}

/// The loss of each element with its target, `y` broadcast to `x`'s axes, reduced over all elements.
pub fn pair_loss(
    op: PairLoss,
    x: &RawTensor,
    y: &RawTensor,
    parameter: f64,
    how: Reduction,
    plan: &PointwisePlan,
    names: Names,
    name: &'static str,
) -> Result<RawTensor> {
    fused::same_dtype(name, y, x)?;
    let y = arith::broadcast(name, x, y, plan, names)?;
    if is_half(x) {
        let wide = pairs(op, &cast::to(x, DType::F32)?, &cast::to(&y, DType::F32)?, parameter, name)?;
        return cast::to(&reduced(&wide, how)?, x.dtype());
    }
    reduced(&pairs(op, x, &y, parameter, name)?, how)
}

fn reduced(each: &RawTensor, how: Reduction) -> Result<RawTensor> {
    let all: Vec<usize> = (0..each.rank()).collect();
    match how {
        Reduction::Each => Ok(each.clone()),
        Reduction::Sum => reduce::sum(each, &all),
        Reduction::Mean => reduce::mean(each, &all),
    }
}

fn pairs(op: PairLoss, x: &RawTensor, y: &RawTensor, k: f64, name: &'static str) -> Result<RawTensor> {
    type Kernel<T> = fn(PairLoss, T, &mut [T], &[T], &[T]);
    let out = by_float!(name, x.dtype(), T => {
        let (a, b) = (x.strided::<T>(), y.strided::<T>());
        RawTensor::build(x.shape(), |out: &mut [T]| {
            elementwise::binary(out, &a, &b, |o, a, b| kernel::pair(op, k as T, o, a, b));
        })
    });
    if !tracks(&[x, y]) {
        return Ok(out);
    }
    let (sx, sy) = (x.clone(), y.clone());
    Ok(record(out, [x, y], move |p| {
        if grad_enabled() && tracks(&[&sx, &sy, p.grad]) {
            return pull_composed([&sx, &sy], p.grad, |t| composed_pairs(op, &t[0], &t[1], k));
        }
        let mut grads = [None, None];
        by_float!(name, sx.dtype(), T => {
            let slopes: [Kernel<T>; 2] = [kernel::pair_slope_x, kernel::pair_slope_y];
            let (a, b) = (sx.strided::<T>(), sy.strided::<T>());
            for (i, slope) in slopes.into_iter().enumerate().filter(|(i, _)| p.needs(*i)) {
                let d = RawTensor::build(sx.shape(), |out: &mut [T]| {
                    elementwise::binary(out, &a, &b, |o, a, b| slope(op, k as T, o, a, b));
                });
                grads[i] = Some(arith::binary_owned(
                    BinaryOp::Mul,
                    d,
                    p.grad,
                    &PointwisePlan::same(sx.rank()),
                    Names { lhs: &[], rhs: &[] },
                )?);
            }
        });
        Ok(grads)
    }))
}

/// From recorded parts.
fn composed_pairs(op: PairLoss, x: &RawTensor, y: &RawTensor, k: f64) -> Result<RawTensor> {
    let zero = || x.zeros_like();
    match op {
        PairLoss::Squared => of(UnaryOp::Square, &sub(x, y)?),
        PairLoss::Huber => {
            let d = sub(x, y)?;
            let near = cast::to(&fused::where_value(&d, 1.0, |d| d.abs() <= k), DType::Bool)?;
            let far = scale(&plus(&of(UnaryOp::Abs, &d)?, -0.5 * k)?, k)?;
            compare::where_(&near, &scale(&of(UnaryOp::Square, &d)?, 0.5)?, &far)
        }
        PairLoss::Binary => {
            let x = arith::scalar(BinaryOp::Maximum, x, 1e-7)?;
            let x = arith::scalar(BinaryOp::Minimum, &x, 1.0 - 1e-7)?;
            let one_minus = |t: &RawTensor| plus(&scale(t, -1.0)?, 1.0);
            let hit = mul(y, &of(UnaryOp::Log, &x)?)?;
            let miss = mul(&one_minus(y)?, &of(UnaryOp::Log, &one_minus(&x)?)?)?;
            scale(&add(&hit, &miss)?, -1.0)
        }
        PairLoss::BinaryLogits => sub(&of(UnaryOp::Softplus, x)?, &mul(x, y)?),
        PairLoss::Kl => {
            // Where the target is 0 nothing depends on anything.
            let there = cast::to(&fused::where_value(y, 1.0, |y| y != 0.0), DType::Bool)?;
            let safe = compare::where_(&there, y, &x.ones_like())?;
            let each = mul(&safe, &sub(&of(UnaryOp::Log, &safe)?, x)?)?;
            compare::where_(&there, &each, &zero())
        }
        PairLoss::KlLog => {
            let there = cast::to(&fused::where_value(y, 1.0, |y| y != f64::NEG_INFINITY), DType::Bool)?;
            let safe = compare::where_(&there, y, &zero())?;
            let each = mul(&of(UnaryOp::Exp, &safe)?, &sub(&safe, x)?)?;
            compare::where_(&there, &each, &zero())
        }
    }
}
