//! Dropout, with the mask regenerated from its key instead of stored.

use super::{RawTensor, by_float, cast};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result};
use forge_kernels::rng::Key;
use forge_kernels::{DType, dropout as kernel};

/// `x / (1 - p)` where number `i` of `key` keeps element `i` (in row-major order), else 0; `x` itself when `p` is 0.
pub fn dropout(x: &RawTensor, p: f64, key: Key) -> Result<RawTensor> {
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::argument("dropout", format!("the probability {p} is not between 0 and 1")));
    }
    if p == 0.0 {
        return Ok(x.clone());
    }
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return cast::to(&dropout(&cast::to(x, DType::F32)?, p, key)?, x.dtype());
    }
    let out = by_float!("dropout", x.dtype(), T => {
        let v = x.strided::<T>();
        RawTensor::build(x.shape(), |out: &mut [T]| kernel::dropout(out, &v, key, 1.0 - p))
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    // The same linear map: the mask depends on the key and the place alone.
    Ok(record(out, [x], move |cx| Ok([Some(dropout(cx.grad, p, key)?)])))
}
