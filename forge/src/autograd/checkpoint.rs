//! Activation checkpointing: recompute instead of remember.

use super::backward::{Backward, backward_above};
use super::node::{leaf, next_id, probe, record, record_many, with_grad};
use super::{Tensors, no_grad};
use crate::error::Error;
use crate::raw::RawTensor;
use std::sync::{Arc, Mutex, PoisonError};

const OP: &str = "checkpoint";

/// Runs `f` without remembering its inside; the backward pass runs it again.
///
/// Memory falls to the inputs and outputs, time rises by one forward pass. Results and gradients have the same bits as
/// without it, so `f` must be a pure function (dropout is: its mask follows from a key). It may take and return several
/// tensors, may be nested, and may use parameters that it captures: their gradients arrive like any others. A value that
/// is itself computed from parameters must be passed in, not captured; the backward pass refuses it otherwise.
///
/// ```
/// use forge::prelude::*;
/// use forge::autograd::checkpoint;
/// axes! { In, Hidden }
/// let w = Tensor::<(In, Hidden)>::ones((2, 3)).requires_grad();
/// let x = Tensor::<In>::from([1.0, 2.0]).requires_grad();
/// let captured = w.clone();
/// let y = checkpoint(x.clone(), move |x: Tensor<In>| x.dot(&captured, In).tanh());
/// let grads = y.sum_all().backward()?;
/// assert!(grads.get(&w).is_some() && grads.get(&x).is_some());
/// # Ok::<(), forge::Error>(())
/// ```
pub fn checkpoint<I, O>(inputs: I, f: impl Fn(I) -> O + Send + Sync + 'static) -> O
where
    I: Tensors,
    O: Tensors,
{
    let raws = inputs.raws();
    let detached: Vec<RawTensor> = raws.iter().map(RawTensor::detach).collect();
    let enabled = super::grad_enabled();
    let run = move |raws: Vec<RawTensor>| f(I::from_raws(&mut raws.into_iter())).raws();
    // Does anything inside want a gradient? The probe sees the parameters that `f` captured.
    let (outputs, captured) = probe(|| run(detached.clone()));
    if !enabled || !(captured || raws.iter().any(RawTensor::requires_grad)) {
        return O::from_raws(&mut outputs.into_iter().map(|o| o.detach()));
    }
    let wanted: Vec<bool> = raws.iter().map(RawTensor::requires_grad).collect();
    // One node stands for the whole function. Each output has a node of its own that lays its gradient into a slot.
    let slots: Slots = Arc::new(Mutex::new(vec![None; outputs.len()]));
    let token = {
        let slots = slots.clone();
        // The token's inputs: the tensors passed in, and an anchor that keeps it in the graph when none is tracked.
        let mut anchor = RawTensor::full(&[], 0.0f32);
        anchor.node = Some(leaf());
        let mut inputs: Vec<&RawTensor> = raws.iter().collect();
        inputs.push(&anchor);
        record_many(RawTensor::full(&[], 0.0f32), &inputs, move |p, out| {
            let seeds = std::mem::take(&mut *slots.lock().unwrap_or_else(PoisonError::into_inner));
            *slots.lock().unwrap_or_else(PoisonError::into_inner) = vec![None; seeds.len()];
            if super::grad_enabled() {
                return Err(Error::Gradient {
                    op: OP,
                    what: "gradients of gradients do not pass a checkpoint; call the function plainly".into(),
                });
            }
            let floor = next_id();
            let leaves: Vec<RawTensor> = detached
                .iter()
                .zip(&wanted)
                .map(|(t, &w)| {
                    let mut t = t.detach();
                    t.node = w.then(leaf);
                    t
                })
                .collect();
            let again = with_grad(|| run(leaves.clone()));
            let roots: Vec<(&RawTensor, RawTensor)> =
                again.iter().zip(seeds).filter_map(|(y, g)| Some((y, g?))).filter(|(y, _)| y.requires_grad()).collect();
            if roots.is_empty() {
                return Ok(());
            }
            let mut grads = no_grad(|| backward_above(&roots, Backward::default(), floor))?;
            for (o, t) in out.iter_mut().zip(&leaves) {
                *o = t.node.as_ref().and_then(|n| grads.take(n.id()));
            }
            // What is left belongs to parameters that `f` captured.
            p.extra(grads)
        })
    };
    let outputs = outputs.into_iter().enumerate().map(|(i, y)| {
        let slots = slots.clone();
        record(y.detach(), [&token], move |p| {
            let mut s = slots.lock().unwrap_or_else(PoisonError::into_inner);
            s[i] = Some(p.grad.detach());
            Ok([Some(RawTensor::full(&[], 0.0f32))])
        })
    });
    O::from_raws(&mut outputs.collect::<Vec<_>>().into_iter())
}

/// Gradients of the outputs, as they arrive.
type Slots = Arc<Mutex<Vec<Option<RawTensor>>>>;
