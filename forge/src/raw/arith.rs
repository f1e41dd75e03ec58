//! Arithmetic: two operands broadcast by name, or an operand and a number.

use super::{Names, RawTensor, by_float, by_native_number, cast, shape};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result};
use forge_axes::plan::{NONE, PointwisePlan};
use forge_kernels::arith::{ArithKernels, BinaryOp};
use forge_kernels::{DType, Layout, Strided, elementwise};

/// The operation's name in messages.
pub(crate) fn op_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::Sub => "sub",
        BinaryOp::Mul => "mul",
        BinaryOp::Div => "div",
        BinaryOp::Maximum => "maximum",
        BinaryOp::Minimum => "minimum",
        BinaryOp::Pow => "pow",
    }
}

/// `b` seen with `a`'s axes: its own axes moved to their places, the missing ones repeated with stride 0.
pub(crate) fn aligned(
    op: &'static str,
    a: &RawTensor,
    b: &RawTensor,
    plan: &PointwisePlan,
    names: Names,
) -> Result<Layout> {
    let rank = a.rank();
    let mut strides = [0isize; forge_kernels::MAX_RANK];
    for i in 0..rank {
        let j = plan.map[i];
        if j == NONE {
            continue;
        }
        if a.shape()[i] != b.shape()[j as usize] {
            return Err(names.mismatch(op, (a, i), (b, j as usize)));
        }
        strides[i] = b.layout.strides()[j as usize];
    }
    Ok(Layout::new(a.shape(), &strides[..rank]))
}

/// `b` broadcast to `a`'s axes as a tensor of its own (a view); the gradient sums over what was repeated.
pub(crate) fn broadcast(
    op: &'static str,
    a: &RawTensor,
    b: &RawTensor,
    plan: &PointwisePlan,
    names: Names,
) -> Result<RawTensor> {
    if plan.identity && a.shape() == b.shape() {
        return Ok(b.clone());
    }
    let layout = aligned(op, a, b, plan, names)?;
    Ok(shape::broadcast_view(b, layout, &plan.map[..a.rank()]))
}

/// `op(a, b)`, `b` broadcast to `a`'s axes.
pub fn binary(op: BinaryOp, a: &RawTensor, b: &RawTensor, plan: &PointwisePlan, names: Names) -> Result<RawTensor> {
    let name = op_name(op);
    if a.dtype() != b.dtype() {
        return Err(Error::DType { op: name, expected: "two operands of one dtype", found: b.dtype() });
    }
    if tracks(&[a, b]) {
        return recorded(op, a, b, plan, names);
    }
    if matches!(a.dtype(), DType::F16 | DType::BF16) {
        let wide = binary(op, &cast::to(a, DType::F32)?, &cast::to(b, DType::F32)?, plan, names)?;
        return cast::to(&wide, a.dtype());
    }
    // The common case first: one shape, both dense, no broadcasting.
    let layout = if plan.identity && a.shape() == b.shape() { b.layout } else { aligned(name, a, b, plan, names)? };
    refuse_zero_divisor(op, b)?;
    by_native_number!(name, a.dtype(), T => {
        let x = a.strided::<T>();
        let y = Strided::new(b.buf.host::<T>(), b.offset, layout);
        Ok(RawTensor::build(a.shape(), |out: &mut [T]| {
            T::binary(op, out, &x, &y);
        }))
    })
}

fn refuse_zero_divisor(op: BinaryOp, b: &RawTensor) -> Result<()> {
    if op == BinaryOp::Div && b.dtype().is_int() && has_zero(b)? {
        return Err(Error::argument("div", "the divisor holds a zero, and integers have no infinity"));
    }
    Ok(())
}

fn has_zero(b: &RawTensor) -> Result<bool> {
    by_native_number!("div", b.dtype(), T => Ok(b.to_vec::<T>().contains(&T::default())))
}

/// [`binary`] that may overwrite `a`'s memory when nobody shares it.
pub fn binary_owned(
    op: BinaryOp,
    mut a: RawTensor,
    b: &RawTensor,
    plan: &PointwisePlan,
    names: Names,
) -> Result<RawTensor> {
    let name = op_name(op);
    let reusable = a.dtype() == b.dtype() && !matches!(a.dtype(), DType::F16 | DType::BF16) && !tracks(&[&a, b]);
    if !reusable || !a.layout.is_contiguous() || !a.buf.is_unique() {
        return binary(op, &a, b, plan, names);
    }
    let layout = aligned(name, &a, b, plan, names)?;
    refuse_zero_divisor(op, b)?;
    a.node = None;
    by_native_number!(name, a.dtype(), T => {
        let y = Strided::new(b.buf.host::<T>(), b.offset, layout);
        let x = a.as_mut_slice::<T>().expect("checked: dense and unshared");
        T::binary_in_place(op, x, &y);
    });
    Ok(a)
}

