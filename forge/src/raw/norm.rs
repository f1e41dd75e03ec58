//! Normalisation along one axis, and the per-channel functions that go with it.

use super::fused::{self, add, dense, div, is_half, mul, of, plus, repeat, scale, sub};
use super::{At, Names, RawTensor, arith, by_float, cast, compare, reduce, shape};
use crate::autograd::{grad_enabled, no_grad, pull_composed, pull_composed_list, record, record_many, tracks};
use crate::error::{Error, Result};
use forge_axes::plan::PointwisePlan;
use forge_kernels::arith::BinaryOp;
use forge_kernels::lanes::Lanes;
use forge_kernels::norm::{self as kernel, Groups, Norm};
use forge_kernels::unary::UnaryOp;
use forge_kernels::{DType, MAX_RANK, elementwise};

/// The numbers beside the input.
#[derive(Clone, Copy)]
pub struct NormArgs<'a> {
    /// Added to the mean square before the root.
    pub eps: f64,
    /// Multiplies the result: a vector along the axis.
    pub weight: Option<&'a RawTensor>,
    /// Added at last: a vector along the axis.
    pub bias: Option<&'a RawTensor>,
}

impl NormArgs<'_> {
    fn check(&self, op: &'static str, x: &RawTensor, at: At) -> Result<()> {
        for (what, v) in [("the weight", self.weight), ("the bias", self.bias)] {
            if let Some(v) = v {
                fused::check_vector(op, what, v, x, at, at.axis)?;
            }
        }
        Ok(())
    }

    /// The input, then weight and bias where they are.
    fn operands<'t>(&'t self, x: &'t RawTensor) -> Vec<&'t RawTensor> {
        [Some(x), self.weight, self.bias].into_iter().flatten().collect()
    }

    /// `f` with all operands in f32, rounded back.
    fn widened(&self, x: &RawTensor, f: impl FnOnce(&RawTensor, &NormArgs) -> Result<RawTensor>) -> Result<RawTensor> {
        let wide = |t: &RawTensor| cast::to(t, DType::F32);
        let (w, b) = (self.weight.map(wide).transpose()?, self.bias.map(wide).transpose()?);
        let args = NormArgs { weight: w.as_ref(), bias: b.as_ref(), eps: self.eps };
        cast::to(&f(&wide(x)?, &args)?, x.dtype())
    }
}

/// Which of the three operands are there, kept by the derivative.
#[derive(Clone)]
struct Saved {
    x: RawTensor,
    weight: Option<RawTensor>,
    bias: Option<RawTensor>,
}

impl Saved {
    fn new(x: &RawTensor, args: &NormArgs) -> Self {
        Self { x: x.clone(), weight: args.weight.cloned(), bias: args.bias.cloned() }
    }

    fn operands(&self) -> Vec<&RawTensor> {
        [Some(&self.x), self.weight.as_ref(), self.bias.as_ref()].into_iter().flatten().collect()
    }

    /// The operands that stand in for these, in the same order.
    fn of(&self, t: &[RawTensor]) -> (RawTensor, Option<RawTensor>, Option<RawTensor>) {
        let mut rest = t[1..].iter().cloned();
        let w = if self.weight.is_some() { rest.next() } else { None };
        (t[0].clone(), w, rest.next())
    }

    /// Puts gradients of x, weight and bias where the node wants them.
    fn deliver(&self, p: &crate::autograd::Pull, grads: [RawTensor; 3], out: &mut [Option<RawTensor>]) {
        let [dx, dw, db] = grads;
        let there = [Some(dx), self.weight.is_some().then_some(dw), self.bias.is_some().then_some(db)];
        for (i, g) in there.into_iter().flatten().enumerate() {
            out[i] = p.needs(i).then_some(g);
        }
    }
}

fn name(norm: Norm) -> &'static str {
    match norm {
        Norm::Rms => "rms_norm",
        Norm::Layer => "layer_norm",
        Norm::L2 => "l2_normalize",
    }
}

