//! Gated activations.

use crate::gen_::{Gen, shuffled};
use crate::naive::Naive;
use crate::{Case, Grad, Sample};
use forge::{DynTensor, Error};

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn gelu(x: f64) -> f64 {
    // (1 + tanh u) / 2 is sigmoid(2 u), without cancellation.
    x * sigmoid(2.0 * 0.797_884_560_8 * (x + 0.044715 * x * x * x))
}

fn gated(g: &mut Gen, run: fn(&DynTensor, &DynTensor) -> Result<DynTensor, Error>, f: fn(f64, f64) -> f64) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let u = g.tensor(&axes, -4.0, 4.0);
    let some: Vec<(&str, usize)> = axes.into_iter().filter(|_| g.coin()).collect();
    let order = shuffled(g, &some);
    let gate = g.tensor(&order, -4.0, 4.0);
    Sample::new(
        vec![u, gate],
        move |x| run(&x[0], &x[1]),
        move |x| {
            let named = x[0].named();
            let names: Vec<&str> = named.iter().map(|a| a.0).collect();
            Naive::from_fn(&named, |ix| f(x[0].at(ix), x[1].at_named(&names, ix)))
        },
    )
}

fn halves(
    g: &mut Gen,
    run: fn(&DynTensor, &str) -> Result<DynTensor, Error>,
    f: fn(first: f64, second: f64) -> f64,
) -> Sample {
    let axes = [("a", 2 * g.size()), ("b", 2 * g.size()), ("c", 2 * g.size())];
    let (axis, n) = axes[g.below(3)];
    let x = g.tensor(&axes, -4.0, 4.0);
    Sample::new(
        vec![x],
        move |x| run(&x[0], axis),
        move |x| {
            let mut y = x[0].lanes(axis, n / 2, |v| (0..n / 2).map(|i| f(v[i], v[n / 2 + i])).collect());
            let p = y.position(axis);
            y.axes[p] = "half".to_owned();
            y
        },
    )
}

/// A few rounding errors of the activation, in units of the largest product.
pub fn cases() -> Vec<Case> {
    let case = |op, sample| Case { op, ulps: 8.0, grad: Grad::Smooth, sample };
    vec![
        case("glu", |g| gated(g, |u, g| u.glu(g), |u, g| u * sigmoid(g))),
        case("swiglu", |g| gated(g, |u, g| u.swiglu(g), |u, g| u * g * sigmoid(g))),
        // `1 + tanh` cancels for negative gates, by up to 5 bits in the range drawn here, and a draw may hold no others.
        Case { ulps: 256.0, ..case("geglu", |g| gated(g, |u, g| u.geglu(g), |u, g| u * gelu(g))) },
        case("situ", |g| {
            gated(g, |u, g| u.situ(g), |u, g| 25.0 * (u / 25.0).tanh() * 4.0 * (g / 4.0).tanh() * sigmoid(g))
        }),
        case("split_glu", |g| halves(g, |x, a| x.split_glu(a, "half"), |a, b| a * sigmoid(b))),
        case("split_swiglu", |g| halves(g, |x, a| x.split_swiglu(a, "half"), |a, b| b * a * sigmoid(a))),
    ]
}
