//! Comparison, logic and selection.

use crate::gen_::Gen;
use crate::naive::Naive;
use crate::{Case, Grad, Sample};
use forge::{DType, DynTensor, Error};

const NO_SLOPE: Grad = Grad::No("bools have no slope");

/// Some of the axes, now and then in another order.
fn some<'a>(g: &mut Gen, axes: &[(&'a str, usize)]) -> Vec<(&'a str, usize)> {
    let mut some: Vec<_> = axes.iter().copied().filter(|_| g.coin()).collect();
    if g.coin() {
        some.reverse();
    }
    some
}

/// Few distinct values (0 and now and then NaN among them), so that equal ones are common.
fn coarse(g: &mut Gen, axes: &[(&str, usize)]) -> DynTensor {
    g.tensor_with(axes, |g| if g.below(12) == 0 { f64::NAN } else { g.below(4) as f64 - 1.0 })
}

/// A mask over some of the axes, in a random layout.
pub fn mask(g: &mut Gen, axes: &[(&str, usize)]) -> DynTensor {
    let some = some(g, axes);
    let m = g.tensor_with(&some, |g| g.below(3) as f64);
    let m = m.to(DType::Bool).unwrap();
    g.relaid(&m)
}

fn pair(g: &mut Gen, run: fn(&DynTensor, &DynTensor) -> Result<DynTensor, Error>, f: fn(f64, f64) -> bool) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = coarse(g, &axes);
    let some = some(g, &axes);
    let y = coarse(g, &some);
    Sample::new(
        vec![x, y],
        move |x| run(&x[0], &x[1]),
        move |x| {
            let named = x[0].named();
            let names: Vec<&str> = named.iter().map(|a| a.0).collect();
            Naive::from_fn(&named, |ix| f64::from(f(x[0].at(ix), x[1].at_named(&names, ix))))
        },
    )
}

fn one(g: &mut Gen, run: fn(&DynTensor) -> Result<DynTensor, Error>, f: fn(f64) -> bool) -> Sample {
    let axes = [("a", g.size()), ("b", g.size())];
    let x = g.tensor_with(&axes, |g| [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -3.5][g.below(7)]);
    Sample::new(vec![x], move |x| run(&x[0]), move |x| x[0].map(|v| f64::from(f(v))))
}

fn where_(g: &mut Gen) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = g.tensor(&axes, -2.0, 2.0);
    let m = mask(g, &axes);
    let some = some(g, &axes);
    let y = g.tensor(&some, -2.0, 2.0);
    Sample::new(
        vec![x, m, y],
        |x| x[0].where_(&x[1], &x[2]),
        |x| {
            let named = x[0].named();
            let names: Vec<&str> = named.iter().map(|a| a.0).collect();
            Naive::from_fn(&named, |ix| {
                if x[1].at_named(&names, ix) != 0.0 { x[0].at(ix) } else { x[2].at_named(&names, ix) }
            })
        },
    )
}

fn masked_fill(g: &mut Gen) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = g.tensor(&axes, -2.0, 2.0);
    let m = mask(g, &axes);
    Sample::new(
        vec![x, m],
        |x| x[0].masked_fill(&x[1], -7.5),
        |x| {
            let named = x[0].named();
            let names: Vec<&str> = named.iter().map(|a| a.0).collect();
            Naive::from_fn(&named, |ix| if x[1].at_named(&names, ix) != 0.0 { -7.5 } else { x[0].at(ix) })
        },
    )
}

/// What stays of the matrices in axes `c` (rows) and `a` (columns).
fn band(
    g: &mut Gen,
    run: impl Fn(&DynTensor) -> Result<DynTensor, Error> + Send + Sync + 'static,
    keep: impl Fn(i64, i64) -> bool + 'static,
) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = g.tensor(&axes, -2.0, 2.0);
    Sample::new(
        vec![x],
        move |x| run(&x[0]),
        move |x| Naive::from_fn(&x[0].named(), |ix| if keep(ix[2] as i64, ix[0] as i64) { x[0].at(ix) } else { 0.0 }),
    )
}

