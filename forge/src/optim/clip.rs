//! The norm of all gradients together.

use crate::autograd::Grads;
use crate::error::{Error, Result};
use crate::raw::by_float;
use forge_kernels::optim::OptimKernels;

/// The L2 norm of all gradients as one vector, summed in f64 in one fixed order.
///
/// # Errors
/// None for gradients of f32 and f64.
pub fn global_norm(grads: &Grads) -> Result<f64> {
    let mut total = 0.0;
    for g in grads.iter_raw() {
        let g = g.contiguous();
        total += by_float!("global_norm", g.dtype(), T => {
            T::sum_squares(g.as_slice::<T>().unwrap_or_default())
        });
    }
    Ok(total.sqrt())
}

/// Scales all gradients so that their [`global_norm`] is at most `max`; returns the norm before.
///
/// The factor is torch's: `max / (norm + 1e-6)` where that is below 1. A norm that is not finite makes the gradients
/// what it makes them in torch (0 or NaN), so look at the returned norm when that can happen.
///
/// ```
/// use forge::prelude::*;
/// use forge::optim::clip_global_norm;
/// axes! { In }
/// let w = Tensor::<In>::from([3.0, 4.0]).requires_grad();
/// let mut grads = w.square().sum_all().scale(0.5).backward()?;
/// assert_eq!(clip_global_norm(&mut grads, 1.0)?, 5.0);
/// let clipped = grads.get(&w).unwrap();
/// assert!((clipped.get(0) - 0.6).abs() < 1e-6 && (clipped.get(1) - 0.8).abs() < 1e-6);
/// # Ok::<(), forge::Error>(())
/// ```
///
/// # Errors
/// When `max` is not a positive number.
pub fn clip_global_norm(grads: &mut Grads, max: f64) -> Result<f64> {
    if max.is_nan() || max <= 0.0 {
        return Err(Error::argument("clip_global_norm", format!("the largest norm is a positive number, not {max}")));
    }
    let norm = global_norm(grads)?;
    let factor = max / (norm + 1e-6);
    if factor < 1.0 || factor.is_nan() {
        grads.scale(factor)?;
    }
    Ok(norm)
}
