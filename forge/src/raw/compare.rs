//! Comparison and selection.

use super::{RawTensor, by_dtype};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result};
use forge_kernels::{DType, compare as kernel, elementwise};

/// `a` where `mask` holds, else `b`: three tensors of one shape. What is not selected leaves no trace, NaN included.
pub(crate) fn where_(mask: &RawTensor, a: &RawTensor, b: &RawTensor) -> Result<RawTensor> {
    if mask.dtype() != DType::Bool {
        return Err(Error::DType { op: "where", expected: "a bool mask", found: mask.dtype() });
    }
    if a.dtype() != b.dtype() {
        return Err(Error::DType { op: "where", expected: "two operands of one dtype", found: b.dtype() });
    }
    let out = by_dtype!(a.dtype(), T => {
        let (m, x, y) = (mask.strided::<bool>(), a.strided::<T>(), b.strided::<T>());
        RawTensor::build(a.shape(), |out: &mut [T]| elementwise::ternary(out, &m, &x, &y, kernel::select::<T>))
    });
    if !tracks(&[a, b]) {
        return Ok(out);
    }
    let mask = mask.clone();
    Ok(record(out, [a, b], move |p| {
        let zero = p.grad.zeros_like();
        Ok([
            if p.needs(0) { Some(where_(&mask, p.grad, &zero)?) } else { None },
            if p.needs(1) { Some(where_(&mask, &zero, p.grad)?) } else { None },
        ])
    }))
}
