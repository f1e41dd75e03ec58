//! Softmax and its logarithm.

use crate::gen_::{Gen, shuffled};
use crate::naive::Naive;
use crate::{Case, Grad, Sample};
use forge::{DynSoftmax, DynTensor};

fn softmax_of(x: &[f64], sink: f64) -> Vec<f64> {
    let m = x.iter().fold(sink, |m, v| m.max(*v));
    let sum = x.iter().map(|v| (v - m).exp()).sum::<f64>() + (sink - m).exp();
    x.iter().map(|v| if *v == f64::NEG_INFINITY { 0.0 } else { (v - m).exp() / sum }).collect()
}

fn plain(g: &mut Gen, log: bool) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = g.tensor(&axes, -4.0, 4.0);
    let axis = ["a", "b", "c"][g.below(3)];
    Sample::new(
        vec![x],
        move |x| if log { x[0].log_softmax(axis) } else { x[0].softmax(axis) },
        move |x| {
            x[0].lanes(axis, x[0].size(axis), |v| {
                let p = softmax_of(v, f64::NEG_INFINITY);
                if log { p.iter().map(|p| p.ln()).collect() } else { p }
            })
        },
    )
}

/// The slope of head `h`, from its definition.
fn slope(h: usize, heads: usize, max_bias: f64) -> f64 {
    let mut n = 1;
    while n * 2 <= heads {
        n *= 2;
    }
    if h < n {
        2f64.powf(-max_bias / n as f64).powf((h + 1) as f64)
    } else {
        2f64.powf(-max_bias / 2.0 / n as f64).powf((2 * (h - n) + 1) as f64)
    }
}

/// Every option in half of the trials; mask and sinks are differentiated too.
fn with_options(g: &mut Gen) -> Sample {
    let sizes = [("h", g.size1()), ("q", g.size()), ("k", g.size())];
    let axes = shuffled(g, &sizes);
    let size = |a: &str| axes.iter().find(|x| x.0 == a).unwrap().1;
    let x = g.tensor(&axes, -3.0, 3.0);
    let some: Vec<(&str, usize)> = axes.iter().copied().filter(|a| a.0 == "k" || g.coin()).collect();
    let mask = g.coin().then(|| {
        let order = shuffled(g, &some);
        g.tensor(&order, -2.0, 2.0)
    });
    let alibi = mask.is_some() && g.coin();
    let sinks = g.coin().then(|| g.tensor(&[("h", size("h"))], -2.0, 2.0));
    let causal = g.coin().then(|| g.below(4) as isize - 1);
    let scale = g.coin().then(|| g.f64(0.3, 2.0));
    let (has_mask, has_sinks) = (mask.is_some(), sinks.is_some());
    let inputs: Vec<DynTensor> = [Some(x), mask, sinks].into_iter().flatten().collect();
    let (m, s) = (has_mask.then_some(1), has_sinks.then_some(if has_mask { 2 } else { 1 }));
    Sample::new(
        inputs,
        move |x| {
            let how = DynSoftmax {
                scale,
                mask: m.map(|i| &x[i]),
                alibi: alibi.then_some((4.0, "h")),
                sinks: s.map(|i| &x[i]),
                causal: causal.map(|o| ("q", o)),
            };
            x[0].softmax_with("k", &how)
        },
        move |x| {
            let named = x[0].named();
            let names: Vec<&str> = named.iter().map(|a| a.0).collect();
            let at = |ix: &[usize], a: &str| ix[names.iter().position(|n| *n == a).unwrap()];
            Naive::from_fn(&named, |ix| {
                let lane: Vec<f64> = (0..x[0].size("k"))
                    .map(|k| {
                        let mut full = ix.to_vec();
                        full[x[0].position("k")] = k;
                        if causal.is_some_and(|o| k as isize > at(ix, "q") as isize + o) {
                            return f64::NEG_INFINITY;
                        }
                        let factor = if alibi { slope(at(ix, "h"), x[0].size("h"), 4.0) } else { 1.0 };
                        let bias = m.map_or(0.0, |m| factor * x[m].at_named(&names, &full));
                        x[0].at(&full) * scale.unwrap_or(1.0) + bias
                    })
                    .collect();
                let sink = s.map_or(f64::NEG_INFINITY, |s| x[s].at(&[at(ix, "h")]));
                softmax_of(&lane, sink)[at(ix, "k")]
            })
        },
    )
}

/// Outputs are at most 1 (logarithms about 10): a few rounding errors of the logits, the exponential and the sum.
pub fn cases() -> Vec<Case> {
    vec![
        Case { op: "softmax", ulps: 32.0, grad: Grad::Smooth, sample: |g| plain(g, false) },
        Case { op: "log_softmax", ulps: 16.0, grad: Grad::Smooth, sample: |g| plain(g, true) },
        Case { op: "softmax_with", ulps: 48.0, grad: Grad::Smooth, sample: with_options },
    ]
}
