//! Losses.

use crate::gen_::{Gen, shuffled};
use crate::naive::Naive;
use crate::{Case, Grad, Sample};
use forge::loss::Reduction;
use forge::{CrossEntropy, DynDistill, DynTensor, Error};

fn reduction(g: &mut Gen) -> Reduction {
    [Reduction::Mean, Reduction::Sum, Reduction::Each][g.below(3)]
}

/// The losses of rows with how many count, reduced.
fn reduced(each: Naive, how: Reduction, count: usize) -> Naive {
    let sum: f64 = each.data.iter().sum();
    match how {
        Reduction::Each => each,
        Reduction::Sum => Naive::from_fn(&[], |_| sum),
        Reduction::Mean => Naive::from_fn(&[], |_| if count == 0 { 0.0 } else { sum / count as f64 }),
    }
}

fn log_sum_exp(z: &[f64]) -> f64 {
    let m = z.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v));
    m + z.iter().map(|v| (v - m).exp()).sum::<f64>().ln()
}

/// Labels below `classes`, some of them `ignore`.
fn labels(g: &mut Gen, axes: &[(&str, usize)], classes: usize, ignore: i64) -> DynTensor {
    let axes = shuffled(g, axes);
    let n: usize = axes.iter().map(|a| a.1).product();
    let v: Vec<i64> = (0..n).map(|_| if g.below(4) == 0 { ignore } else { g.below(classes) as i64 }).collect();
    let (names, shape): (Vec<&str>, Vec<usize>) = axes.into_iter().unzip();
    let t = DynTensor::from_vec(&names, &shape, v).unwrap();
    g.relaid(&t)
}

fn cross_entropy(g: &mut Gen) -> Sample {
    let classes = g.size1();
    let sizes = [("a", g.size()), ("c", classes), ("b", g.size())];
    let axes = shuffled(g, &sizes);
    let x = g.tensor(&axes, -4.0, 4.0);
    let rest: Vec<(&str, usize)> = axes.iter().copied().filter(|a| a.0 != "c").collect();
    let y = labels(g, &rest, classes, -100);
    let (how, s) = (reduction(g), if g.coin() { 0.0 } else { 0.125 });
    let args = CrossEntropy::new().ignore_index(-100).label_smoothing(s);
    Sample::new(
        vec![x, y],
        move |x| x[0].cross_entropy("c", &x[1], args, how),
        move |x| {
            let names: Vec<&str> = rest.iter().map(|a| a.0).collect();
            let p = x[0].position("c");
            let each = Naive::from_fn(&rest, |ix| {
                let l = x[1].at_named(&names, ix);
                if l < 0.0 {
                    return 0.0;
                }
                let z: Vec<f64> = (0..classes)
                    .map(|c| {
                        let mut full = ix.to_vec();
                        full.insert(p, c);
                        x[0].at(&full)
                    })
                    .collect();
                log_sum_exp(&z) - (1.0 - s) * z[l as usize] - s * z.iter().sum::<f64>() / classes as f64
            });
            reduced(each, how, x[1].data.iter().filter(|l| **l >= 0.0).count())
        },
    )
}

fn nll(g: &mut Gen) -> Sample {
    let classes = g.size1();
    let sizes = [("a", g.size()), ("c", classes), ("b", g.size())];
    let axes = shuffled(g, &sizes);
    let x = g.tensor(&axes, -4.0, 0.0);
    let rest: Vec<(&str, usize)> = axes.iter().copied().filter(|a| a.0 != "c").collect();
    let y = labels(g, &rest, classes, -1);
    let how = reduction(g);
    Sample::new(
        vec![x, y],
        move |x| x[0].nll_loss("c", &x[1], Some(-1), how),
        move |x| {
            let names: Vec<&str> = rest.iter().map(|a| a.0).collect();
            let p = x[0].position("c");
            let each = Naive::from_fn(&rest, |ix| {
                let l = x[1].at_named(&names, ix);
                let mut full = ix.to_vec();
                full.insert(p, l.max(0.0) as usize);
                if l < 0.0 { 0.0 } else { -x[0].at(&full) }
            });
            reduced(each, how, x[1].data.iter().filter(|l| **l >= 0.0).count())
        },
    )
}

