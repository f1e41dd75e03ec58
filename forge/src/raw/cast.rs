//! Conversion between element types.

use super::{RawTensor, by_dtype};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result};
use forge_kernels::{DType, Element, bf16, cast as kernel, f16};

/// `x` with elements of type `dtype`.
///
/// Integers wrap; float to integer truncates, saturates and sends NaN to 0; anything to bool is `!= 0`; f32 to 16 bits
/// rounds to nearest even. Between floats the gradient passes (through f32 or f64 values only).
pub fn to(x: &RawTensor, dtype: DType) -> Result<RawTensor> {
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    let out = match (x.dtype(), dtype) {
        (DType::F32, DType::F16) => convert::<f32, f16>(x),
        (DType::F32, DType::BF16) => convert::<f32, bf16>(x),
        (DType::F16, DType::F32) => convert::<f16, f32>(x),
        (DType::BF16, DType::F32) => convert::<bf16, f32>(x),
        (DType::F32, DType::F64) => convert::<f32, f64>(x),
        (DType::F64, DType::F32) => convert::<f64, f32>(x),
        // The rest go by way of f64 or i64, which hold every value of the others exactly: so a new type needs a few
        // loops, not one for each other type.
        (DType::F64, _) => by_dtype!(dtype, T => convert::<f64, T>(x)),
        (DType::I64, _) => by_dtype!(dtype, T => convert::<i64, T>(x)),
        (from, DType::F64) if from.is_float() => by_dtype!(from, S => convert::<S, f64>(x)),
        (from, DType::I64) if !from.is_float() => by_dtype!(from, S => convert::<S, i64>(x)),
        (from, _) => to(&to(&x.detach(), if from.is_float() { DType::F64 } else { DType::I64 })?, dtype)?,
    };
    if !tracks(&[x]) {
        return Ok(out);
    }
    if !dtype.is_float() {
        // Integers and bools carry no gradient: the result is a constant, as a comparison's is.
        return Ok(out);
    }
    if !dtype.is_differentiable() {
        return Err(Error::Gradient {
            op: "to",
            what: format!("{dtype} tensors carry no gradient; convert a detached value: `.detach().to::<{dtype}>()`"),
        });
    }
    let from = x.dtype();
    Ok(record(out, [x], move |p| Ok([Some(to(p.grad, from)?)])))
}

fn convert<S: Element, T: kernel::CastFrom<S>>(x: &RawTensor) -> RawTensor {
    let v = x.strided::<S>();
    RawTensor::build(x.shape(), |out: &mut [T]| kernel::cast(out, &v))
}
