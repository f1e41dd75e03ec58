//! Sorting and the k best.

use crate::gen_::Gen;
use crate::naive::Naive;
use crate::{Case, Exempt, Grad, Sample};
use forge::{DynTensor, Error};

/// The positions that put a lane in order: stable, NaN last.
fn order(lane: &[f64], falling: bool) -> Vec<usize> {
    let mut at: Vec<usize> = (0..lane.len()).collect();
    at.sort_by(|&i, &j| match (lane[i].is_nan(), lane[j].is_nan()) {
        (false, false) if falling => lane[j].partial_cmp(&lane[i]).unwrap(),
        (false, false) => lane[i].partial_cmp(&lane[j]).unwrap(),
        (a, b) => a.cmp(&b),
    });
    at
}

/// What is taken of a lane, given its order.
type Take = fn(&[f64], &[usize]) -> Vec<f64>;

fn values(lane: &[f64], at: &[usize]) -> Vec<f64> {
    at.iter().map(|&i| lane[i]).collect()
}

fn places(_: &[f64], at: &[usize]) -> Vec<f64> {
    at.iter().map(|&i| i as f64).collect()
}

/// An operation along one axis with up to two outputs; `k` elements stay, along the axis `into`.
fn ordered(
    g: &mut Gen,
    coarse: bool,
    takes: &'static [Take],
    falling: bool,
    k: impl Fn(&mut Gen, usize) -> usize,
    into: Option<&'static str>,
    run: impl Fn(&DynTensor, &str, usize) -> Result<Vec<DynTensor>, Error> + Send + Sync + 'static,
) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = if coarse {
        g.tensor_with(&axes, |g| if g.below(10) == 0 { f64::NAN } else { g.below(3) as f64 - 1.0 })
    } else {
        g.tensor_distinct(&axes)
    };
    let (axis, n) = axes[g.below(3)];
    let k = k(g, n);
    Sample {
        inputs: vec![x],
        run: Box::new(move |x| run(&x[0], axis, k)),
        twin: Box::new(move |x| {
            let one = |take: &Take| {
                let mut y = x[0].lanes(axis, k, |lane| take(lane, &order(lane, falling)[..k]));
                if let Some(into) = into {
                    let p = y.position(axis);
                    y.axes[p] = into.to_owned();
                }
                y
            };
            takes.iter().map(one).collect::<Vec<Naive>>()
        }),
    }
}

fn two(r: Result<(DynTensor, DynTensor), Error>) -> Result<Vec<DynTensor>, Error> {
    r.map(|(a, b)| vec![a, b])
}

fn router(g: &mut Gen) -> Sample {
    let axes = [("a", g.size()), ("b", g.size1())];
    let x = g.tensor_distinct(&axes);
    let (k, normalize) = (1 + g.below(axes[1].1), g.coin());
    Sample {
        inputs: vec![x],
        run: Box::new(move |x| two(x[0].router_top_k("b", k, normalize, "k"))),
        twin: Box::new(move |x| {
            let lane = |f: fn(&[f64], &[usize], usize, bool) -> Vec<f64>| {
                let mut y = x[0].lanes("b", k, |lane| f(lane, &order(lane, true), k, normalize));
                y.axes[1] = "k".to_owned();
                y
            };
            vec![
                lane(|lane, at, k, normalize| {
                    let among = if normalize { &at[..k] } else { at };
                    let total: f64 = among.iter().map(|&i| lane[i].exp()).sum();
                    at[..k].iter().map(|&i| lane[i].exp() / total).collect()
                }),
                lane(|lane, at, k, _| places(lane, &at[..k])),
            ]
        }),
    }
}

pub fn cases() -> Vec<Case> {
    const BOTH: &[Take] = &[values, places];
    const PLACES: &[Take] = &[places];
    vec![
        Case {
            op: "sort",
            ulps: 1.0,
            grad: Grad::Once,
            sample: |g| {
                let down = g.coin();
                ordered(g, false, BOTH, down, |_, n| n, None, move |x, a, _| two(x.sort(a, down)))
            },
        },
        Case {
            op: "argsort",
            ulps: 1.0,
            grad: Grad::No("positions have no slope"),
            sample: |g| {
                let down = g.coin();
                ordered(g, true, PLACES, down, |_, n| n, None, move |x, a, _| x.argsort(a, down).map(|y| vec![y]))
            },
        },
        Case {
            op: "top_k",
            ulps: 1.0,
            grad: Grad::Once,
            sample: |g| {
                ordered(g, false, BOTH, true, |g, n| g.below(n + 1), Some("k"), |x, a, k| two(x.top_k(a, k, "k")))
            },
        },
        Case {
            op: "bottom_k",
            ulps: 1.0,
            grad: Grad::Once,
            sample: |g| {
                ordered(g, false, BOTH, false, |g, n| g.below(n + 1), Some("k"), |x, a, k| two(x.bottom_k(a, k, "k")))
            },
        },
        Case { op: "router_top_k", ulps: 16.0, grad: Grad::Smooth, sample: router },
    ]
}

pub fn exempt() -> Vec<Exempt> {
    vec![
        Exempt("multinomial", "draws at random: its distribution and its errors are tested in tests/select.rs"),
        Exempt("nonzero", "gives lists of positions, not a tensor: tested in tests/select.rs"),
    ]
}
