//! Norms and per-channel functions.

use crate::gen_::{Gen, shuffled};
use crate::naive::Naive;
use crate::{Case, Grad, Sample};
use forge::{DynTensor, Error};

type Norm = fn(&DynTensor, &str, Option<&DynTensor>, Option<&DynTensor>) -> Result<DynTensor, Error>;

/// Weight and bias each in half of the trials.
fn normed(g: &mut Gen, run: Norm, lane: fn(&[f64]) -> Vec<f64>) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let (axis, n) = axes[g.below(3)];
    let x = g.tensor(&axes, -2.0, 2.0);
    let w = g.coin().then(|| g.tensor(&[(axis, n)], -1.5, 1.5));
    let b = g.coin().then(|| g.tensor(&[(axis, n)], -1.5, 1.5));
    let (iw, ib) = (w.is_some().then_some(1), b.is_some().then_some(if w.is_some() { 2 } else { 1 }));
    let inputs: Vec<DynTensor> = [Some(x), w, b].into_iter().flatten().collect();
    Sample::new(
        inputs,
        move |x| run(&x[0], axis, iw.map(|i| &x[i]), ib.map(|i| &x[i])),
        move |x| {
            x[0].lanes(axis, n, |v| {
                let y = lane(v).into_iter().enumerate();
                y.map(|(i, y)| y * iw.map_or(1.0, |k| x[k].data[i]) + ib.map_or(0.0, |k| x[k].data[i])).collect()
            })
        },
    )
}

fn rms(v: &[f64]) -> Vec<f64> {
    let r = (v.iter().map(|x| x * x).sum::<f64>() / v.len() as f64 + 0.1).sqrt();
    v.iter().map(|x| x / r).collect()
}

fn layer(v: &[f64]) -> Vec<f64> {
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    let r = (v.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n + 0.1).sqrt();
    v.iter().map(|x| (x - mean) / r).collect()
}

fn l2(g: &mut Gen) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let (axis, n) = axes[g.below(3)];
    let x = g.tensor(&axes, -2.0, 2.0);
    Sample::new(
        vec![x],
        move |x| x[0].l2_normalize(axis, 0.1),
        move |x| {
            x[0].lanes(axis, n, |v| {
                let r = (v.iter().map(|x| x * x).sum::<f64>() + 0.1).sqrt();
                v.iter().map(|x| x / r).collect()
            })
        },
    )
}

/// Two examples axes, channels in groups, and one or two axes of space, in any order.
fn group(g: &mut Gen) -> Sample {
    let groups = 1 + g.below(3);
    let channels = groups * (1 + g.below(3));
    let sizes = [("n", g.size()), ("c", channels), ("t", g.size()), ("u", 1 + g.below(3))];
    let axes = shuffled(g, &sizes);
    let space: &[&str] = [&["t"][..], &["u", "t"], &[]][g.below(3)];
    let x = g.tensor(&axes, -2.0, 2.0);
    let w = g.tensor(&[("c", channels)], -1.5, 1.5);
    let b = g.tensor(&[("c", channels)], -1.5, 1.5);
    Sample::new(
        vec![x, w, b],
        move |x| x[0].group_norm("c", groups, space, 0.1, Some(&x[1]), Some(&x[2])),
        move |x| {
            let (named, per) = (x[0].named(), channels / groups);
            let group_of = |ix: &[usize]| ix[x[0].position("c")] / per;
            let same = |a: &[usize], b: &[usize]| {
                let rest = named.iter().enumerate().all(|(i, n)| n.0 == "c" || space.contains(&n.0) || a[i] == b[i]);
                rest && group_of(a) == group_of(b)
            };
            Naive::from_fn(&named, |ix| {
                let mut members = Vec::new();
                crate::naive::each(&x[0].shape, |other| {
                    if same(ix, other) {
                        members.push(x[0].at(other));
                    }
                });
                let n = members.len() as f64;
                let mean = members.iter().sum::<f64>() / n;
                let var = members.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
                let c = ix[x[0].position("c")];
                (x[0].at(ix) - mean) / (var + 0.1).sqrt() * x[1].data[c] + x[2].data[c]
            })
        },
    )
}

