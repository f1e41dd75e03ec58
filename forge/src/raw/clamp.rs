//! Bounds on values.

use super::{RawTensor, by_float, by_native_number, cast, compare};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result};
use forge_kernels::{DType, clamp as kernel, elementwise};

/// `x` with values below `lo` raised to it and above `hi` lowered to it; NaN stays. The gradient passes from `lo` to
/// `hi`, both included, and is 0 outside and at NaN.
pub fn clamp(x: &RawTensor, lo: f64, hi: f64) -> Result<RawTensor> {
    if lo.is_nan() || hi.is_nan() || lo > hi {
        return Err(Error::argument("clamp", format!("there is no number from {lo} to {hi}")));
    }
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return cast::to(&clamp(&cast::to(x, DType::F32)?, lo, hi)?, x.dtype());
    }
    // Integers have no fractions: the bounds move inwards to the next ones.
    let (lo, hi) = if x.dtype().is_int() { (lo.ceil(), hi.floor()) } else { (lo, hi) };
    let out = by_native_number!("clamp", x.dtype(), T => {
        let (v, lo, hi) = (x.strided::<T>(), lo as T, hi as T);
        RawTensor::build(x.shape(), |out: &mut [T]| elementwise::unary(out, &v, |o, v| kernel::clamp(o, v, lo, hi)))
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    let x_ = x.clone();
    Ok(record(out, [x], move |p| {
        let inside = by_float!("clamp", x_.dtype(), T => {
            let (v, lo, hi) = (x_.strided::<T>(), lo as T, hi as T);
            RawTensor::build(x_.shape(), |out: &mut [bool]| {
                elementwise::unary(out, &v, |o, v| kernel::inside(o, v, lo, hi));
            })
        });
        Ok([Some(compare::where_(&inside, p.grad, &p.grad.zeros_like())?)])
    }))
}
