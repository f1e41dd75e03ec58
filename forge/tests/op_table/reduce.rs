//! Reductions.

use crate::compare::mask;
use crate::gen_::Gen;
use crate::naive::Naive;
use crate::{Case, Grad, Sample};
use forge::{DynTensor, Error, Masked, Norm, Standardize};

/// The twin's reduction over several axes, one lane in row-major order at a time.
fn over(x: &Naive, axes: &[&str], f: impl Fn(&[f64]) -> f64) -> Naive {
    let named = x.named();
    let names: Vec<&str> = named.iter().map(|a| a.0).collect();
    let kept: Vec<(&str, usize)> = named.iter().copied().filter(|a| !axes.contains(&a.0)).collect();
    let gone: Vec<(&str, usize)> = named.iter().copied().filter(|a| axes.contains(&a.0)).collect();
    Naive::from_fn(&kept, |out| {
        let lane = Naive::from_fn(&gone, |inner| {
            let ix: Vec<usize> = names
                .iter()
                .map(|n| match kept.iter().position(|k| k.0 == *n) {
                    Some(p) => out[p],
                    None => inner[gone.iter().position(|k| k.0 == *n).unwrap()],
                })
                .collect();
            x.at(&ix)
        });
        f(&lane.data)
    })
}

/// One to three of the axes, in any order.
fn pick(g: &mut Gen) -> Vec<&'static str> {
    let mut axes = vec!["a", "b", "c"];
    for i in (1..3).rev() {
        let j = g.below(i + 1);
        axes.swap(i, j);
    }
    axes.truncate(1 + g.below(3));
    axes
}

fn reduction(
    g: &mut Gen,
    x: impl Fn(&mut Gen, &[(&str, usize)]) -> DynTensor,
    run: fn(&DynTensor, &[&str]) -> Result<DynTensor, Error>,
    f: fn(&[f64]) -> f64,
) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = x(g, &axes);
    let gone = pick(g);
    let twin_gone = gone.clone();
    Sample::new(vec![x], move |x| run(&x[0], &gone), move |x| over(&x[0], &twin_gone, f))
}

fn all(
    g: &mut Gen,
    x: impl Fn(&mut Gen, &[(&str, usize)]) -> DynTensor,
    run: fn(&DynTensor) -> Result<DynTensor, Error>,
    f: fn(&[f64]) -> f64,
) -> Sample {
    let axes = [("a", g.size()), ("b", g.size())];
    let x = x(g, &axes);
    Sample::new(vec![x], move |x| run(&x[0]), move |x| Naive::from_fn(&[], |_| f(&x[0].data)))
}

fn masked(
    g: &mut Gen,
    x: impl Fn(&mut Gen, &[(&str, usize)]) -> DynTensor,
    run: for<'m> fn(&DynTensor, &[&str], Masked<'m, DynTensor>) -> Result<DynTensor, Error>,
    f: fn(&[f64]) -> f64,
) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = x(g, &axes);
    let m = mask(g, &axes);
    let gone = pick(g);
    let twin_gone = gone.clone();
    Sample::new(
        vec![x, m],
        move |x| run(&x[0], &gone, Masked::new(&x[1]).empty(0.5)),
        move |x| {
            // Elements that the mask hides are marked by NaN, which no input holds.
            let named = x[0].named();
            let names: Vec<&str> = named.iter().map(|a| a.0).collect();
            let seen =
                Naive::from_fn(&named, |ix| if x[1].at_named(&names, ix) != 0.0 { x[0].at(ix) } else { f64::NAN });
            over(&seen, &twin_gone, |lane| {
                let lane: Vec<f64> = lane.iter().copied().filter(|v| !v.is_nan()).collect();
                if lane.is_empty() { 0.5 } else { f(&lane) }
            })
        },
    )
}

