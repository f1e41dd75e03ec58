//! Layers: against plain loops, under any other axes, with gradients for every parameter, by their names.

use forge::nn::Module;
use forge::prelude::*;
use forge::rng::Key;

mod attention;
mod conv;
mod dropout;
mod embedding;
mod lstm;
mod mlp;
mod norms;

axes! { Doc }

/// Plain data that threads may share.
fn shared<T: Send + Sync + Clone>() {}

/// Numbers without pattern, of magnitude about 1.
fn noise<X: Axes + Distinct>(dims: X::Dims, seed: u64) -> Tensor<X, f64> {
    Tensor::from_fn(dims, |i| Key::new(seed).normal_at(i as u64))
}

/// The names of all tensors, in order.
fn names(m: &impl Module) -> Vec<String> {
    m.state_dict().into_keys().collect()
}

fn close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance * (1.0 + w.abs()), "element {i}: {g}, not {w}");
    }
}

/// Every parameter has a gradient, and it is the slope of the loss: checked at a few elements of each by central
/// differences. With a step of 1e-5 both truncation and rounding leave about 1e-9 for losses and parameters of order 1.
fn check_gradients<M: Module>(m: &mut M, loss: impl Fn(&M) -> Scalar<f64>) {
    let grads = loss(m).backward().expect("the loss depends on parameters");
    let parameters = m.parameters();
    assert_eq!(grads.len(), parameters.len(), "a parameter has no gradient");
    for (name, p) in parameters {
        let g = grads.get_dyn(&p).unwrap_or_else(|| panic!("`{name}` has no gradient")).to_vec::<f64>().unwrap();
        assert!(g.iter().any(|g| *g != 0.0), "the gradient of `{name}` is all zeros");
        let old = p.detach();
        let values = old.to_vec::<f64>().unwrap();
        let axes: Vec<&str> = old.axes().iter().map(forge::DynAxis::name).collect();
        let mut at = |i: usize, step: f64| {
            let mut v = values.clone();
            v[i] += step;
            let v = DynTensor::from_vec(&axes, old.shape(), v).unwrap();
            m.load_state_dict_partial(&[(name.clone(), v)].into()).unwrap();
            loss(m).item()
        };
        for k in 0..5 {
            let i = k * 7919 % values.len();
            let slope = (at(i, 1e-5) - at(i, -1e-5)) / 2e-5;
            assert!(
                (slope - g[i]).abs() <= 1e-6 * (1.0 + slope.abs()),
                "`{name}`[{i}]: {} is not the slope {slope}",
                g[i]
            );
        }
        m.load_state_dict_partial(&[(name.clone(), old)].into()).unwrap();
    }
}

/// A loss that weighs every element differently, so that no gradient cancels.
fn weigh<X: Axes>(y: &Tensor<X, f64>) -> Scalar<f64> {
    let w = Tensor::<Doc, f64>::from_vec(y.len(), (0..y.len()).map(|i| (i as f64 * 0.37).sin()).collect());
    (&y.flatten(Doc) * &w).sum_all()
}
