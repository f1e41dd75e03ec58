//! One axis taken apart.

use super::{At, RawTensor, assemble, by_dtype, shape};
use crate::autograd::{record, tracks};
use crate::error::Result;
use std::sync::{Arc, Mutex, PoisonError};

/// Every position of an axis as a tensor of its own, without it.
///
/// The gradients of the parts are laid side by side at once when all have come: taking `n` positions out of a tensor
/// costs the backward pass one tensor of its size, not `n`.
pub fn unbind(x: &RawTensor, at: At) -> Result<Vec<RawTensor>> {
    let (n, axis) = (x.shape()[at.axis], at.axis);
    let plain = x.detach();
    let parts = (0..n).map(|i| shape::select(&plain, at, i as isize)).collect::<Result<Vec<_>>>()?;
    if !tracks(&[x]) || n == 0 {
        return Ok(parts);
    }
    // One node stands for the whole; each part has a node above it that lays its gradient into a slot. What goes from
    // those to this one is a number without meaning: it says that they have run.
    let slots = Arc::new(Mutex::new(vec![None; n]));
    let whole = {
        let (slots, size, dtype) = (slots.clone(), parts[0].shape().to_vec(), x.dtype());
        record(RawTensor::full(&[], 0.0f32), [x], move |_| {
            let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
            let grads = std::mem::replace(&mut *slots, vec![None; n]);
            drop(slots);
            // A part that the loss does not depend on.
            let zeros = by_dtype!(dtype, T => RawTensor::full::<T>(&size, T::default()));
            let grads: Vec<&RawTensor> =
                grads.iter().map(|g: &Option<RawTensor>| g.as_ref().unwrap_or(&zeros)).collect();
            let g = assemble::stack(&grads, &[])?;
            let order: Vec<u8> = (1..=axis).chain([0]).chain(axis + 1..g.rank()).map(|a| a as u8).collect();
            Ok([Some(shape::permute(&g, &order))])
        })
    };
    let part = |(i, y): (usize, RawTensor)| {
        let slots = slots.clone();
        record(y, [&whole], move |p| {
            slots.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(p.grad.clone());
            Ok([Some(RawTensor::full(&[], 0.0f32))])
        })
    };
    Ok(parts.into_iter().enumerate().map(part).collect())
}