fn linear_cross_entropy(g: &mut Gen) -> Sample {
    let (classes, d) = (g.size1(), g.size());
    let sizes = [("a", g.size()), ("d", d), ("b", g.size().min(9))];
    let axes = shuffled(g, &sizes);
    let x = g.tensor(&axes, -1.0, 1.0);
    let wa = shuffled(g, &[("c", classes), ("d", d)]);
    let w = g.tensor(&wa, -1.0, 1.0);
    let rest: Vec<(&str, usize)> = axes.iter().copied().filter(|a| a.0 != "d").collect();
    let y = labels(g, &rest, classes, -100);
    let (how, s) = (reduction(g), if g.coin() { 0.0 } else { 0.125 });
    let args = CrossEntropy::new().ignore_index(-100).label_smoothing(s);
    Sample::new(
        vec![x, w, y],
        move |x| x[0].linear_cross_entropy("d", &x[1], "c", &x[2], args, how),
        move |x| {
            let names: Vec<&str> = rest.iter().map(|a| a.0).collect();
            let p = x[0].position("d");
            let each = Naive::from_fn(&rest, |ix| {
                let l = x[2].at_named(&names, ix);
                if l < 0.0 {
                    return 0.0;
                }
                let z = logits(&x[0], &x[1], classes, d, |k| {
                    let mut full = ix.to_vec();
                    full.insert(p, k);
                    full
                });
                // Term by term, so that a single class gives an exact 0.
                let lse = log_sum_exp(&z);
                let target = |c: usize| if c == l as usize { 1.0 - s } else { 0.0 } + s / classes as f64;
                z.iter().enumerate().map(|(c, v)| target(c) * (lse - v)).sum::<f64>()
            });
            reduced(each, how, x[2].data.iter().filter(|l| **l >= 0.0).count())
        },
    )
}

fn logits(x: &Naive, w: &Naive, classes: usize, d: usize, at: impl Fn(usize) -> Vec<usize>) -> Vec<f64> {
    (0..classes).map(|c| (0..d).map(|k| x.at(&at(k)) * w.at_named(&["c", "d"], &[c, k])).sum()).collect()
}

fn linear_distill(g: &mut Gen) -> Sample {
    let (rows, classes, d, n) = (g.size1(), g.size1(), g.size(), g.size());
    let xa = shuffled(g, &[("r", rows), ("d", d)]);
    let wa = shuffled(g, &[("c", classes), ("d", d)]);
    let (x, w) = (g.tensor(&xa, -1.0, 1.0), g.tensor(&wa, -1.0, 1.0));
    let pick = |g: &mut Gen, below: usize| -> DynTensor {
        let v: Vec<i64> = (0..n).map(|_| g.below(below) as i64).collect();
        DynTensor::from_vec(&["n"], &[n], v).unwrap()
    };
    let (r, c) = (pick(g, rows), pick(g, classes));
    let p: Vec<f64> = (0..n).map(|_| g.f64(0.1, 1.0)).collect();
    let probs = DynTensor::from_vec(&["n"], &[n], p).unwrap();
    let mean = g.coin();
    let (twin_r, twin_c) = (r.to_vec::<i64>().unwrap(), c.to_vec::<i64>().unwrap());
    let twin_p = probs.to_vec::<f64>().unwrap();
    // Probabilities are constants, so they are no inputs of the case.
    Sample::new(
        vec![x, w, r, c],
        move |x| {
            let probs = probs.to(x[0].dtype()).unwrap();
            let entries = DynDistill { rows: &x[2], classes: &x[3], probs: &probs, mean, scale: 2.0 };
            x[0].linear_distill("r", "d", &x[1], "c", &entries)
        },
        move |x| {
            let sum: f64 = (0..n)
                .map(|i| {
                    let row = twin_r[i] as usize;
                    let p = x[0].position("d");
                    let z = logits(&x[0], &x[1], classes, d, |k| if p == 0 { vec![k, row] } else { vec![row, k] });
                    twin_p[i] * (log_sum_exp(&z) - z[twin_c[i] as usize])
                })
                .sum();
            Naive::from_fn(&[], |_| if n == 0 { 0.0 } else { 2.0 * sum / if mean { n as f64 } else { 1.0 } })
        },
    )
}

