//! [`Grads`]: the result of a backward pass, a value.

use crate::DynTensor;
use crate::autograd::NodeRef;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::raw::{RawTensor, arith};
use crate::tensor::{Tensor, wrap};
use forge_axes::Axes;
use forge_kernels::arith::BinaryOp;
use std::collections::BTreeMap;

/// Gradients by parameter, as one or more backward passes gave them.
///
/// Nothing is stored in the parameters: `grads.get(&w)` looks one up, optimizers take the whole value, and two of them
/// [merge](Self::merge) by addition.
#[derive(Default, Clone)]
pub struct Grads {
    /// By the id of the leaf's node; ordered, so that every walk over it has one order.
    by_leaf: BTreeMap<u64, RawTensor>,
}

impl Grads {
    /// The gradient of parameter `w`, or `None` when the loss does not depend on it.
    pub fn get<X: Axes, D: Dtype>(&self, w: &Tensor<X, D>) -> Option<Tensor<X, D>> {
        self.get_raw(w.raw()).cloned().map(wrap)
    }

    /// The gradient of an erased parameter.
    pub fn get_dyn(&self, w: &DynTensor) -> Option<DynTensor> {
        self.get_raw(w.raw()).map(|g| w.with_raw(g.clone()))
    }

    /// The untyped gradient of parameter `w`.
    pub fn get_raw(&self, w: &RawTensor) -> Option<&RawTensor> {
        self.by_leaf.get(&w.node.as_ref()?.id())
    }

    /// The gradient of the leaf with node `id`.
    pub(crate) fn by_id(&self, id: u64) -> Option<&RawTensor> {
        self.by_leaf.get(&id)
    }

    /// Multiplies every gradient by `factor`: the mean over accumulated batches, a clipped norm.
    ///
    /// ```
    /// use forge::prelude::*;
    /// let w = Tensor::<()>::scalar(3.0).requires_grad();
    /// let mut grads = w.square().backward()?;
    /// grads.merge(w.square().backward()?)?;
    /// grads.scale(0.5)?;
    /// assert_eq!(grads.get(&w).unwrap().item(), 6.0);
    /// # Ok::<(), forge::Error>(())
    /// ```
    ///
    /// # Errors
    /// None for gradients of f32 and f64.
    pub fn scale(&mut self, factor: f64) -> Result<()> {
        for g in self.by_leaf.values_mut() {
            let taken = std::mem::replace(g, RawTensor::full(&[], 0.0f32));
            *g = super::no_grad(|| arith::scalar_owned(BinaryOp::Mul, taken, factor))?;
        }
        Ok(())
    }

    /// Number of parameters with a gradient.
    pub fn len(&self) -> usize {
        self.by_leaf.len()
    }

    /// Whether no parameter has a gradient.
    pub fn is_empty(&self) -> bool {
        self.by_leaf.is_empty()
    }

    /// Adds the gradients of `other`: accumulation over several batches.
    ///
    /// # Errors
    /// When a parameter's two gradients differ in shape (they never do for gradients of one model).
    pub fn merge(&mut self, other: Self) -> Result<()> {
        for (id, g) in other.by_leaf {
            self.add(id, g)?;
        }
        Ok(())
    }

    pub(crate) fn add(&mut self, id: u64, g: RawTensor) -> Result<()> {
        let sum = match self.by_leaf.remove(&id) {
            Some(old) => arith::accumulate(old, &g)?,
            None => g,
        };
        self.by_leaf.insert(id, sum);
        Ok(())
    }

    /// Removes the gradient of the leaf with node `id`.
    pub(crate) fn take(&mut self, id: u64) -> Option<RawTensor> {
        self.by_leaf.remove(&id)
    }

    pub(crate) fn add_leaf(&mut self, leaf: &NodeRef, g: RawTensor) -> Result<()> {
        self.add(leaf.id(), g)
    }

    /// Every gradient, in order of the parameters' creation.
    pub fn iter_raw(&self) -> impl Iterator<Item = &RawTensor> {
        self.by_leaf.values()
    }

    /// Every gradient, replaceable (for clipping).
    pub fn iter_raw_mut(&mut self) -> impl Iterator<Item = &mut RawTensor> {
        self.by_leaf.values_mut()
    }
}

impl std::fmt::Debug for Grads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.by_leaf.values().map(RawTensor::shape)).finish()
    }
}
