//! [`Mlp`]: the feed-forward block of a transformer.

use super::Module;
use super::debug::debug_layer;
use super::linear::Linear;
use super::project::project;
use crate::dtype::Differentiable;
use crate::raw::{Names, gated, unary};
use crate::rng::Key;
use crate::tensor::{Tensor, wrap};
use forge_axes::plan::PointwisePlan;
use forge_axes::{Axes, Axis, Distinct, Has, Lacks, Remove, Replace, SizeArg};
use forge_kernels::gated::GateOp;
use forge_kernels::unary::UnaryOp;
use forge_macros::fallible;

/// What stands between the two maps of an [`Mlp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// [`Tensor::gelu`]: the tanh form.
    Gelu,
    /// [`Tensor::gelu_erf`]: the exact form.
    GeluErf,
    /// [`Tensor::silu`].
    Silu,
    /// `up(x) * silu(gate(x))` ([Shazeer 2020](https://arxiv.org/abs/2002.05202)).
    Swiglu,
    /// `up(x) * gelu(gate(x))`, with the tanh form of GELU ([Shazeer 2020](https://arxiv.org/abs/2002.05202)).
    Geglu,
}

impl Activation {
    /// Whether a third map makes a gate.
    pub fn is_gated(self) -> bool {
        matches!(self, Self::Swiglu | Self::Geglu)
    }
}

/// `down(activation(up(x)))` along the axis `M`, through the wider axis `F`; or, gated, `down(up(x) * act(gate(x)))`.
/// The axes of `x` stay as they are, in their order.
///
/// ```
/// use forge::axes::{Batch, Ffn, Model, Seq};
/// use forge::nn::{Activation, Mlp};
/// use forge::prelude::*;
/// use forge::rng::Key;
/// let block = Mlp::<Model, Ffn>::new((8, 32), Activation::Swiglu, Key::new(0));
/// let x = Tensor::<(Model, Batch, Seq)>::ones((8, 2, 3));
/// let y: Tensor<(Model, Batch, Seq)> = block.forward(&x);
/// assert_eq!(y.shape(), [8, 2, 3]);
/// ```
#[derive(Clone, Module)]
pub struct Mlp<M: Axis, F: Axis, D: Differentiable = f32> {
    /// From `M` to `F`.
    pub up: Linear<M, F, D>,
    /// From `M` to `F`, what the gate is made of; only with a gated activation.
    pub gate: Option<Linear<M, F, D>>,
    /// From `F` to `M`.
    pub down: Linear<F, M, D>,
    #[module(skip)]
    activation: Activation,
}

debug_layer!(Mlp<M: Axis, F: Axis, D: Differentiable>);

impl<M: Axis, F: Axis, D: Differentiable> Mlp<M, F, D>
where
    (M, F): Distinct,
    (F, M): Distinct,
{
    /// A block of the sizes `(of M, of F)` without biases. The maps start as [`Linear::new`]'s, from `key.derive("up")`,
    /// `key.derive("gate")` and `key.derive("down")`.
    pub fn new(dims: (SizeArg<M>, SizeArg<F>), activation: Activation, key: Key) -> Self {
        let up = |name| Linear::without_bias(dims, key.derive(name));
        let down = Linear::without_bias((dims.1, dims.0), key.derive("down"));
        Self { up: up("up"), gate: activation.is_gated().then(|| up("gate")), down, activation }
    }

    /// [`Self::new`] with biases.
    pub fn with_bias(dims: (SizeArg<M>, SizeArg<F>), activation: Activation, key: Key) -> Self {
        let up = |name| Linear::new(dims, key.derive(name));
        let down = Linear::new((dims.1, dims.0), key.derive("down"));
        Self { up: up("up"), gate: activation.is_gated().then(|| up("gate")), down, activation }
    }
}

impl<M: Axis, F: Axis, D: Differentiable> Mlp<M, F, D> {
    /// The activation.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// The block, applied along the axis `M` of `x`.
    ///
    /// # Errors
    /// When `x`'s axis `M` has another size than the block's.
    #[fallible]
    pub fn forward<X: Axes + Has<M>>(&self, x: &Tensor<X, D>) -> Tensor<X, D>
    where
        Remove<X, M>: Lacks<F>,
    {
        let widen =
            |l: &Linear<M, F, D>| project::<X, (M, F), F, Replace<X, M, F>, D>(x, &l.weight, l.bias.as_ref(), "mlp");
        let up = widen(&self.up)?.into_raw();
        let gate = self.gate.as_ref().map(widen).transpose()?;
        let plain = |op| unary::unary_owned(op, up.clone(), 0.0, "mlp");
        let gated = |op| {
            let keys = <Replace<X, M, F> as Axes>::KEYS;
            let plan =
                const { &PointwisePlan::new(<Replace<X, M, F> as Axes>::KEYS, <Replace<X, M, F> as Axes>::KEYS) };
            let gate = gate.as_ref().expect("a gated activation has a gate");
            gated::gated(op, &up, gate.raw(), plan, Names { lhs: keys, rhs: keys }, "mlp")
        };
        let h = match self.activation {
            Activation::Relu => plain(UnaryOp::Relu)?,
            Activation::Gelu => plain(UnaryOp::Gelu)?,
            Activation::GeluErf => plain(UnaryOp::GeluErf)?,
            Activation::Silu => plain(UnaryOp::Silu)?,
            Activation::Swiglu => gated(GateOp::Swiglu)?,
            Activation::Geglu => gated(GateOp::Geglu)?,
        };
        project::<Replace<X, M, F>, (F, M), M, X, D>(&wrap(h), &self.down.weight, self.down.bias.as_ref(), "mlp")
    }
}