type Pair = fn(&DynTensor, &DynTensor, Reduction) -> Result<DynTensor, Error>;

/// The target has some of the input's axes; both are drawn from their ranges. No trial is empty: a mean of nothing is NaN.
fn pair(g: &mut Gen, x: (f64, f64), y: (f64, f64), run: Pair, f: fn(f64, f64) -> f64) -> Sample {
    let axes = [("a", g.size1()), ("b", g.size1()), ("c", g.size1())];
    let xt = g.tensor(&axes, x.0, x.1);
    let some: Vec<(&str, usize)> = axes.into_iter().filter(|_| g.coin()).collect();
    let order = shuffled(g, &some);
    let yt = g.tensor(&order, y.0, y.1);
    let how = reduction(g);
    Sample::new(
        vec![xt, yt],
        move |x| run(&x[0], &x[1], how),
        move |x| {
            let named = x[0].named();
            let names: Vec<&str> = named.iter().map(|a| a.0).collect();
            let each = Naive::from_fn(&named, |ix| f(x[0].at(ix), x[1].at_named(&names, ix)));
            let n = each.data.len();
            reduced(each, how, n)
        },
    )
}

fn huber(d: f64) -> f64 {
    if d.abs() <= 1.0 { 0.5 * d * d } else { d.abs() - 0.5 }
}

/// A few rounding errors for each row, of logits of at most 9 (large trials have no twin); sums of up to 216 of them grow
/// with the sum itself.
pub fn cases() -> Vec<Case> {
    let case = |op, ulps, grad, sample| Case { op, ulps, grad, sample };
    vec![
        case("cross_entropy", 16.0, Grad::Smooth, cross_entropy),
        case("nll_loss", 16.0, Grad::Smooth, nll),
        case("linear_cross_entropy", 32.0, Grad::Smooth, linear_cross_entropy),
        case("linear_distill", 32.0, Grad::Smooth, linear_distill),
        case("mse_loss", 24.0, Grad::Smooth, |g| {
            pair(g, (-2.0, 2.0), (-2.0, 2.0), |x, y, r| x.mse_loss(y, r), |x, y| (x - y) * (x - y))
        }),
        // Away from |x - y| = 1, where the slope has a corner: one branch or the other.
        case("huber_loss", 24.0, Grad::Smooth, |g| {
            if g.coin() {
                pair(g, (0.0, 0.4), (0.0, 0.4), |x, y, r| x.huber_loss(y, 1.0, r), |x, y| huber(x - y))
            } else {
                pair(g, (2.0, 3.0), (-0.5, 0.5), |x, y, r| x.huber_loss(y, 1.0, r), |x, y| huber(x - y))
            }
        }),
        case("bce_loss", 32.0, Grad::Smooth, |g| {
            let f = |x: f64, y: f64| -(y * x.ln() + (1.0 - y) * (1.0 - x).ln());
            pair(g, (0.1, 0.9), (0.0, 1.0), |x, y, r| x.bce_loss(y, r), f)
        }),
        case("bce_with_logits_loss", 24.0, Grad::Smooth, |g| {
            let f = |x: f64, y: f64| (1.0 + x.exp()).ln() - x * y;
            pair(g, (-4.0, 4.0), (0.0, 1.0), |x, y, r| x.bce_with_logits_loss(y, r), f)
        }),
        case("kl_div_loss", 48.0, Grad::Smooth, |g| {
            pair(g, (-3.0, 0.0), (0.1, 1.0), |x, y, r| x.kl_div_loss(y, r), |x, y| y * (y.ln() - x))
        }),
        case("kl_div_log_target_loss", 48.0, Grad::Smooth, |g| {
            pair(g, (-3.0, 0.0), (-3.0, 0.0), |x, y, r| x.kl_div_log_target_loss(y, r), |x, y| y.exp() * (y - x))
        }),
    ]
}