/// The recorded form: `b` is broadcast as a view of its own, so that the derivative meets two tensors of one shape.
fn recorded(op: BinaryOp, a: &RawTensor, b: &RawTensor, plan: &PointwisePlan, names: Names) -> Result<RawTensor> {
    let b = broadcast(op_name(op), a, b, plan, names)?;
    let out = crate::autograd::no_grad(|| binary(op, a, &b, &PointwisePlan::same(a.rank()), names))?;
    // Each side keeps the other only if it wants a gradient itself.
    let (ga, gb) = (a.requires_grad(), b.requires_grad());
    Ok(match op {
        BinaryOp::Add => {
            record(out, [a, &b], |p| Ok([p.needs(0).then(|| p.grad.clone()), p.needs(1).then(|| p.grad.clone())]))
        }
        BinaryOp::Sub => record(out, [a, &b], |p| {
            Ok([p.needs(0).then(|| p.grad.clone()), if p.needs(1) { Some(neg(p.grad)?) } else { None }])
        }),
        BinaryOp::Mul => {
            let (x, y) = (gb.then(|| a.clone()), ga.then(|| b.clone()));
            record(out, [a, &b], move |p| {
                Ok([
                    y.as_ref().map(|y| same(BinaryOp::Mul, p.grad, y)).transpose()?,
                    x.as_ref().map(|x| same(BinaryOp::Mul, p.grad, x)).transpose()?,
                ])
            })
        }
        BinaryOp::Div => {
            let x = gb.then(|| a.clone());
            let y = b.clone();
            record(out, [a, &b], move |p| {
                // d(x/y) = g/y for x, -(g/y) x/y for y.
                let g = same(BinaryOp::Div, p.grad, &y)?;
                let gy = match &x {
                    Some(x) => Some(neg(&same(BinaryOp::Div, &same(BinaryOp::Mul, &g, x)?, &y)?)?),
                    None => None,
                };
                Ok([p.needs(0).then_some(g), gy])
            })
        }
        BinaryOp::Maximum | BinaryOp::Minimum => {
            let (x, y) = (a.clone(), b.clone());
            record(out, [a, &b], move |p| {
                // The side that was taken gets the gradient; an exact tie is split evenly.
                let share = |from: &RawTensor, other: &RawTensor| -> Result<RawTensor> {
                    let w = extremum_weight(op, from, other)?;
                    same(BinaryOp::Mul, p.grad, &w)
                };
                Ok([
                    if p.needs(0) { Some(share(&x, &y)?) } else { None },
                    if p.needs(1) { Some(share(&y, &x)?) } else { None },
                ])
            })
        }
        BinaryOp::Pow => {
            let (x, y) = (a.clone(), b.clone());
            record(out, [a, &b], move |p| {
                // d x^y = y x^(y-1) dx + x^y ln(x) dy.
                let gx = if p.needs(0) {
                    let e = scalar(BinaryOp::Sub, &y, 1.0)?;
                    Some(same(BinaryOp::Mul, p.grad, &same(BinaryOp::Mul, &y, &same(BinaryOp::Pow, &x, &e)?)?)?)
                } else {
                    None
                };
                let gy =
                    if p.needs(1) { Some(same(BinaryOp::Mul, p.grad, &pow_exponent_slope(&x, &y)?)?) } else { None };
                Ok([gx, gy])
            })
        }
    })
}

/// `x^y ln x`, with 0 where `x = 0` and `y > 0` (the limit, as in torch).
fn pow_exponent_slope(x: &RawTensor, y: &RawTensor) -> Result<RawTensor> {
    let slope = same(BinaryOp::Mul, &same(BinaryOp::Pow, x, y)?, &super::unary::log(x)?)?;
    let keep = by_float!("pow", x.dtype(), T => {
        let (a, b) = (x.strided::<T>(), y.strided::<T>());
        RawTensor::build(x.shape(), |out: &mut [bool]| {
            elementwise::binary(out, &a, &b, |o, x, y| {
                for ((o, x), y) in o.iter_mut().zip(x).zip(y) {
                    *o = !(*x == 0.0 && *y >= 0.0);
                }
            });
        })
    });
    super::compare::where_(&keep, &slope, &slope.zeros_like())
}

