//! Reductions.

use crate::gen_::Gen;
use crate::naive::Naive;
use crate::{Case, Grad, Sample};
use forge::{DynTensor, Error};

fn one_axis(g: &mut Gen, run: fn(&DynTensor, &str) -> Result<DynTensor, Error>, f: fn(&[f64]) -> f64) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = g.tensor(&axes, -2.0, 2.0);
    let axis = ["a", "b", "c"][g.below(3)];
    Sample::new(vec![x], move |x| run(&x[0], axis), move |x| x[0].reduce(axis, f))
}

fn all(g: &mut Gen, run: fn(&DynTensor) -> Result<DynTensor, Error>, f: fn(&[f64]) -> f64) -> Sample {
    let axes = [("a", g.size()), ("b", g.size())];
    let x = g.tensor(&axes, 0.1, 2.0);
    Sample::new(vec![x], move |x| run(&x[0]), move |x| Naive::from_fn(&[], |_| f(&x[0].data)))
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// Sums of at most 6 (90 in large trials) terms; the largest output is of the size of one term, so n rounding errors
/// of it are allowed.
pub fn cases() -> Vec<Case> {
    vec![
        Case {
            op: "sum",
            ulps: 24.0,
            grad: Grad::Smooth,
            sample: |g| one_axis(g, |x, a| x.sum(a), |v| v.iter().sum()),
        },
        Case { op: "mean", ulps: 24.0, grad: Grad::Smooth, sample: |g| one_axis(g, |x, a| x.mean(a), mean) },
        Case {
            op: "sum_all",
            ulps: 24.0,
            grad: Grad::Smooth,
            sample: |g| all(g, DynTensor::sum_all, |v| v.iter().sum()),
        },
        Case { op: "mean_all", ulps: 24.0, grad: Grad::Smooth, sample: |g| all(g, DynTensor::mean_all, mean) },
    ]
}