/// RMS, layer or L2 norm along `at`.
pub fn norm(kind: Norm, x: &RawTensor, at: At, args: &NormArgs) -> Result<RawTensor> {
    let op = name(kind);
    args.check(op, x, at)?;
    if is_half(x) {
        return args.widened(x, |x, args| norm(kind, x, at, args));
    }
    let (rank, n) = (x.rank(), x.shape()[at.axis]);
    let (order, back) = fused::last(rank, at.axis);
    let eps = args.eps;
    let out = by_float!(op, x.dtype(), T => {
        let d = dense(&shape::permute(&x.detach(), &order[..rank]));
        let (w, b) = (args.weight.map(dense), args.bias.map(dense));
        RawTensor::build(d.shape(), |out: &mut [T]| {
            kernel::forward(kind, n, out, slice(&d), vector(w.as_ref()), vector(b.as_ref()), eps as T);
        })
    });
    let out = shape::permute(&out, &back[..rank]);
    if !tracks(&args.operands(x)) {
        return Ok(out);
    }
    let saved = Saved::new(x, args);
    let axis = at.axis;
    Ok(record_many(out, &args.operands(x), move |p, out| {
        if grad_enabled() && (tracks(&saved.operands()) || tracks(&[p.grad])) {
            let grads = pull_composed_list(&saved.operands(), p.grad, |t| {
                let (x, w, b) = saved.of(t);
                composed(kind, &x, axis, eps, w.as_ref(), b.as_ref())
            })?;
            out.iter_mut().zip(grads).for_each(|(o, g)| *o = g);
            return Ok(());
        }
        let turned = |t: &RawTensor| dense(&shape::permute(&t.detach(), &order[..rank]));
        let (d, g) = (turned(&saved.x), turned(p.grad));
        let w = saved.weight.as_ref().map(dense);
        let (dx, dw, db) = by_float!(op, d.dtype(), T => {
            let gradient = |of: &Option<RawTensor>| RawTensor::full(&[if of.is_some() { n } else { 0 }], T::default());
            let (mut dw, mut db) = (gradient(&saved.weight), gradient(&saved.bias));
            let dx = RawTensor::build(d.shape(), |dx: &mut [T]| {
                let (dw, db) = (dw.as_mut_slice().expect("new"), db.as_mut_slice().expect("new"));
                kernel::backward(kind, n, slice(&d), slice(&g), vector(w.as_ref()), eps as T, dx, dw, db);
            });
            (dx, dw, db)
        });
        saved.deliver(p, [shape::permute(&dx, &back[..rank]), dw, db], out);
        Ok(())
    }))
}

/// The elements of a dense tensor.
fn slice<T: forge_kernels::Element>(t: &RawTensor) -> &[T] {
    t.as_slice().expect("made dense")
}

/// The elements of a dense vector, none where there is no vector.
fn vector<T: forge_kernels::Element>(t: Option<&RawTensor>) -> &[T] {
    t.map_or(&[], slice)
}

/// [`norm`] from recorded parts.
fn composed(
    kind: Norm,
    x: &RawTensor,
    axis: usize,
    eps: f64,
    w: Option<&RawTensor>,
    b: Option<&RawTensor>,
) -> Result<RawTensor> {
    let full = x.shape();
    let n = full[axis] as f64;
    let centred = match kind {
        Norm::Layer => sub(x, &scale(&fused::summed(x, axis)?, 1.0 / n)?)?,
        Norm::Rms | Norm::L2 => x.clone(),
    };
    let squares = reduce::sum(&of(UnaryOp::Square, &centred)?, &[axis])?;
    let mean = if kind == Norm::L2 { squares } else { scale(&squares, 1.0 / n)? };
    let r = of(UnaryOp::Rsqrt, &plus(&mean, eps)?)?;
    let mut y = mul(&centred, &repeat(&r, axis, full))?;
    if let Some(w) = w {
        y = mul(&y, &fused::along(w, full, axis))?;
    }
    if let Some(b) = b {
        y = add(&y, &fused::along(b, full, axis))?;
    }
    Ok(y)
}

