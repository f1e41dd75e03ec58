//! [`Dropout`]: noise against overfitting.

use super::Module;
use super::cx::Cx;
use crate::dtype::Float;
use crate::error::Error;
use crate::tensor::Tensor;
use forge_axes::Axes;
use forge_macros::fallible;

/// In training, sets each element to 0 with a probability and divides the others by what is left of 1
/// ([Srivastava et al. 2014](https://jmlr.org/papers/v15/srivastava14a.html)); in evaluation, does nothing.
///
/// Which elements are dropped follows from the key of the [`Cx`] alone: name the layer where it stands in the model, and
/// it has its own random numbers, the same when a step is run again.
///
/// ```
/// use forge::nn::{Cx, Dropout};
/// use forge::prelude::*;
/// use forge::rng::Key;
/// axes! { In }
/// let (drop, x) = (Dropout::new(0.5), Tensor::<In>::ones(100));
/// let cx = Cx::train(Key::new(7).derive(3)); // step 3
/// let a = drop.forward(&x, &cx.at("first"));
/// assert!(a.to_vec().iter().all(|v| *v == 0.0 || *v == 2.0));
/// assert_eq!(a.to_vec(), drop.forward(&x, &cx.at("first")).to_vec());
/// assert_ne!(a.to_vec(), drop.forward(&x, &cx.at("second")).to_vec());
/// assert_eq!(drop.forward(&x, &Cx::eval()).to_vec(), x.to_vec());
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct Dropout {
    #[module(skip)]
    p: f64,
}

impl Dropout {
    /// Drops with probability `p`.
    ///
    /// # Errors
    /// Unless `0 <= p <= 1`.
    #[fallible]
    pub fn new(p: f64) -> Self {
        if !(0.0..=1.0).contains(&p) {
            return Err(Error::argument("Dropout", format!("the probability {p} is not between 0 and 1")));
        }
        Ok(Self { p })
    }

    /// The probability.
    pub fn p(&self) -> f64 {
        self.p
    }

    /// `x` with holes in training, `x` itself (no copy) in evaluation.
    pub fn forward<X: Axes, D: Float>(&self, x: &Tensor<X, D>, cx: &Cx<'_>) -> Tensor<X, D> {
        if cx.is_training() { x.dropout(self.p, cx.key()) } else { x.clone() }
    }
}