/// 1 where `from` is strictly the extremum (or NaN), 0.5 on a tie, 0 elsewhere.
fn extremum_weight(op: BinaryOp, from: &RawTensor, other: &RawTensor) -> Result<RawTensor> {
    by_float!("maximum", from.dtype(), T => {
        let (a, b) = (from.strided::<T>(), other.strided::<T>());
        let max = op == BinaryOp::Maximum;
        Ok(RawTensor::build(from.shape(), |out: &mut [T]| {
            elementwise::binary(out, &a, &b, |o, a, b| {
                for ((o, &a), &b) in o.iter_mut().zip(a).zip(b) {
                    let won = (if max { a > b } else { a < b }) || (a.is_nan() && !b.is_nan());
                    *o = if won { 1.0 } else if a == b || (a.is_nan() && b.is_nan()) { 0.5 } else { 0.0 };
                }
            });
        }))
    })
}

/// `op(a, b)` for two tensors of one shape and axis order.
pub(crate) fn same(op: BinaryOp, a: &RawTensor, b: &RawTensor) -> Result<RawTensor> {
    binary(op, a, b, &PointwisePlan::same(a.rank()), Names { lhs: &[], rhs: &[] })
}

/// `-x`.
pub fn neg(x: &RawTensor) -> Result<RawTensor> {
    scalar(BinaryOp::Mul, x, -1.0)
}

/// `old + g`, reusing `old`'s memory when it can: how gradients accumulate.
pub(crate) fn accumulate(old: RawTensor, g: &RawTensor) -> Result<RawTensor> {
    let plan = PointwisePlan::same(old.rank());
    binary_owned(BinaryOp::Add, old, g, &plan, Names { lhs: &[], rhs: &[] })
}

/// `op(x, s)`; for integers `s` is truncated to the dtype.
pub fn scalar(op: BinaryOp, x: &RawTensor, s: f64) -> Result<RawTensor> {
    scalar_owned(op, x.clone(), s)
}

/// [`scalar`] that may overwrite `x`'s memory when nobody shares it.
pub fn scalar_owned(op: BinaryOp, mut x: RawTensor, s: f64) -> Result<RawTensor> {
    let name = op_name(op);
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        let wide = scalar(op, &cast::to(&x, DType::F32)?, s)?;
        return cast::to(&wide, x.dtype());
    }
    if x.dtype().is_int() && op == BinaryOp::Div && s as i64 == 0 {
        return Err(Error::argument("div", "the divisor is zero, and integers have no infinity"));
    }
    let recorded = tracks(&[&x]);
    let in_place = !recorded && x.layout.is_contiguous() && x.buf.is_unique();
    if in_place {
        x.node = None;
        by_native_number!(name, x.dtype(), T => {
            let s = s as T;
            let data = x.as_mut_slice::<T>().expect("checked: dense and unshared");
            T::scalar_in_place(op, data, s);
        });
        return Ok(x);
    }
    let out = by_native_number!(name, x.dtype(), T => {
        let (v, s) = (x.strided::<T>(), s as T);
        RawTensor::build(x.shape(), |out: &mut [T]| T::scalar(op, out, &v, s))
    });
    if !recorded {
        return Ok(out);
    }
    Ok(match op {
        BinaryOp::Add | BinaryOp::Sub => record(out, [&x], |p| Ok([Some(p.grad.clone())])),
        BinaryOp::Mul | BinaryOp::Div => record(out, [&x], move |p| Ok([Some(scalar(op, p.grad, s)?)])),
        BinaryOp::Maximum | BinaryOp::Minimum => {
            let v = x.clone();
            record(out, [&x], move |p| {
                // As clamping: the gradient passes where the value itself was taken (ties included).
                let w = by_float!("maximum", v.dtype(), T => {
                    let (d, s, max) = (v.strided::<T>(), s as T, op == BinaryOp::Maximum);
                    RawTensor::build(v.shape(), |out: &mut [T]| elementwise::unary(out, &d, |o, v| {
                        for (o, &v) in o.iter_mut().zip(v) {
                            *o = if (if max { v >= s } else { v <= s }) || v.is_nan() { 1.0 } else { 0.0 };
                        }
                    }))
                });
                Ok([Some(same(BinaryOp::Mul, p.grad, &w)?)])
            })
        }
        BinaryOp::Pow => {
            let v = x.clone();
            record(out, [&x], move |p| {
                if s == 0.0 {
                    return Ok([Some(p.grad.zeros_like())]);
                }
                let slope = scalar(BinaryOp::Mul, &scalar(BinaryOp::Pow, &v, s - 1.0)?, s)?;
                Ok([Some(same(BinaryOp::Mul, p.grad, &slope)?)])
            })
        }
    })
}