/// Group norm: the channels of axis `at` in `groups` groups, each normalised over its channels and the axes `spatial`.
pub fn group_norm(x: &RawTensor, at: At, groups: usize, spatial: &[usize], args: &NormArgs) -> Result<RawTensor> {
    const OP: &str = "group_norm";
    args.check(OP, x, at)?;
    let channels = x.shape()[at.axis];
    if groups == 0 || !channels.is_multiple_of(groups) {
        let what = format!("axis `{}` of size {channels} has no {groups} equal groups", at.name());
        return Err(Error::argument(OP, what));
    }
    if let Some(&a) = spatial.iter().find(|&&a| a == at.axis) {
        return Err(Error::argument(OP, format!("axis `{}` is both channels and space", At { axis: a, ..at }.name())));
    }
    if is_half(x) {
        return args.widened(x, |x, args| group_norm(x, at, groups, spatial, args));
    }
    let rank = x.rank();
    let (mut order, mut back) = ([0u8; MAX_RANK], [0u8; MAX_RANK]);
    let rest = (0..rank).filter(|a| *a != at.axis && !spatial.contains(a));
    for (i, a) in rest.chain([at.axis]).chain(spatial.iter().copied()).enumerate() {
        order[i] = a as u8;
        back[a] = i as u8;
    }
    let sizes =
        Groups { groups, per_group: channels / groups, spatial: spatial.iter().map(|&a| x.shape()[a]).product() };
    let eps = args.eps;
    let out = by_float!(OP, x.dtype(), T => {
        let d = dense(&shape::permute(&x.detach(), &order[..rank]));
        let (w, b) = (args.weight.map(dense), args.bias.map(dense));
        RawTensor::build(d.shape(), |out: &mut [T]| {
            kernel::group_forward(sizes, out, slice(&d), vector(w.as_ref()), vector(b.as_ref()), eps);
        })
    });
    let out = shape::permute(&out, &back[..rank]);
    if !tracks(&args.operands(x)) {
        return Ok(out);
    }
    let saved = Saved::new(x, args);
    Ok(record_many(out, &args.operands(x), move |p, out| {
        if grad_enabled() && (tracks(&saved.operands()) || tracks(&[p.grad])) {
            let grads = pull_composed_list(&saved.operands(), p.grad, |t| {
                let (x, w, b) = saved.of(t);
                let y = composed_groups(&shape::permute(&x, &order[..rank]), sizes, eps, w.as_ref(), b.as_ref())?;
                Ok(shape::permute(&y, &back[..rank]))
            })?;
            out.iter_mut().zip(grads).for_each(|(o, g)| *o = g);
            return Ok(());
        }
        let turned = |t: &RawTensor| dense(&shape::permute(&t.detach(), &order[..rank]));
        let (d, g) = (turned(&saved.x), turned(p.grad));
        let w = saved.weight.as_ref().map(dense);
        let (dx, dw, db) = by_float!(OP, d.dtype(), T => {
            let gradient = |of: &Option<RawTensor>| RawTensor::full(&[if of.is_some() { channels } else { 0 }], T::default());
            let (mut dw, mut db) = (gradient(&saved.weight), gradient(&saved.bias));
            let dx = RawTensor::build(d.shape(), |dx: &mut [T]| {
                let (dw, db) = (dw.as_mut_slice().expect("new"), db.as_mut_slice().expect("new"));
                kernel::group_backward(sizes, slice(&d), slice(&g), vector(w.as_ref()), eps, dx, dw, db);
            });
            (dx, dw, db)
        });
        saved.deliver(p, [shape::permute(&dx, &back[..rank]), dw, db], out);
        Ok(())
    }))
}

/// [`group_norm`] of `[.., channel, spatial..]` from recorded parts.
fn composed_groups(
    x: &RawTensor,
    s: Groups,
    eps: f64,
    w: Option<&RawTensor>,
    b: Option<&RawTensor>,
) -> Result<RawTensor> {
    let n = s.per_group * s.spatial;
    let rows = shape::reshape(x, &[x.len() / n.max(1), n])?;
    let y = composed(Norm::Layer, &rows, 1, eps, None, None)?;
    let channels = s.groups * s.per_group;
    let by_channel = [x.len() / (channels * s.spatial).max(1), channels, s.spatial];
    let mut y = shape::reshape(&y, &by_channel)?;
    if let Some(w) = w {
        y = mul(&y, &fused::along(w, &by_channel, 1))?;
    }
    if let Some(b) = b {
        y = add(&y, &fused::along(b, &by_channel, 1))?;
    }
    shape::reshape(&y, x.shape())
}

/// `sum(x y) / max(|x| |y|, eps)` along `at`, `y` broadcast to `x`'s axes.
pub fn cosine_similarity(
    x: &RawTensor,
    y: &RawTensor,
    at: At,
    eps: f64,
    plan: &PointwisePlan,
    names: Names,
) -> Result<RawTensor> {
    const OP: &str = "cosine_similarity";
    fused::same_dtype(OP, y, x)?;
    let y = arith::broadcast(OP, x, y, plan, names)?;
    cosine_same(x, &y, at.axis, eps)
}