/// A single axis, never empty.
fn position(g: &mut Gen, run: fn(&DynTensor, &str) -> Result<DynTensor, Error>, beats: fn(f64, f64) -> bool) -> Sample {
    let k = g.below(3);
    let mut axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    axes[k].1 = axes[k].1.max(1);
    // Ties and NaN: the first must be found.
    let x = g.tensor_with(&axes, |g| if g.below(15) == 0 { f64::NAN } else { g.below(5) as f64 });
    let axis = axes[k].0;
    Sample::new(
        vec![x],
        move |x| run(&x[0], axis),
        move |x| {
            x[0].reduce(axis, |lane| {
                let mut best = 0;
                for (i, &v) in lane.iter().enumerate() {
                    if beats(v, lane[best]) || (v.is_nan() && !lane[best].is_nan()) {
                        best = i;
                    }
                }
                best as f64
            })
        },
    )
}

fn norm(g: &mut Gen, everything: bool) -> Sample {
    let kind = if g.coin() { Norm::L1 } else { Norm::L2 };
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = g.tensor_off_zero(&axes, 0.1, 2.0);
    let gone = if everything { vec!["a", "b", "c"] } else { pick(g) };
    let twin_gone = gone.clone();
    let f = move |v: &[f64]| match kind {
        Norm::L1 => v.iter().map(|v| v.abs()).sum(),
        Norm::L2 => v.iter().map(|v| v * v).sum::<f64>().sqrt(),
        Norm::Inf => v.iter().fold(0.0, |m: f64, v| m.max(v.abs())),
    };
    Sample::new(
        vec![x],
        move |x| if everything { x[0].norm_all(kind) } else { x[0].norm(&gone[..], kind) },
        move |x| over(&x[0], &twin_gone, f),
    )
}

fn variance(g: &mut Gen) -> Sample {
    let gone = pick(g);
    // At least two elements in every lane, so that both divisors are positive.
    let axes = [("a", g.size() + 1), ("b", g.size() + 1), ("c", g.size() + 1)];
    let x = g.tensor(&axes, 1.0, 3.0);
    let ddof = g.below(2);
    let twin_gone = gone.clone();
    Sample::new(
        vec![x],
        move |x| x[0].variance(&gone[..], ddof),
        move |x| {
            over(&x[0], &twin_gone, |v| {
                let m = mean(v);
                v.iter().map(|x| (x - m).powi(2)).sum::<f64>() / (v.len() - ddof.min(v.len())) as f64
            })
        },
    )
}

