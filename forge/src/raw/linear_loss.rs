//! Losses of logits that are a matrix product, without all logits at once.

use super::fused::{contract, dense, is_half, mul, sub};
use super::loss::{LabelArgs, Reduction, reduce_rows, total};
use super::{At, RawTensor, by_float, cast, fused, reduce, shape, softmax};
use crate::autograd::{grad_enabled, pull_composed, record, tracks};
use crate::error::{Error, Result};
use forge_kernels::attention::Float;
use forge_kernels::gemm::MatRef;
use forge_kernels::linear_loss::{self as kernel, Entry, Linear, Targets};
use forge_kernels::loss::{IGNORED, Row};
use forge_kernels::{DType, Layout};
use std::sync::Arc;

/// Axes of a linear loss, as positions.
#[derive(Clone, Copy)]
pub struct LinearAt<'k> {
    /// The features of the input.
    pub feature: At<'k>,
    /// The classes of the weight.
    pub class: At<'k>,
    /// The features of the weight.
    pub weight_feature: usize,
}

/// The input as `[rows, features]` and the weight as `[classes, features]`, recorded.
fn arranged(op: &'static str, x: &RawTensor, w: &RawTensor, at: LinearAt) -> Result<(RawTensor, RawTensor)> {
    fused::same_dtype(op, w, x)?;
    let (n, m) = (x.shape()[at.feature.axis], w.shape()[at.weight_feature]);
    if n != m {
        let names = super::Names { lhs: at.feature.keys, rhs: at.class.keys };
        return Err(names.mismatch(op, (x, at.feature.axis), (w, at.weight_feature)));
    }
    let (order, _) = fused::last(x.rank(), at.feature.axis);
    let rows = shape::permute(x, &order[..x.rank()]);
    let count = rows.shape()[..x.rank() - 1].iter().product();
    let rows = shape::reshape(&rows, &[count, n])?;
    Ok((rows, shape::permute(w, &[at.class.axis as u8, at.weight_feature as u8])))
}

/// Cross entropy of the logits `x w^T` with labels, whose axes are those of `x` without its features, in order.
pub fn linear_cross_entropy(
    x: &RawTensor,
    w: &RawTensor,
    at: LinearAt,
    labels: &RawTensor,
    args: LabelArgs,
    how: Reduction,
    label_names: super::Names,
) -> Result<RawTensor> {
    const OP: &str = "linear_cross_entropy";
    args.check(OP)?;
    if is_half(x) {
        let (x32, w) = (cast::to(x, DType::F32)?, cast::to(w, DType::F32)?);
        return cast::to(&linear_cross_entropy(&x32, &w, at, labels, args, how, label_names)?, x.dtype());
    }
    for i in 0..labels.rank() {
        let a = if i < at.feature.axis { i } else { i + 1 };
        if x.shape()[a] != labels.shape()[i] {
            return Err(label_names.mismatch(OP, (x, a), (labels, i)));
        }
    }
    let (rows, w) = arranged(OP, x, w, at)?;
    let read = args.read(OP, labels, at.class, w.shape()[0])?;
    let mut t = Spec { smoothing: args.smoothing, ..Spec::default() };
    for (row, &label) in read.iter().enumerate().filter(|(_, l)| **l != IGNORED) {
        t.push(row, [(label as usize, 1.0)]);
    }
    let count = t.rows.len();
    let each = losses(&rows, &w, Arc::new(t), true)?;
    reduce_rows(shape::reshape(&each, labels.shape())?, how, count)
}

/// The entries of a distillation: row, class and probability of each.
#[derive(Clone, Copy)]
pub struct DistillArgs<'a> {
    /// Row of each entry.
    pub rows: &'a RawTensor,
    /// Class of each entry.
    pub classes: &'a RawTensor,
    /// Probability of each entry.
    pub probs: &'a RawTensor,
    /// Divide by the number of entries.
    pub mean: bool,
    /// Multiplies the loss.
    pub scale: f64,
}

/// `sum of prob_i (log sum exp(z[row_i]) - z[row_i, class_i])` over the entries, `z = x w^T` being computed for the rows
/// that have entries alone. `x` has two axes, `row` and the features.
pub fn linear_distill(x: &RawTensor, w: &RawTensor, at: LinearAt, row: At, args: &DistillArgs) -> Result<RawTensor> {
    const OP: &str = "linear_distill";
    if is_half(x) {
        let wide = |t: &RawTensor| cast::to(t, DType::F32);
        let (x32, w, probs) = (wide(x)?, wide(w)?, wide(args.probs)?);
        let args = DistillArgs { probs: &probs, ..*args };
        return cast::to(&linear_distill(&x32, &w, at, row, &args)?, x.dtype());
    }
    let n = args.rows.len();
    for (what, t) in [("classes", args.classes), ("probabilities", args.probs)] {
        if t.len() != n {
            return Err(Error::argument(OP, format!("{n} rows are named, but {} {what}", t.len())));
        }
    }
    fused::same_dtype(OP, args.probs, x)?;
    let (x2, w2) = arranged(OP, x, w, at)?;
    let all = LabelArgs::default();
    let rows = all.read(OP, args.rows, row, x2.shape()[0])?;
    let classes = all.read(OP, args.classes, at.class, w2.shape()[0])?;
    let probs = fused::to_f64(&args.probs.detach());
    // Entries of one row together; within a row, and for rows, in a fixed order.
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| rows[i]);
    let mut t = Spec::default();
    for same in order.chunk_by(|&a, &b| rows[a] == rows[b]) {
        t.push(rows[same[0]] as usize, same.iter().map(|&i| (classes[i] as usize, probs[i])));
    }
    let each = losses(&x2, &w2, Arc::new(t), false)?;
    let divisor = if args.mean { n as f64 } else { 1.0 };
    fused::scale(&total(&each, if n == 0 { 0.0 } else { divisor })?, args.scale)
}

