//! Gradients against finite differences.

use super::{Grads, Tensors, leaf, no_grad};
use crate::DType;
use crate::error::{Error, Result};
use crate::nn::{Entry, EntryMut, Module, Path};
use crate::raw::RawTensor;
use crate::tensor::Scalar;

const OP: &str = "gradcheck";

/// Compares gradients with fourth-order central differences, in f64:
/// `(8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h`.
///
/// ```
/// use forge::autograd::GradCheck;
/// use forge::nn::Linear;
/// use forge::prelude::*;
/// use forge::rng::Key;
/// axes! { Batch, In, Out }
/// let x = Tensor::<(Batch, In), f64>::from_fn((3, 2), |i| (i as f64).sin());
/// let mut model = Linear::<In, Out, f64>::new((2, 2), Key::new(1));
/// let checked = GradCheck::new().model(&mut model, |m| m.forward(&x).tanh().square().mean_all())?;
/// assert_eq!(checked.elements, 6);
/// # Ok::<(), forge::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GradCheck {
    tolerance: f64,
    at_most: usize,
}

impl Default for GradCheck {
    fn default() -> Self {
        Self { tolerance: 1e-7, at_most: usize::MAX }
    }
}

/// What a check that held has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Checked {
    /// Derivatives that were compared.
    pub elements: usize,
    /// The largest difference, relative to the largest derivative of its input.
    pub worst: f64,
}

/// [`GradCheck`] with its defaults: every element of `inputs` (f64 tensors) at 1e-7 relative.
///
/// ```
/// use forge::autograd::gradcheck;
/// use forge::prelude::*;
/// axes! { In }
/// let x = Tensor::<In, f64>::from([0.3, -0.7]);
/// let y = Tensor::<In, f64>::from([1.5, 2.5]);
/// gradcheck(&(x, y), |(x, y)| x.tanh().mul(y).sum_all())?;
/// # Ok::<(), forge::Error>(())
/// ```
///
/// # Errors
/// As [`GradCheck::inputs`].
pub fn gradcheck<I: Tensors>(inputs: &I, f: impl Fn(&I) -> Scalar<f64>) -> Result<Checked> {
    GradCheck::new().inputs(inputs, f)
}

impl GradCheck {
    /// Every element at 1e-7 relative.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The largest difference allowed, relative to the largest derivative of the input in question.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Compares at most `n` elements of each input, evenly spread: a large model in little time.
    #[must_use]
    pub fn at_most(mut self, n: usize) -> Self {
        self.at_most = n;
        self
    }

    /// Checks the gradient of `f` in each of the tensors `inputs`, which hold f64.
    ///
    /// # Errors
    /// [`Error::Gradient`] names the first input and element that differ; [`Error::DType`] when an input holds f32.
    pub fn inputs<I: Tensors>(self, inputs: &I, f: impl Fn(&I) -> Scalar<f64>) -> Result<Checked> {
        let plain: Vec<RawTensor> = inputs.raws().iter().map(RawTensor::detach).collect();
        let leaves: Vec<RawTensor> = plain
            .iter()
            .map(|t| {
                let mut t = t.clone();
                t.node = Some(leaf());
                t
            })
            .collect();
        let loss = f(&I::from_raws(&mut leaves.clone().into_iter()));
        let grads = gradients(&loss)?;
        let mut checked = Checked::default();
        for (k, x) in leaves.iter().enumerate() {
            self.one(&format!("input {k}"), x, grads.get_raw(x), loss.item(), &mut checked, |moved| {
                let mut all = plain.clone();
                all[k] = moved;
                f(&I::from_raws(&mut all.into_iter())).item()
            })?;
        }
        Ok(checked)
    }

    /// Checks the gradient of `f` in every trainable parameter of `model`, which holds f64. The model is changed on the
    /// way and ends as it was.
    ///
    /// # Errors
    /// As [`Self::inputs`]; parameters are named by their paths.
    pub fn model<M: Module + ?Sized>(self, model: &mut M, f: impl Fn(&M) -> Scalar<f64>) -> Result<Checked> {
        let loss = f(model);
        let grads = gradients(&loss)?;
        let mut parameters: Vec<(String, RawTensor)> = Vec::new();
        model.visit(&mut Path::root(), &mut |path: &Path, e: Entry<'_>| {
            if e.is_trainable() {
                parameters.push((path.as_str().to_owned(), e.raw().clone()));
            }
        });
        let mut checked = Checked::default();
        for (name, x) in &parameters {
            let put = |model: &mut M, value: &RawTensor| {
                model.visit_mut(&mut Path::root(), &mut |path: &Path, mut e: EntryMut<'_>| {
                    if path.as_str() == name {
                        e.replace(value);
                    }
                });
            };
            let outcome = self.one(&format!("`{name}`"), x, grads.get_raw(x), loss.item(), &mut checked, |moved| {
                put(model, &moved);
                f(model).item()
            });
            put(model, x);
            outcome?;
        }
        Ok(checked)
    }

    /// Compares the gradient `analytic` of input `x` with differences of `at`, the function of this input alone.
    fn one(
        &self,
        name: &str,
        x: &RawTensor,
        analytic: Option<&RawTensor>,
        value: f64,
        checked: &mut Checked,
        mut at: impl FnMut(RawTensor) -> f64,
    ) -> Result<()> {
        if x.dtype() != DType::F64 {
            return Err(Error::DType { op: OP, expected: "f64", found: x.dtype() });
        }
        let values = x.to_vec::<f64>();
        let analytic = analytic.map_or_else(|| vec![0.0; values.len()], RawTensor::to_vec::<f64>);
        let scale = analytic.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        let count = values.len().min(self.at_most);
        for j in 0..count {
            let i = (j as u128 * values.len() as u128 / count as u128) as usize;
            let h = 1e-3 * values[i].abs().clamp(0.1, 4.0);
            let mut f = |d: f64| {
                let mut v = values.clone();
                v[i] += d;
                let moved = RawTensor::from_slice(x.shape(), &v)?;
                Ok::<f64, Error>(no_grad(|| at(moved)))
            };
            let numeric = (8.0 * (f(h)? - f(-h)?) - (f(2.0 * h)? - f(-2.0 * h)?)) / (12.0 * h);
            let error = (numeric - analytic[i]).abs();
            // What rounding of f alone can do to the difference quotient.
            let noise = 16.0 * f64::EPSILON * value.abs() / h;
            checked.elements += 1;
            if error > noise {
                checked.worst = checked.worst.max(error / scale.max(f64::MIN_POSITIVE));
            }
            if error.is_nan() || error > self.tolerance * scale + noise {
                let place = place(x.shape(), i);
                return Err(Error::Gradient {
                    op: OP,
                    what: format!("{name} at {place}: backward says {:e}, differences say {numeric:e}", analytic[i]),
                });
            }
        }
        Ok(())
    }
}

fn gradients(loss: &Scalar<f64>) -> Result<Grads> {
    match loss.backward() {
        // A loss that depends on no input has the gradient 0.
        Err(Error::NoGraph) => Ok(Grads::default()),
        other => other,
    }
}

/// `[1, 0]`: element `i` of a tensor of this shape.
fn place(shape: &[usize], mut i: usize) -> String {
    let mut at = vec![0; shape.len()];
    for a in (0..shape.len()).rev() {
        at[a] = i % shape[a];
        i /= shape[a];
    }
    format!("{at:?}")
}
