//! Functions of one element.

use super::{RawTensor, arith, by_float, cast};
use crate::autograd::{grad_enabled, record, tracks};
use crate::error::{Error, Result};
use forge_kernels::arith::BinaryOp;
use forge_kernels::unary::{UnaryKernels, UnaryOp};
use forge_kernels::{DType, Layout, MAX_RANK, Strided};

/// `op(x)` with parameter `p` (0 where the function has none).
pub fn unary(op: UnaryOp, x: &RawTensor, p: f64, name: &'static str) -> Result<RawTensor> {
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return cast::to(&unary(op, &cast::to(x, DType::F32)?, p, name)?, x.dtype());
    }
    let out = by_float!(name, x.dtype(), T => {
        let v = x.strided::<T>();
        RawTensor::build(x.shape(), |out: &mut [T]| {
            T::unary(op, p as T, out, &v);
        })
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    let saved = if op.saves_output() { out.clone() } else { x.clone() };
    Ok(record(out, [x], move |cx| {
        let saved = if op.saves_output() { cx.output(&saved) } else { saved.clone() };
        Ok([Some(pull(op, &saved, p, cx.grad, name)?)])
    }))
}

/// [`unary`] that may overwrite `x`'s memory when nobody shares it.
pub fn unary_owned(op: UnaryOp, mut x: RawTensor, p: f64, name: &'static str) -> Result<RawTensor> {
    if !x.dtype().is_differentiable() || tracks(&[&x]) || !x.layout.is_contiguous() || !x.buf.is_unique() {
        return unary(op, &x, p, name);
    }
    x.node = None;
    by_float!(name, x.dtype(), T => {
        let data = x.as_mut_slice::<T>().expect("checked: dense and unshared");
        T::unary_in_place(op, p as T, data);
    });
    Ok(x)
}

/// `g * slope`. One fused kernel; when the pass itself is recorded, the slope is made of recorded operations instead.
fn pull(op: UnaryOp, saved: &RawTensor, p: f64, g: &RawTensor, name: &'static str) -> Result<RawTensor> {
    if grad_enabled() && tracks(&[saved, g]) {
        return arith::same(BinaryOp::Mul, g, &slope(op, saved, p, name)?);
    }
    by_float!(name, g.dtype(), T => {
        let (s, g) = (saved.strided::<T>(), g.strided::<T>());
        Ok(RawTensor::build(saved.shape(), |dx: &mut [T]| {
            T::pull(op, p as T, dx, &s, &g);
        }))
    })
}

/// The slope at the saved value (the output where [`UnaryOp::saves_output`], else the input) as recorded operations.
fn slope(op: UnaryOp, s: &RawTensor, p: f64, name: &'static str) -> Result<RawTensor> {
    use UnaryOp as U;
    let f = |op: UnaryOp, x: &RawTensor| unary(op, x, 0.0, name);
    let times = |x: &RawTensor, k: f64| arith::scalar(BinaryOp::Mul, x, k);
    let plus = |x: &RawTensor, k: f64| arith::scalar(BinaryOp::Add, x, k);
    let mul = |a: &RawTensor, b: &RawTensor| arith::same(BinaryOp::Mul, a, b);
    let one_minus = |x: &RawTensor| plus(&times(x, -1.0)?, 1.0);
    match op {
        U::Square => times(s, 2.0),
        U::Reciprocal => times(&mul(s, s)?, -1.0),
        U::Sqrt => times(&f(U::Reciprocal, s)?, 0.5),
        U::Rsqrt => times(&mul(&mul(s, s)?, s)?, -0.5),
        U::Exp => Ok(s.clone()),
        U::ExpM1 => plus(s, 1.0),
        U::Log => f(U::Reciprocal, s),
        U::Log1p => f(U::Reciprocal, &plus(s, 1.0)?),
        U::Sin => f(U::Cos, s),
        U::Cos => times(&f(U::Sin, s)?, -1.0),
        U::Tanh => one_minus(&mul(s, s)?),
        U::Sigmoid => mul(s, &one_minus(s)?),
        U::Silu => {
            let g = f(U::Sigmoid, s)?;
            mul(&g, &plus(&mul(s, &one_minus(&g)?)?, 1.0)?)
        }
        U::Softplus => f(U::Sigmoid, s),
        U::Gelu => {
            let (a, b) = (0.797_884_560_802_865_4, 0.044_715);
            let cube = mul(&mul(s, s)?, s)?;
            let t = f(U::Tanh, &times(&arith::same(BinaryOp::Add, s, &times(&cube, b)?)?, a)?)?;
            let inner1 = times(&plus(&times(&mul(s, s)?, 3.0 * b)?, 1.0)?, a);
            let tail = mul(&mul(s, &one_minus(&mul(&t, &t)?)?)?, &inner1?)?;
            times(&arith::same(BinaryOp::Add, &plus(&t, 1.0)?, &tail)?, 0.5)
        }
        U::GeluErf => {
            let cdf = times(&plus(&f(U::Erf, &times(s, std::f64::consts::FRAC_1_SQRT_2)?)?, 1.0)?, 0.5)?;
            let pdf = times(&f(U::Exp, &times(&mul(s, s)?, -0.5)?)?, 0.398_942_280_401_432_7)?;
            arith::same(BinaryOp::Add, &cdf, &mul(s, &pdf)?)
        }
        U::QuickGelu => {
            let g = f(U::Sigmoid, &times(s, 1.702)?)?;
            mul(&g, &plus(&times(&mul(s, &one_minus(&g)?)?, 1.702)?, 1.0)?)
        }
        U::Erf => times(&f(U::Exp, &times(&mul(s, s)?, -1.0)?)?, std::f64::consts::FRAC_2_SQRT_PI),
        U::Softcap => one_minus(&f(U::Square, &times(s, 1.0 / p)?)?),
        U::Elu => {
            // p e^x below 0, 1 above: min(x, 0) keeps the exponent in range.
            let below = times(&f(U::Exp, &arith::scalar(BinaryOp::Minimum, s, 0.0)?)?, p)?;
            let above = constant_slope(U::Relu, s, 0.0)?;
            super::compare::where_(&cast::to(&above, DType::Bool)?, &above, &below)
        }
        U::Softsign => {
            let d = plus(&f(U::Abs, s)?, 1.0)?;
            f(U::Reciprocal, &mul(&d, &d)?)
        }
        U::FastTanh => Err(Error::Gradient {
            op: name,
            what: "the rational fast_tanh has no second derivative here; use `tanh` where you differentiate twice"
                .into(),
        }),
        // Piecewise linear (or quadratic) functions: their slope is constant between the corners.
        U::HardSwish => {
            let inside = arith::same(
                BinaryOp::Mul,
                &constant_slope(U::HardTanh, &times(s, 1.0 / 3.0)?, 0.0)?,
                &times(&plus(&times(s, 2.0)?, 3.0)?, 1.0 / 6.0)?,
            )?;
            let above = constant_slope(U::Relu, &plus(s, -3.0)?, 0.0)?;
            arith::same(BinaryOp::Add, &inside, &above)
        }
        U::Neg | U::Abs | U::Relu | U::LeakyRelu | U::HardTanh | U::Floor | U::Ceil | U::Round | U::Sign => {
            constant_slope(op, s, p)
        }
    }
}

/// The slope of a piecewise linear function, as a constant.
fn constant_slope(op: UnaryOp, s: &RawTensor, p: f64) -> Result<RawTensor> {
    by_float!("slope", s.dtype(), T => {
        let v = s.strided::<T>();
        let one = Strided::new(&[1.0], 0, Layout::new(s.shape(), &[0; MAX_RANK][..s.rank()]));
        Ok(RawTensor::build(s.shape(), |out: &mut [T]| {
            T::pull(op, p as T, out, &v, &one);
        }))
    })
}

/// Natural logarithm.
pub(crate) fn log(x: &RawTensor) -> Result<RawTensor> {
    unary(UnaryOp::Log, x, 0.0, "log")
}