fn cosine_same(x: &RawTensor, y: &RawTensor, axis: usize, eps: f64) -> Result<RawTensor> {
    const OP: &str = "cosine_similarity";
    if is_half(x) {
        let s = cosine_same(&cast::to(x, DType::F32)?, &cast::to(y, DType::F32)?, axis, eps)?;
        return cast::to(&s, x.dtype());
    }
    let lanes = Lanes::new(x.shape(), axis);
    let mut out_shape = x.shape().to_vec();
    out_shape.remove(axis);
    let out = by_float!(OP, x.dtype(), T => {
        let (a, b) = (dense(x), dense(y));
        RawTensor::build(&out_shape, |out: &mut [T]| {
            kernel::cosine_forward(lanes, out, slice(&a), slice(&b), eps as T);
        })
    });
    if !tracks(&[x, y]) {
        return Ok(out);
    }
    let (a, b) = (x.clone(), y.clone());
    Ok(record(out, [x, y], move |p| {
        if grad_enabled() && tracks(&[&a, &b, p.grad]) {
            return pull_composed([&a, &b], p.grad, |t| {
                let total = |x: &RawTensor, y: &RawTensor| reduce::sum(&mul(x, y)?, &[axis]);
                let length = |x: &RawTensor| of(UnaryOp::Sqrt, &total(x, x)?);
                let n = arith::scalar(BinaryOp::Maximum, &mul(&length(&t[0])?, &length(&t[1])?)?, eps)?;
                div(&total(&t[0], &t[1])?, &n)
            });
        }
        let (x, y, g) = (dense(&a), dense(&b), dense(p.grad));
        let pull = |x: &RawTensor, y: &RawTensor| {
            Ok(by_float!(OP, x.dtype(), T => RawTensor::build(x.shape(), |dx: &mut [T]| {
                kernel::cosine_backward(lanes, dx, slice(x), slice(y), slice(&g), eps as T);
            })))
        };
        Ok([if p.needs(0) { Some(pull(&x, &y)?) } else { None }, if p.needs(1) { Some(pull(&y, &x)?) } else { None }])
    }))
}

/// `x + inv_b sin^2(alpha x)`, both parameters broadcast to `x`'s axes.
pub fn snake(
    x: &RawTensor,
    alpha: (&RawTensor, &PointwisePlan, Names),
    inv_b: (&RawTensor, &PointwisePlan, Names),
) -> Result<RawTensor> {
    const OP: &str = "snake";
    let spread = |(t, plan, names): (&RawTensor, &PointwisePlan, Names)| {
        fused::same_dtype(OP, t, x)?;
        arith::broadcast(OP, x, t, plan, names)
    };
    let (a, b) = (spread(alpha)?, spread(inv_b)?);
    if is_half(x) {
        let wide = |t: &RawTensor| cast::to(t, DType::F32);
        return cast::to(&snake_same(&wide(x)?, &wide(&a)?, &wide(&b)?)?, x.dtype());
    }
    snake_same(x, &a, &b)
}

fn snake_same(x: &RawTensor, a: &RawTensor, b: &RawTensor) -> Result<RawTensor> {
    let out = three(x, a, b, Snake::Value)?;
    if !tracks(&[x, a, b]) {
        return Ok(out);
    }
    let saved = [x.clone(), a.clone(), b.clone()];
    Ok(record(out, [x, a, b], move |p| {
        let [x, a, b] = &saved;
        if grad_enabled() && tracks(&[x, a, b, p.grad]) {
            return pull_composed([x, a, b], p.grad, |t| {
                let s = of(UnaryOp::Sin, &mul(&t[1], &t[0])?)?;
                add(&t[0], &mul(&t[2], &of(UnaryOp::Square, &s)?)?)
            });
        }
        let mut grads = [None, None, None];
        for (i, slope) in [Snake::InX, Snake::InAlpha, Snake::InB].into_iter().enumerate() {
            if p.needs(i) {
                grads[i] = Some(mul(p.grad, &three(x, a, b, slope)?)?);
            }
        }
        Ok(grads)
    }))
}

/// Snake itself, or one of its slopes.
#[derive(Clone, Copy)]
enum Snake {
    Value,
    InX,
    InAlpha,
    InB,
}

