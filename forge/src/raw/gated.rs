//! Gated activations.

use super::fused::{is_half, mul, of, scale};
use super::{At, Names, RawTensor, arith, by_float, cast, shape};
use crate::autograd::{grad_enabled, pull_composed, record, tracks};
use crate::error::{Error, Result};
use forge_axes::plan::PointwisePlan;
use forge_kernels::gated::{self as kernel, GateOp};
use forge_kernels::unary::UnaryOp;
use forge_kernels::{DType, elementwise};

/// `op(u, g)`, the gate broadcast to the value's axes.
pub fn gated(
    op: GateOp,
    u: &RawTensor,
    g: &RawTensor,
    plan: &PointwisePlan,
    names: Names,
    name: &'static str,
) -> Result<RawTensor> {
    super::fused::same_dtype(name, g, u)?;
    same(op, u, &arith::broadcast(name, u, g, plan, names)?, name)
}

/// [`gated`] of two tensors of one shape.
fn same(op: GateOp, u: &RawTensor, g: &RawTensor, name: &'static str) -> Result<RawTensor> {
    if is_half(u) {
        let y = same(op, &cast::to(u, DType::F32)?, &cast::to(g, DType::F32)?, name)?;
        return cast::to(&y, u.dtype());
    }
    let out = by_float!(name, u.dtype(), T => {
        let (a, b) = (u.strided::<T>(), g.strided::<T>());
        RawTensor::build(u.shape(), |out: &mut [T]| {
            elementwise::binary(out, &a, &b, |o, a, b| kernel::forward(op, o, a, b));
        })
    });
    if !tracks(&[u, g]) {
        return Ok(out);
    }
    let (a, b) = (u.clone(), g.clone());
    Ok(record(out, [u, g], move |p| {
        if grad_enabled() && tracks(&[&a, &b, p.grad]) {
            return pull_composed([&a, &b], p.grad, |x| composed(op, &x[0], &x[1]));
        }
        let (du, dg) = by_float!(name, a.dtype(), T => {
            let (u, g, dy) = (a.strided::<T>(), b.strided::<T>(), p.grad.strided::<T>());
            let mut dg = RawTensor::full(a.shape(), T::default());
            let du = RawTensor::build(a.shape(), |du: &mut [T]| {
                kernel::backward(op, du, dg.as_mut_slice().expect("new"), &u, &g, &dy);
            });
            (du, dg)
        });
        Ok([p.needs(0).then_some(du), p.needs(1).then_some(dg)])
    }))
}

/// From recorded parts.
fn composed(op: GateOp, u: &RawTensor, g: &RawTensor) -> Result<RawTensor> {
    let bounded = |x: &RawTensor, k: f64| scale(&of(UnaryOp::Tanh, &scale(x, 1.0 / k)?)?, k);
    match op {
        GateOp::Glu => mul(u, &of(UnaryOp::Sigmoid, g)?),
        GateOp::Swiglu => mul(u, &of(UnaryOp::Silu, g)?),
        GateOp::Geglu => mul(u, &of(UnaryOp::Gelu, g)?),
        GateOp::Situ => mul(&bounded(u, 25.0)?, &mul(&bounded(g, 4.0)?, &of(UnaryOp::Sigmoid, g)?)?),
    }
}

/// The two halves of axis `at` of `x`, one gating the other; `gate_first` says which.
pub fn split_gated(op: GateOp, x: &RawTensor, at: At, gate_first: bool, name: &'static str) -> Result<RawTensor> {
    let n = x.shape()[at.axis];
    if !n.is_multiple_of(2) {
        let what = format!("axis `{}` has the odd size {n}, which has no two halves", at.name());
        return Err(Error::argument(name, what));
    }
    let (first, second) = (shape::narrow(x, at, 0, n / 2)?, shape::narrow(x, at, n / 2, n / 2)?);
    if gate_first { same(op, &second, &first, name) } else { same(op, &first, &second, name) }
}