macro_rules! case {
    ($op:literal, $grad:expr, $sample:expr) => {
        Case { op: $op, ulps: 1.0, grad: $grad, sample: $sample }
    };
}

/// Nothing here rounds.
pub fn cases() -> Vec<Case> {
    let mut all = vec![
        case!("eq", NO_SLOPE, |g| pair(g, |x, y| x.eq(y), |x, y| x == y)),
        case!("ne", NO_SLOPE, |g| pair(g, |x, y| x.ne(y), |x, y| x != y)),
        case!("lt", NO_SLOPE, |g| pair(g, |x, y| x.lt(y), |x, y| x < y)),
        case!("le", NO_SLOPE, |g| pair(g, |x, y| x.le(y), |x, y| x <= y)),
        case!("gt", NO_SLOPE, |g| pair(g, |x, y| x.gt(y), |x, y| x > y)),
        case!("ge", NO_SLOPE, |g| pair(g, |x, y| x.ge(y), |x, y| x >= y)),
        case!("eq_scalar", NO_SLOPE, |g| one(g, |x| x.eq_scalar(1.0), |x| x == 1.0)),
        case!("ne_scalar", NO_SLOPE, |g| one(g, |x| x.ne_scalar(1.0), |x| x != 1.0)),
        case!("lt_scalar", NO_SLOPE, |g| one(g, |x| x.lt_scalar(0.0), |x| x < 0.0)),
        case!("le_scalar", NO_SLOPE, |g| one(g, |x| x.le_scalar(0.0), |x| x <= 0.0)),
        case!("gt_scalar", NO_SLOPE, |g| one(g, |x| x.gt_scalar(0.0), |x| x > 0.0)),
        case!("ge_scalar", NO_SLOPE, |g| one(g, |x| x.ge_scalar(0.0), |x| x >= 0.0)),
        case!("logical_and", NO_SLOPE, |g| pair(g, |x, y| x.logical_and(y), |x, y| x != 0.0 && y != 0.0)),
        case!("logical_or", NO_SLOPE, |g| pair(g, |x, y| x.logical_or(y), |x, y| x != 0.0 || y != 0.0)),
        case!("logical_xor", NO_SLOPE, |g| pair(g, |x, y| x.logical_xor(y), |x, y| (x != 0.0) != (y != 0.0))),
        case!("logical_not", NO_SLOPE, |g| one(g, DynTensor::logical_not, |x| x == 0.0)),
        case!("isnan", NO_SLOPE, |g| one(g, DynTensor::isnan, f64::is_nan)),
        case!("isinf", NO_SLOPE, |g| one(g, DynTensor::isinf, f64::is_infinite)),
        case!("isfinite", NO_SLOPE, |g| one(g, DynTensor::isfinite, f64::is_finite)),
    ];
    all.extend([
        case!("where_", Grad::Smooth, where_),
        case!("masked_fill", Grad::Smooth, masked_fill),
        case!("band_part", Grad::Smooth, |g| {
            let mut bound = || g.coin().then(|| g.below(7) as i64 - 3);
            let (lower, upper) = (bound(), bound());
            let within = |d: i64, bound: Option<i64>| bound.is_none_or(|b| d <= b);
            band(
                g,
                move |x| x.band_part("c", "a", lower, upper),
                move |i, j| within(i - j, lower) && within(j - i, upper),
            )
        }),
        case!("tril", Grad::Smooth, |g| {
            let k = g.below(7) as i64 - 3;
            band(g, move |x| x.tril("c", "a", k), move |i, j| j - i <= k)
        }),
        case!("triu", Grad::Smooth, |g| {
            let k = g.below(7) as i64 - 3;
            band(g, move |x| x.triu("c", "a", k), move |i, j| j - i >= k)
        }),
    ]);
    all
}
