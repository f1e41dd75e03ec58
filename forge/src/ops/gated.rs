//! Gated activations.

use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::dyn_tensor::DynAxis;
use crate::error::Error;
use crate::raw::{Names, gated as raw};
use crate::tensor::{Tensor, at, names, wrap};
use forge_axes::plan::PointwisePlan;
use forge_axes::{Axes, Axis, Has, Lacks, Remove, Replace, Resizable, SubsetOf};
use forge_kernels::gated::GateOp;
use forge_macros::fallible;

macro_rules! gates {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<X: Axes, D: Dtype> Tensor<X, D> {
            $(
                $(#[$doc])*
                ///
                /// The gate's axes must be among the value's, in any order; it is repeated along the others.
                ///
                /// # Errors
                /// When a shared axis has two sizes.
                #[fallible]
                pub fn $name<R: Axes + SubsetOf<X>>(&self, gate: &Tensor<R, D>) -> Self
                where
                    D: Float,
                {
                    let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
                    let names = names::<X, R>();
                    Ok(wrap(raw::gated(GateOp::$op, self.raw(), gate.raw(), plan, names, stringify!($name))?))
                }
            )*
        }
        impl DynTensor {
            $(
                #[doc = concat!("[`Tensor::", stringify!($name), "`].")]
                ///
                /// # Errors
                /// When the gate has an axis that `self` lacks, a shared axis has two sizes, or the elements are not
                /// floats.
                pub fn $name(&self, gate: &Self) -> Result<Self, Error> {
                    const OP: &str = stringify!($name);
                    let (lhs, rhs) = (self.keys(), gate.keys());
                    super::arith::subset(OP, &rhs, &lhs)?;
                    let (plan, names) = (PointwisePlan::new(&lhs, &rhs), Names { lhs: &lhs, rhs: &rhs });
                    Ok(self.with_raw(raw::gated(GateOp::$op, self.raw(), gate.raw(), &plan, names, OP)?))
                }
            )*
        }
    };
}

gates! {
    /// `self * sigmoid(gate)` ([Dauphin et al. 2016](https://arxiv.org/abs/1612.08083)).
    glu Glu;
    /// `self * silu(gate)` ([Shazeer 2020](https://arxiv.org/abs/2002.05202)).
    swiglu Swiglu;
    /// `self * gelu(gate)`, with the tanh form of GELU ([Shazeer 2020](https://arxiv.org/abs/2002.05202)).
    geglu Geglu;
    /// `25 tanh(self / 25) * 4 tanh(gate / 4) sigmoid(gate)`: a SwiGLU whose value and gate are softly bounded.
    situ Situ;
}

/// The size that an axis of fixed size must have.
fn fixed<B: Axis>(op: &'static str, n: usize) -> Result<(), Error> {
    match B::KEY.fixed {
        Some(f) if f != n => Err(Error::argument(
            op,
            format!("axis `{}` has the fixed size {f}, but half of the input is {n}", B::KEY.name),
        )),
        _ => Ok(()),
    }
}

impl<X: Axes, D: Float> Tensor<X, D> {
    /// [`Self::glu`] of the halves of `axis`, which becomes `into` of half the size: the SECOND half is the gate (as in
    /// torch's `glu`).
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, Both, Half }
    /// let x = Tensor::<(Batch, Both)>::from_vec((1, 4), vec![2., 4., 0., 0.]);
    /// let y: Tensor<(Batch, Half)> = x.split_glu(Both, Half);
    /// assert_eq!(y.to_vec(), [1.0, 2.0]);
    /// ```
    ///
    /// # Errors
    /// When the size of `axis` is odd, or `into` has a fixed size that is not half of it.
    #[fallible]
    pub fn split_glu<A: Resizable, B: Axis>(&self, axis: A, into: B) -> Tensor<Replace<X, A, B>, D>
    where
        X: Has<A>,
        Remove<X, A>: Lacks<B>,
    {
        let _ = (axis, into);
        fixed::<B>("split_glu", self.size(axis) / 2)?;
        Ok(wrap(raw::split_gated(GateOp::Glu, self.raw(), at::<X, A>(), false, "split_glu")?))
    }

    /// [`Self::swiglu`] of the halves of `axis`, which becomes `into` of half the size: the FIRST half is the gate (as
    /// feed-forward layers that compute gate and value in one product store them).
    ///
    /// # Errors
    /// When the size of `axis` is odd, or `into` has a fixed size that is not half of it.
    #[fallible]
    pub fn split_swiglu<A: Resizable, B: Axis>(&self, axis: A, into: B) -> Tensor<Replace<X, A, B>, D>
    where
        X: Has<A>,
        Remove<X, A>: Lacks<B>,
    {
        let _ = (axis, into);
        fixed::<B>("split_swiglu", self.size(axis) / 2)?;
        Ok(wrap(raw::split_gated(GateOp::Swiglu, self.raw(), at::<X, A>(), true, "split_swiglu")?))
    }
}

impl DynTensor {
    /// [`Tensor::split_glu`].
    ///
    /// # Errors
    /// When there is no such axis, its size is odd, or `into` is already there.
    pub fn split_glu(&self, axis: impl Into<DynAxis>, into: impl Into<DynAxis>) -> Result<Self, Error> {
        self.split_gated(GateOp::Glu, axis.into(), into.into(), false, "split_glu")
    }

    /// [`Tensor::split_swiglu`].
    ///
    /// # Errors
    /// When there is no such axis, its size is odd, or `into` is already there.
    pub fn split_swiglu(&self, axis: impl Into<DynAxis>, into: impl Into<DynAxis>) -> Result<Self, Error> {
        self.split_gated(GateOp::Swiglu, axis.into(), into.into(), true, "split_swiglu")
    }

    fn split_gated(
        &self,
        op: GateOp,
        axis: DynAxis,
        into: DynAxis,
        gate_first: bool,
        name: &'static str,
    ) -> Result<Self, Error> {
        let y = self.at(name, &axis, |at| raw::split_gated(op, self.raw(), at, gate_first, name))?;
        self.with_raw_of_other_size(y, name, &axis, into)
    }

    /// `raw`, which differs from this tensor along `axis`, with that axis called `into`.
    pub(crate) fn with_raw_of_other_size(
        &self,
        raw: crate::raw::RawTensor,
        name: &'static str,
        axis: &DynAxis,
        into: DynAxis,
    ) -> Result<Self, Error> {
        let p = self.position(name, axis)?;
        if !forge_axes::plan::same(&axis.key(), &into.key()) {
            self.lacks(name, &into)?;
        }
        let mut axes = self.axes().to_vec();
        axes[p] = into;
        Ok(Self::new(raw, axes))
    }
}