fn cosine(g: &mut Gen) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let (axis, n) = axes[g.below(3)];
    let x = g.tensor_off_zero(&axes, 0.3, 2.0);
    let some: Vec<(&str, usize)> = axes.into_iter().filter(|a| a.0 == axis || g.coin()).collect();
    let order = shuffled(g, &some);
    let y = g.tensor_off_zero(&order, 0.3, 2.0);
    Sample::new(
        vec![x, y],
        move |x| x[0].cosine_similarity(&x[1], axis, 1e-8),
        move |x| {
            let named = x[0].named();
            let names: Vec<&str> = named.iter().map(|a| a.0).collect();
            let p = x[0].position(axis);
            let kept: Vec<(&str, usize)> = named.iter().copied().filter(|a| a.0 != axis).collect();
            Naive::from_fn(&kept, |ix| {
                let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
                for k in 0..n {
                    let mut full = ix.to_vec();
                    full.insert(p, k);
                    let (a, b) = (x[0].at(&full), x[1].at_named(&names, &full));
                    (xy, xx, yy) = (xy + a * b, xx + a * a, yy + b * b);
                }
                xy / f64::max(xx.sqrt() * yy.sqrt(), 1e-8)
            })
        },
    )
}

/// A function of an element and one or two parameters that have some of its axes.
fn by_channel<const N: usize>(
    g: &mut Gen,
    lo: f64,
    run: fn(&DynTensor, &[DynTensor]) -> Result<DynTensor, Error>,
    f: fn(f64, [f64; N]) -> f64,
) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let mut inputs = vec![g.tensor_off_zero(&axes, 0.05, 3.0)];
    for _ in 0..N {
        let some: Vec<(&str, usize)> = axes.into_iter().filter(|_| g.coin()).collect();
        let order = shuffled(g, &some);
        inputs.push(g.tensor(&order, lo, 1.5));
    }
    Sample::new(
        inputs,
        move |x| run(&x[0], &x[1..]),
        move |x| {
            let named = x[0].named();
            let names: Vec<&str> = named.iter().map(|a| a.0).collect();
            Naive::from_fn(&named, |ix| f(x[0].at(ix), std::array::from_fn(|k| x[k + 1].at_named(&names, ix))))
        },
    )
}

/// Statistics of at most 6 numbers below 2; the root is at least `sqrt(0.1)`, so that each rounding error grows by at
/// most about 3, weights of 1.5 on top.
pub fn cases() -> Vec<Case> {
    vec![
        Case {
            op: "rms_norm",
            ulps: 24.0,
            grad: Grad::Smooth,
            sample: |g| normed(g, |x, a, w, b| x.rms_norm(a, 0.1, w, b), rms),
        },
        Case {
            op: "layer_norm",
            ulps: 48.0,
            grad: Grad::Smooth,
            sample: |g| normed(g, |x, a, w, b| x.layer_norm(a, 0.1, w, b), layer),
        },
        Case { op: "l2_normalize", ulps: 24.0, grad: Grad::Smooth, sample: l2 },
        Case { op: "group_norm", ulps: 16.0, grad: Grad::Smooth, sample: group },
        Case { op: "cosine_similarity", ulps: 32.0, grad: Grad::Smooth, sample: cosine },
        Case {
            op: "snake",
            ulps: 16.0,
            grad: Grad::Smooth,
            sample: |g| {
                by_channel::<2>(g, 0.2, |x, p| x.snake(&p[0], &p[1]), |x, [a, b]| x + b * (a * x).sin() * (a * x).sin())
            },
        },
        Case {
            op: "prelu",
            ulps: 2.0,
            grad: Grad::Smooth,
            sample: |g| by_channel::<1>(g, -1.5, |x, p| x.prelu(&p[0]), |x, [a]| if x < 0.0 { a * x } else { x }),
        },
        Case {
            op: "channel_affine",
            ulps: 4.0,
            grad: Grad::Smooth,
            sample: |g| by_channel::<2>(g, -1.5, |x, p| x.channel_affine(&p[0], &p[1]), |x, [a, b]| x * a + b),
        },
    ]
}
