//! How parameters start.

use crate::DType;
use crate::dtype::Differentiable;
use crate::error::Result;
use crate::raw::{RawTensor, by_float};
use crate::tensor::{Tensor, sizes, wrap};
use forge_axes::{Axes, Distinct};
use forge_kernels::rng::Key;

/// Uniform numbers of magnitude below `sqrt(1 / fan_in)`: what torch's `Linear` starts with
/// (He et al. 2015, <https://arxiv.org/abs/1502.01852>, with `a = sqrt 5`). Element `i` is number `i` of `key`.
pub(crate) fn kaiming_uniform<X: Axes + Distinct, D: Differentiable>(
    dims: X::Dims,
    fan_in: usize,
    key: Key,
) -> Result<Tensor<X, D>> {
    let (shape, rank) = sizes::<X>(dims);
    let bound = (fan_in.max(1) as f64).sqrt().recip();
    Ok(wrap(by_float!("kaiming_uniform", D::DTYPE, T => {
        RawTensor::build(&shape[..rank], |out: &mut [T]| key.fill_uniform(0, out, -bound as T, bound as T))
    })))
}

/// Every element `value`.
pub(crate) fn filled<X: Axes, D: Differentiable>(dims: X::Dims, value: f64) -> Tensor<X, D> {
    let (shape, rank) = sizes::<X>(dims);
    wrap(match D::DTYPE {
        DType::F64 => RawTensor::full(&shape[..rank], value),
        _ => RawTensor::full(&shape[..rank], value as f32),
    })
}