/// [`Targets`] in f64.
#[derive(Default)]
struct Spec {
    rows: Vec<usize>,
    ends: Vec<usize>,
    entries: Vec<(usize, f64)>,
    totals: Vec<f64>,
    smoothing: f64,
}

impl Spec {
    /// A row and its weighted classes; the weights' sum goes with its normaliser.
    fn push(&mut self, row: usize, entries: impl IntoIterator<Item = (usize, f64)>) {
        let start = self.entries.len();
        self.rows.push(row);
        self.entries.extend(entries);
        self.ends.push(self.entries.len());
        self.totals.push(self.entries[start..].iter().map(|e| e.1).sum());
    }

    fn of(&self, i: usize) -> &[(usize, f64)] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.entries[start..self.ends[i]]
    }

    fn targets<T: Float>(&self) -> Targets<T> {
        Targets {
            rows: self.rows.clone(),
            starts: [0].into_iter().chain(self.ends.iter().copied()).collect(),
            entries: self.entries.iter().map(|&(class, w)| Entry { class, weight: T::from_f64(w) }).collect(),
            totals: self.totals.iter().map(|&t| T::from_f64(t)).collect(),
            smoothing: T::from_f64(self.smoothing),
        }
    }
}

/// The losses of the target rows: in the order of the targets, or (`spread`) of all rows, with 0 where there is no target.
fn losses(x: &RawTensor, w: &RawTensor, t: Arc<Spec>, spread: bool) -> Result<RawTensor> {
    by_float!("linear_cross_entropy", x.dtype(), T => Ok(losses_of::<T>(x, w, t, spread)))
}

/// The weight as a matrix.
fn matrix<T: Float>(w: &RawTensor) -> MatRef<'_, T> {
    let (shape, strides) = (w.shape(), w.layout.strides());
    let (row_stride, col_stride) = (strides[0], strides[1]);
    MatRef { data: w.buf.host::<T>(), offset: w.offset, rows: shape[0], cols: shape[1], row_stride, col_stride }
}

fn losses_of<T: Float>(x: &RawTensor, w: &RawTensor, t: Arc<Spec>, spread: bool) -> RawTensor {
    let targets = t.targets::<T>();
    let mut rows = vec![Row::<T>::default(); targets.rows.len()];
    let d = dense(x);
    kernel::forward(Linear { x: d.as_slice().expect("made dense"), w: matrix(w) }, &targets, &mut rows);
    let n = if spread { x.shape()[0] } else { rows.len() };
    let place = |i: usize| if spread { t.rows[i] } else { i };
    let out = RawTensor::build(&[n], |out: &mut [T]| {
        out.fill(T::ZERO);
        rows.iter().enumerate().for_each(|(i, r)| out[place(i)] = r.loss);
    });
    if !tracks(&[x, w]) {
        return out;
    }
    let (sx, sw) = (x.clone(), w.clone());
    record(out, [x, w], move |p| {
        if grad_enabled() && tracks(&[&sx, &sw, p.grad]) {
            return pull_composed([&sx, &sw], p.grad, |o| composed(&o[0], &o[1], &t, spread));
        }
        let g = dense(p.grad);
        let g = g.as_slice::<T>().expect("made dense");
        let g: Vec<T> = (0..rows.len()).map(|i| g[if spread { t.rows[i] } else { i }]).collect();
        let gradient = |of: &RawTensor, wanted: bool| RawTensor::full(if wanted { of.shape() } else { &[0] }, T::ZERO);
        let (mut dx, mut dw) = (gradient(&sx, p.needs(0)), gradient(&sw, p.needs(1)));
        let d = dense(&sx);
        let l = Linear { x: d.as_slice().expect("made dense"), w: matrix(&sw) };
        let (to_x, to_w) = (dx.as_mut_slice().expect("new"), dw.as_mut_slice().expect("new"));
        kernel::backward(l, &targets, &rows, &g, to_x, to_w);
        Ok([p.needs(0).then_some(dx), p.needs(1).then_some(dw)])
    })
}

/// [`losses`] from recorded parts, with all logits: only for a recorded backward pass.
fn composed(x: &RawTensor, w: &RawTensor, t: &Spec, spread: bool) -> Result<RawTensor> {
    let (rows, classes) = (x.shape()[0], w.shape()[0]);
    let z = contract(x, w, b"rd", b"cd", b"rc")?;
    let mut weights = vec![0.0; rows * classes];
    let mut totals = vec![0.0; rows];
    for (i, &row) in t.rows.iter().enumerate() {
        let even = t.smoothing * t.totals[i] / classes as f64;
        let own = &mut weights[row * classes..(row + 1) * classes];
        own.fill(even);
        t.of(i).iter().for_each(|&(class, w)| own[class] += (1.0 - t.smoothing) * w);
        totals[row] = t.totals[i];
    }
    let weights = fused::constant(z.shape(), z.dtype(), |i| weights[i]);
    let totals = fused::constant(&[rows], z.dtype(), |i| totals[i]);
    let all = sub(&mul(&totals, &softmax::log_sum_exp(&z, 1)?)?, &reduce::sum(&mul(&weights, &z)?, &[1])?)?;
    if spread {
        return Ok(all);
    }
    // The target rows in their order: a product with rows of the unit matrix.
    let units = Layout::contiguous(&[t.rows.len(), rows]);
    let pick = fused::constant(units.shape(), z.dtype(), |i| if t.rows[i / rows] == i % rows { 1.0 } else { 0.0 });
    contract(&pick, &all, b"tr", b"r", b"t")
}
