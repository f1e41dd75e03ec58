//! The affine map beneath the layers.

use super::param::Param;
use crate::dtype::Differentiable;
use crate::error::Result;
use crate::raw::{arith, contract};
use crate::tensor::{Tensor, names, wrap};
use forge_axes::Axes;
use forge_axes::plan::{ContractPlan, PointwisePlan};
use forge_kernels::arith::BinaryOp;

/// `x` times `weight`, plus `bias` if there is one, with the axes `Y`: what `Y` lacks is summed over.
///
/// The callers' bounds say that the axes fit; here `Y` is taken as it is, so that a layer that is generic over its axes
/// can name its result as it likes.
pub(crate) fn project<X: Axes, W: Axes, B: Axes, Y: Axes, D: Differentiable>(
    x: &Tensor<X, D>,
    weight: &Param<W, D>,
    bias: Option<&Param<B, D>>,
    op: &'static str,
) -> Result<Tensor<Y, D>> {
    let plan = const { &ContractPlan::new(X::KEYS, W::KEYS, Y::KEYS) };
    let y = contract::contract(x.raw(), weight.raw(), plan, names::<X, W>(), op)?;
    let Some(bias) = bias else { return Ok(wrap(y)) };
    let plan = const { &PointwisePlan::new(Y::KEYS, B::KEYS) };
    Ok(wrap(arith::binary_owned(BinaryOp::Add, y, bias.raw(), plan, names::<Y, B>())?))
}
