//! [`Linear`]: an affine map from one axis to another.

use super::debug::debug_layer;
use super::init::kaiming_uniform;
use super::module::{Module, Path, Visitor, VisitorMut};
use super::param::Param;
use crate::dtype::Differentiable;
use crate::error::raise;
use crate::raw::{arith, contract};
use crate::tensor::{Tensor, names, sizes, wrap};
use forge_axes::plan::{ContractPlan, PointwisePlan};
use forge_axes::{Axes, Axis, Distinct, Has, Project, SizeArg};
use forge_kernels::arith::BinaryOp;
use forge_kernels::rng::Key;
use forge_macros::fallible;

/// `y[.., O] = sum over I of x[.., I] weight[I, O] + bias[O]`, whatever the other axes of `x` are.
///
/// ```
/// use forge::prelude::*;
/// use forge::nn::Linear;
/// use forge::rng::Key;
/// axes! { Batch, Seq, In, Out }
/// let layer = Linear::<In, Out>::new((4, 3), Key::new(0));
/// let y: Tensor<(Batch, Seq, Out)> = layer.forward(&Tensor::<(Batch, Seq, In)>::ones((2, 5, 4)));
/// assert_eq!(y.shape(), [2, 5, 3]);
/// ```
#[derive(Clone)]
pub struct Linear<I: Axis, O: Axis, D: Differentiable = f32> {
    /// The matrix.
    pub weight: Param<(I, O), D>,
    /// What is added to each output, if anything.
    pub bias: Option<Param<O, D>>,
}

debug_layer!(Linear<I: Axis, O: Axis, D: Differentiable>);

impl<I: Axis, O: Axis, D: Differentiable> Linear<I, O, D>
where
    (I, O): Distinct,
{
    /// A layer of the sizes `(of I, of O)` with a bias.
    ///
    /// Both start uniform with magnitude below `sqrt(1 / size of I)`, as torch's do
    /// ([He et al. 2015](https://arxiv.org/abs/1502.01852)); the numbers come from `key.derive("weight")` and
    /// `key.derive("bias")`.
    pub fn new(dims: (SizeArg<I>, SizeArg<O>), key: Key) -> Self {
        let fan_in = sizes::<I>(dims.0).0[0];
        let bias = kaiming_uniform(dims.1, fan_in, key.derive("bias")).unwrap_or_else(|e| raise(e));
        Self { bias: Some(Param::new(bias)), ..Self::without_bias(dims, key) }
    }

    /// [`Self::new`] without a bias.
    pub fn without_bias(dims: (SizeArg<I>, SizeArg<O>), key: Key) -> Self {
        let fan_in = sizes::<I>(dims.0).0[0];
        let weight = kaiming_uniform(dims, fan_in, key.derive("weight")).unwrap_or_else(|e| raise(e));
        Self { weight: Param::new(weight), bias: None }
    }
}

impl<I: Axis, O: Axis, D: Differentiable> Linear<I, O, D> {
    /// The map, applied along the axis `I` of `x`. The result has `x`'s other axes in their order, then `O`. (Where `x`
    /// has an axis `O` of its own, it is a batch axis, as in [`Tensor::dot`].)
    ///
    /// # Errors
    /// When `x`'s axis `I` has another size than the layer's.
    #[fallible]
    pub fn forward<X: Axes + Has<I>>(&self, x: &Tensor<X, D>) -> Tensor<Project<X, I, O>, D> {
        let plan = const { &ContractPlan::new(X::KEYS, <(I, O) as Axes>::KEYS, <Project<X, I, O> as Axes>::KEYS) };
        let y = contract::contract(x.raw(), self.weight.raw(), plan, names::<X, (I, O)>(), "linear")?;
        let Some(bias) = &self.bias else { return Ok(wrap(y)) };
        let plan = const { &PointwisePlan::new(<Project<X, I, O> as Axes>::KEYS, <O as Axes>::KEYS) };
        Ok(wrap(arith::binary_owned(BinaryOp::Add, y, bias.raw(), plan, names::<Project<X, I, O>, O>())?))
    }
}

impl<I: Axis, O: Axis, D: Differentiable> Module for Linear<I, O, D> {
    fn visit(&self, path: &mut Path, visitor: &mut dyn Visitor) {
        self.weight.visit(&mut path.push("weight"), visitor);
        self.bias.visit(&mut path.push("bias"), visitor);
    }
    fn visit_mut(&mut self, path: &mut Path, visitor: &mut dyn VisitorMut) {
        self.weight.visit_mut(&mut path.push("weight"), visitor);
        self.bias.visit_mut(&mut path.push("bias"), visitor);
    }
}