fn standardize(g: &mut Gen) -> Sample {
    let axes = [("a", g.size()), ("b", g.size() + 2), ("c", g.size())];
    let x = g.tensor(&axes, -2.0, 2.0);
    let ddof = g.below(2);
    let n = if g.coin() { axes[1].1 } else { axes[1].1.min(2 + g.below(3)) };
    let outside = g.coin();
    let mut how = Standardize::new().ddof(ddof);
    how = if outside { how.eps_outside(0.25) } else { how.eps(0.25) };
    if n != axes[1].1 {
        how = how.valid(n);
    }
    if g.coin() {
        how = how.wide();
    }
    Sample::new(
        vec![x],
        move |x| x[0].standardize("b", &how),
        move |x| {
            x[0].lanes("b", axes[1].1, |v| {
                let m = mean(&v[..n]);
                let var = v[..n].iter().map(|x| (x - m).powi(2)).sum::<f64>() / (n - ddof) as f64;
                let d = if outside { var.sqrt() + 0.25 } else { (var + 0.25).sqrt() };
                v.iter().enumerate().map(|(i, x)| if i < n { (x - m) / d } else { 0.0 }).collect()
            })
        },
    )
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn plain(g: &mut Gen, axes: &[(&str, usize)]) -> DynTensor {
    g.tensor(axes, -2.0, 2.0)
}

fn distinct(g: &mut Gen, axes: &[(&str, usize)]) -> DynTensor {
    g.tensor_distinct(axes)
}

/// Factors near 1, now and then an exact 0.
pub fn factors(g: &mut Gen, axes: &[(&str, usize)]) -> DynTensor {
    g.tensor_with(axes, |g| if g.below(9) == 0 { 0.0 } else { g.f64(0.7, 1.4) })
}

fn flags(g: &mut Gen, axes: &[(&str, usize)]) -> DynTensor {
    g.tensor_with(axes, |g| if g.below(4) == 0 { 0.0 } else { f64::NAN })
}

fn sum(v: &[f64]) -> f64 {
    v.iter().sum()
}
fn prod(v: &[f64]) -> f64 {
    v.iter().product()
}
fn max(v: &[f64]) -> f64 {
    v.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
fn min(v: &[f64]) -> f64 {
    v.iter().copied().fold(f64::INFINITY, f64::min)
}
fn lse(v: &[f64]) -> f64 {
    v.iter().map(|x| x.exp()).sum::<f64>().ln()
}
fn any(v: &[f64]) -> f64 {
    f64::from(v.iter().any(|&x| x != 0.0))
}
fn every(v: &[f64]) -> f64 {
    f64::from(v.iter().all(|&x| x != 0.0))
}

macro_rules! case {
    ($op:literal, $ulps:literal, $grad:expr, $sample:expr) => {
        Case { op: $op, ulps: $ulps, grad: $grad, sample: $sample }
    };
}

/// Lanes have at most 216 elements in the twin's trials. The largest output is at least of the size of one term, so a sum may
/// stray by one rounding error for each term and step of the blocked summation; a product by one for each factor.
pub fn cases() -> Vec<Case> {
    use Grad::{Once, Smooth};
    const BOOLS: Grad = Grad::No("bools have no slope");
    const PLACES: Grad = Grad::No("positions have no slope");
    vec![
        case!("sum", 64.0, Smooth, |g| reduction(g, plain, |x, a| x.sum(a), sum)),
        case!("mean", 64.0, Smooth, |g| reduction(g, plain, |x, a| x.mean(a), mean)),
        case!("prod", 216.0, Smooth, |g| reduction(g, factors, |x, a| x.prod(a), prod)),
        case!("max", 1.0, Once, |g| reduction(g, distinct, |x, a| x.max(a), max)),
        case!("min", 1.0, Once, |g| reduction(g, distinct, |x, a| x.min(a), min)),
        case!("logsumexp", 16.0, Smooth, |g| reduction(g, plain, |x, a| x.logsumexp(a), lse)),
        case!("any", 1.0, BOOLS, |g| reduction(g, flags, |x, a| x.any(a), any)),
        case!("all", 1.0, BOOLS, |g| reduction(g, flags, |x, a| x.all(a), every)),
        case!("sum_all", 64.0, Smooth, |g| all(g, plain, DynTensor::sum_all, sum)),
        case!("mean_all", 64.0, Smooth, |g| all(g, plain, DynTensor::mean_all, mean)),
        case!("prod_all", 216.0, Smooth, |g| all(g, factors, DynTensor::prod_all, prod)),
        case!("max_all", 1.0, Once, |g| all(g, distinct, DynTensor::max_all, max)),
        case!("min_all", 1.0, Once, |g| all(g, distinct, DynTensor::min_all, min)),
        case!("logsumexp_all", 16.0, Smooth, |g| all(g, plain, DynTensor::logsumexp_all, lse)),
        case!("any_all", 1.0, BOOLS, |g| all(g, flags, DynTensor::any_all, any)),
        case!("all_all", 1.0, BOOLS, |g| all(g, flags, DynTensor::all_all, every)),
        case!("sum_masked", 64.0, Smooth, |g| masked(g, plain, |x, a, m| x.sum_masked(a, m), sum)),
        case!("mean_masked", 64.0, Smooth, |g| masked(g, plain, |x, a, m| x.mean_masked(a, m), mean)),
        case!("prod_masked", 216.0, Smooth, |g| masked(g, factors, |x, a, m| x.prod_masked(a, m), prod)),
        case!("max_masked", 1.0, Once, |g| masked(g, distinct, |x, a, m| x.max_masked(a, m), max)),
        case!("min_masked", 1.0, Once, |g| masked(g, distinct, |x, a, m| x.min_masked(a, m), min)),
        case!("argmax", 1.0, PLACES, |g| position(g, |x, a| x.argmax(a), |v, w| v > w)),
        case!("argmin", 1.0, PLACES, |g| position(g, |x, a| x.argmin(a), |v, w| v < w)),
        case!("variance", 64.0, Smooth, variance),
        case!("norm", 64.0, Smooth, |g| norm(g, false)),
        case!("norm_all", 64.0, Smooth, |g| norm(g, true)),
        case!("standardize", 32.0, Smooth, standardize),
    ]
}