fn three(x: &RawTensor, a: &RawTensor, b: &RawTensor, which: Snake) -> Result<RawTensor> {
    by_float!("snake", x.dtype(), T => {
        let (vx, va, vb) = (x.strided::<T>(), a.strided::<T>(), b.strided::<T>());
        Ok(RawTensor::build(x.shape(), |out: &mut [T]| elementwise::ternary(out, &vx, &va, &vb, |o, x, a, b| match which {
            Snake::Value => kernel::snake(o, x, a, b),
            Snake::InX => kernel::snake_slope(o, x, a, b),
            Snake::InAlpha => kernel::snake_slope_a(o, x, a, b),
            Snake::InB => kernel::snake_slope_b(o, x, a, b),
        })))
    })
}

/// `x`, or `alpha x` below 0, `alpha` broadcast to `x`'s axes.
pub fn prelu(x: &RawTensor, alpha: &RawTensor, plan: &PointwisePlan, names: Names) -> Result<RawTensor> {
    const OP: &str = "prelu";
    fused::same_dtype(OP, alpha, x)?;
    let a = arith::broadcast(OP, x, alpha, plan, names)?;
    if is_half(x) {
        let y = prelu_same(&cast::to(x, DType::F32)?, &cast::to(&a, DType::F32)?)?;
        return cast::to(&y, x.dtype());
    }
    prelu_same(x, &a)
}

fn prelu_same(x: &RawTensor, a: &RawTensor) -> Result<RawTensor> {
    let out = by_float!("prelu", x.dtype(), T => {
        let (vx, va) = (x.strided::<T>(), a.strided::<T>());
        RawTensor::build(x.shape(), |out: &mut [T]| elementwise::binary(out, &vx, &va, kernel::prelu::<T>))
    });
    if !tracks(&[x, a]) {
        return Ok(out);
    }
    let (sx, sa) = (x.clone(), a.clone());
    Ok(record(out, [x, a], move |p| {
        // Where x is below 0, its slope is alpha and alpha's is x.
        let below = by_float!("prelu", sx.dtype(), T => {
            let v = sx.strided::<T>();
            RawTensor::build(sx.shape(), |out: &mut [bool]| elementwise::unary(out, &v, |o, x| {
                o.iter_mut().zip(x).for_each(|(o, x)| *o = *x < 0.0);
            }))
        });
        let dx = if p.needs(0) { Some(compare::where_(&below, &mul(p.grad, &sa)?, p.grad)?) } else { None };
        let da = if p.needs(1) {
            Some(compare::where_(&below, &mul(p.grad, &sx)?, &no_grad(|| p.grad.zeros_like()))?)
        } else {
            None
        };
        Ok([dx, da])
    }))
}

/// `x scale + shift`, both broadcast to `x`'s axes.
pub fn channel_affine(
    x: &RawTensor,
    factor: (&RawTensor, &PointwisePlan, Names),
    shift: (&RawTensor, &PointwisePlan, Names),
) -> Result<RawTensor> {
    const OP: &str = "channel_affine";
    let spread = |(t, plan, names): (&RawTensor, &PointwisePlan, Names)| {
        fused::same_dtype(OP, t, x)?;
        arith::broadcast(OP, x, t, plan, names)
    };
    let (a, b) = (spread(factor)?, spread(shift)?);
    if is_half(x) {
        let wide = |t: &RawTensor| cast::to(t, DType::F32);
        return cast::to(&affine_same(&wide(x)?, &wide(&a)?, &wide(&b)?)?, x.dtype());
    }
    affine_same(x, &a, &b)
}

fn affine_same(x: &RawTensor, a: &RawTensor, b: &RawTensor) -> Result<RawTensor> {
    let out = by_float!("channel_affine", x.dtype(), T => {
        let (vx, va, vb) = (x.strided::<T>(), a.strided::<T>(), b.strided::<T>());
        RawTensor::build(x.shape(), |out: &mut [T]| elementwise::ternary(out, &vx, &va, &vb, kernel::affine::<T>))
    });
    if !tracks(&[x, a, b]) {
        return Ok(out);
    }
    // Each factor is kept only if the other wants a gradient.
    let (sx, sa) = (a.requires_grad().then(|| x.clone()), x.requires_grad().then(|| a.clone()));
    Ok(record(out, [x, a, b], move |p| {
        Ok([
            sa.as_ref().map(|a| mul(p.grad, a)).transpose()?,
            sx.as_ref().map(|x| mul(p.grad, x)).transpose()?,
            p.needs(2).then(|| p.grad.clone()),
        ])
    }))
}
