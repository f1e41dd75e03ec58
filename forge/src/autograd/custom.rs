//! Functions with a derivative of their own.

use super::Tensors;
use super::node::{record_many, tracks};
use crate::dtype::Differentiable;
use crate::error::Error;
use crate::raw::RawTensor;
use crate::tensor::{Tensor, wrap};
use forge_axes::Axes;

/// `forward(inputs)`, with the gradient that `backward` gives.
///
/// `backward` sees the inputs, the output and the gradient of the output, and returns a gradient for every input, with the
/// input's axes and sizes. It runs as plain code: what it returns is not differentiated further.
///
/// ```
/// use forge::prelude::*;
/// use forge::autograd::custom_vjp;
/// axes! { In }
/// // Rounding whose gradient passes straight through.
/// let x = Tensor::<In>::from([0.2, 0.7]).requires_grad();
/// let y = custom_vjp(x.clone(), |x: &Tensor<In>| x.round(), |_x, _y, g| g.clone());
/// assert_eq!(y.to_vec(), [0.0, 1.0]);
/// assert_eq!(y.sum_all().backward()?.get(&x).unwrap().to_vec(), [1.0, 1.0]);
/// # Ok::<(), forge::Error>(())
/// ```
///
/// # Errors
/// The backward pass fails when a gradient has other sizes than its input.
pub fn custom_vjp<I, Y, D>(
    inputs: I,
    forward: impl FnOnce(&I) -> Tensor<Y, D>,
    backward: impl Fn(&I, &Tensor<Y, D>, &Tensor<Y, D>) -> I + Send + Sync + 'static,
) -> Tensor<Y, D>
where
    I: Tensors,
    Y: Axes,
    D: Differentiable,
{
    let raws = inputs.raws();
    let plain: Vec<RawTensor> = raws.iter().map(RawTensor::detach).collect();
    let y = super::no_grad(|| forward(&I::from_raws(&mut plain.clone().into_iter())));
    let refs: Vec<&RawTensor> = raws.iter().collect();
    if !tracks(&refs) {
        return y;
    }
    let out = y.raw().detach();
    wrap(record_many(y.into_raw().detach(), &refs, move |p, grads| {
        let x = I::from_raws(&mut plain.clone().into_iter());
        let g = super::no_grad(|| backward(&x, &wrap(out.clone()), &wrap(p.grad.detach())));
        for (i, (slot, g)) in grads.iter_mut().zip(g.raws()).enumerate() {
            if g.shape() != plain[i].shape() || g.dtype() != plain[i].dtype() {
                return Err(Error::Gradient {
                    op: "custom_vjp",
                    what: format!(
                        "the gradient of input {i} is {} {:?}, the input is {} {:?}",
                        g.dtype(),
                        g.shape(),
                        plain[i].dtype(),
                        plain[i].shape()
                    ),
                });
            }
            if p.needs(i) {
                *slot = Some(g.detach());
            }
        }
        Ok(())
    }))
}
