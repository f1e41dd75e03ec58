//! Differentiating a fused operation twice.
//!
//! A fused kernel computes gradients that no graph leads through. When the backward pass itself is recorded, the
//! operation is built again from smaller recorded ones, and the gradients are those of that small graph.

use super::node::{NodeRef, record};
use crate::error::Result;
use crate::raw::{RawTensor, arith};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Gradients of `f(inputs)` in each input that has a graph, for the gradient `g` of the output, as recorded values.
///
/// `f` computes the operation from recorded ones. Call this where recording is on.
pub(crate) fn pull_composed<const N: usize>(
    inputs: [&RawTensor; N],
    g: &RawTensor,
    f: impl FnOnce(&[RawTensor]) -> Result<RawTensor>,
) -> Result<[Option<RawTensor>; N]> {
    let mut grads = pull_composed_list(&inputs, g, f)?.into_iter();
    Ok(std::array::from_fn(|_| grads.next().flatten()))
}

/// [`pull_composed`] for any number of inputs.
pub(crate) fn pull_composed_list(
    inputs: &[&RawTensor],
    g: &RawTensor,
    f: impl FnOnce(&[RawTensor]) -> Result<RawTensor>,
) -> Result<Vec<Option<RawTensor>>> {
    // Stand-ins: the walk below ends at their nodes, and what it gives still leads to the inputs themselves.
    let ends: Vec<RawTensor> = inputs
        .iter()
        .map(|x| if x.node.is_some() { record(x.detach(), [x], |p| Ok([Some(p.grad.clone())])) } else { (*x).clone() })
        .collect();
    let y = f(&ends)?;
    let mut grads = vec![None; inputs.len()];
    // Nodes by number: an operation has a higher one than all its inputs, so the last is always ready.
    let mut ready: BTreeMap<u64, (NodeRef, RawTensor)> = BTreeMap::new();
    if let Some(root) = &y.node {
        ready.insert(root.id(), (root.clone(), g.clone()));
    }
    while let Some((id, (node, grad))) = ready.pop_last() {
        if let Some(i) = ends.iter().position(|e| e.node.as_ref().is_some_and(|n| n.id() == id)) {
            grads[i] = Some(grad);
            continue;
        }
        let mut out = vec![None; node.inputs().len()];
        // Side gradients are those of checkpoints, of which these small graphs have none.
        node.pull(&grad, &mut out, &RefCell::default())?;
        for (input, g) in node.inputs().iter().zip(out) {
            let (Some(input), Some(g)) = (input, g) else { continue };
            let sum = match ready.remove(&input.id()) {
                Some((_, old)) => arith::accumulate(old, &g)?,
                None => g,
            };
            ready.insert(input.id(), (input.clone(), sum));
        }
    }
    Ok(grads)
}
