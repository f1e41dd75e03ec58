//! [`Param`]: a tensor that training changes.

use super::module::{Entry, EntryMut, Module, Path, Visitor, VisitorMut};
use crate::DType;
use crate::autograd::{NodeRef, leaf};
use crate::dtype::{Dtype, Element, Float};
use crate::error::{Error, Result};
use crate::raw::cast;
use crate::tensor::{Tensor, names, wrap};
use forge_axes::Axes;
use std::fmt;
use std::ops::Deref;

/// A trainable tensor: the handle by which gradients, optimizers and state dicts know it.
///
/// It is used like the tensor it holds. An optimizer replaces its values (in place when nobody else shares the memory);
/// the handle stays the same, so the gradients of the next pass find it. A clone is a new parameter with equal values.
///
/// A 16-bit parameter is trained through [`Self::wide`]; the optimizer keeps an f32 master of it.
///
/// ```
/// use forge::prelude::*;
/// use forge::nn::Param;
/// axes! { Class }
/// let bias = Param::new(Tensor::<Class>::from([1.0, 2.0]));
/// let grads = bias.square().sum_all().backward()?;
/// assert_eq!(grads.get(&bias).unwrap().to_vec(), [2.0, 4.0]);
/// # Ok::<(), forge::Error>(())
/// ```
pub struct Param<X: Axes, D: Dtype = f32> {
    tensor: Tensor<X, D>,
    leaf: NodeRef,
    trainable: bool,
}

impl<X: Axes, D: Dtype> Param<X, D> {
    fn with(tensor: Tensor<X, D>, trainable: bool) -> Self {
        let mut p = Self { tensor, leaf: leaf(), trainable };
        p.attach();
        p
    }

    /// Gives the tensor this parameter's node, or none when it is frozen or of a dtype without gradients.
    fn attach(&mut self) {
        let on = self.trainable && D::DTYPE.is_differentiable();
        self.tensor.raw_mut().node = on.then(|| self.leaf.clone());
    }

    /// Whether gradients are collected for it.
    pub fn is_trainable(&self) -> bool {
        self.trainable
    }

    /// Makes it a constant, or trainable again.
    pub fn set_trainable(&mut self, on: bool) {
        self.trainable = on;
        self.attach();
    }

    /// The values as a plain tensor, outside the graph.
    pub fn value(&self) -> Tensor<X, D> {
        self.tensor.detach()
    }

    /// Replaces the values. The memory is shared, not copied.
    ///
    /// # Errors
    /// When an axis has another size.
    pub fn set(&mut self, value: &Tensor<X, D>) -> Result<()> {
        if let Some(a) = (0..X::RANK).find(|&a| self.shape()[a] != value.shape()[a]) {
            return Err(names::<X, X>().mismatch("set", (self.tensor.raw(), a), (value.raw(), a)));
        }
        self.tensor = value.detach();
        self.attach();
        Ok(())
    }
}

impl<X: Axes, D: Float> Param<X, D> {
    /// A trainable parameter that starts with the values of `value`.
    pub fn new(value: Tensor<X, D>) -> Self {
        Self::with(value.detach(), true)
    }

    /// A parameter that is not trained.
    pub fn frozen(value: Tensor<X, D>) -> Self {
        Self::with(value.detach(), false)
    }

    /// The values in f32, with the gradient going to this parameter: how a 16-bit parameter is used in training.
    ///
    /// # Errors
    /// None for floats.
    pub fn wide(&self) -> Result<Tensor<X>, Error> {
        if D::DTYPE.is_differentiable() {
            return Ok(wrap(cast::to(self.tensor.raw(), DType::F32)?));
        }
        let mut raw = cast::to(&self.tensor.raw().detach(), DType::F32)?;
        raw.node = self.trainable.then(|| self.leaf.clone());
        Ok(wrap(raw))
    }
}

impl<X: Axes, D: Dtype> Deref for Param<X, D> {
    type Target = Tensor<X, D>;
    fn deref(&self) -> &Tensor<X, D> {
        &self.tensor
    }
}

impl<X: Axes, D: Dtype> Clone for Param<X, D> {
    fn clone(&self) -> Self {
        Self::with(self.tensor.detach(), self.trainable)
    }
}

impl<X: Axes, D: Element> fmt::Debug for Param<X, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}Param of {:?}", if self.trainable { "" } else { "frozen " }, self.tensor)
    }
}

impl<X: Axes, D: Dtype> Module for Param<X, D> {
    fn visit(&self, path: &mut Path, visitor: &mut dyn Visitor) {
        visitor.entry(path, Entry::parameter(self.tensor.raw(), X::KEYS, &self.leaf, self.trainable));
    }
    fn visit_mut(&mut self, path: &mut Path, visitor: &mut dyn VisitorMut) {
        let entry = EntryMut::parameter(self.tensor.raw_mut(), X::KEYS, &self.leaf, &mut self.trainable);
        visitor.entry(path, entry);
    }
}

/// A plain tensor in a module is a buffer: part of the state, never trained.
impl<X: Axes, D: Dtype> Module for Tensor<X, D> {
    fn visit(&self, path: &mut Path, visitor: &mut dyn Visitor) {
        visitor.entry(path, Entry::buffer(self.raw(), X::KEYS));
    }
    fn visit_mut(&mut self, path: &mut Path, visitor: &mut dyn VisitorMut) {
        visitor.entry(path, EntryMut::buffer(self.raw_mut(), X::KEYS));
    }
}
