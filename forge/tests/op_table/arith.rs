//! Arithmetic, broadcast by name.

use crate::gen_::Gen;
use crate::naive::Naive;
use crate::{Case, Grad, Sample};
use forge::{DynTensor, Error};

/// The right operand has some of the left's axes, in another order; values keep away from ties, poles and corners.
fn sample(g: &mut Gen, run: fn(&DynTensor, &DynTensor) -> Result<DynTensor, Error>, f: fn(f64, f64) -> f64) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = g.tensor_with(&axes, |g| 0.25 + g.below(50) as f64 * 0.0625);
    let mut some: Vec<(&str, usize)> = axes.into_iter().filter(|_| g.coin()).collect();
    if g.coin() {
        some.reverse();
    }
    // Off the left operand's grid, so that no two elements tie.
    let y = g.tensor_with(&some, |g| {
        let v = 0.25 + 0.03125 + g.below(50) as f64 * 0.0625;
        if g.coin() { v } else { -v }
    });
    Sample::new(
        vec![x, y],
        move |x| run(&x[0], &x[1]),
        move |x| {
            let named = x[0].named();
            let names: Vec<&str> = named.iter().map(|a| a.0).collect();
            Naive::from_fn(&named, |ix| f(x[0].at(ix), x[1].at_named(&names, ix)))
        },
    )
}

/// The right operand shares one axis and has one of its own.
fn outer(g: &mut Gen, run: fn(&DynTensor, &DynTensor) -> Result<DynTensor, Error>, f: fn(f64, f64) -> f64) -> Sample {
    let (a, b, c) = (g.size(), g.size(), g.size());
    // Two grids that never come within 0.02 of each other: no ties for maximum and minimum.
    let x = g.tensor_with(&[("a", a), ("b", b)], |g| 0.25 + g.below(50) as f64 * 0.0625);
    let y = g.tensor_with(&[("c", c), ("b", b)], |g| 0.25 + 0.03125 + g.below(50) as f64 * 0.0625);
    Sample::new(
        vec![x, y],
        move |x| run(&x[0], &x[1]),
        move |x| {
            Naive::from_fn(&[("a", a), ("b", b), ("c", c)], |ix| f(x[0].at(&[ix[0], ix[1]]), x[1].at(&[ix[2], ix[1]])))
        },
    )
}

fn scalar(g: &mut Gen, run: fn(&DynTensor) -> Result<DynTensor, Error>, f: fn(f64) -> f64) -> Sample {
    let axes = [("a", g.size()), ("b", g.size())];
    let x = g.tensor_with(&axes, |g| if g.coin() { g.f64(0.3, 1.4) } else { g.f64(1.6, 3.0) });
    Sample::new(vec![x], move |x| run(&x[0]), move |x| x[0].map(f))
}

macro_rules! case {
    ($op:literal, $ulps:literal, $grad:ident, $sample:expr) => {
        Case { op: $op, ulps: $ulps, grad: Grad::$grad, sample: $sample }
    };
}

pub fn cases() -> Vec<Case> {
    vec![
        case!("add", 1.0, Smooth, |g| sample(g, |x, y| x.add(y), |x, y| x + y)),
        case!("sub", 1.0, Smooth, |g| sample(g, |x, y| x.sub(y), |x, y| x - y)),
        case!("mul", 1.0, Smooth, |g| sample(g, |x, y| x.mul(y), |x, y| x * y)),
        case!("div", 1.0, Smooth, |g| sample(g, |x, y| x.div(y), |x, y| x / y)),
        case!("maximum", 1.0, Once, |g| sample(g, |x, y| x.maximum(y), f64::max)),
        case!("minimum", 1.0, Once, |g| sample(g, |x, y| x.minimum(y), f64::min)),
        case!("pow", 4.0, Smooth, |g| sample(g, |x, y| x.pow(y), f64::powf)),
        case!("outer_add", 1.0, Smooth, |g| outer(g, |x, y| x.outer_add(y), |x, y| x + y)),
        case!("outer_sub", 1.0, Smooth, |g| outer(g, |x, y| x.outer_sub(y), |x, y| x - y)),
        case!("outer_mul", 1.0, Smooth, |g| outer(g, |x, y| x.outer_mul(y), |x, y| x * y)),
        case!("outer_div", 1.0, Smooth, |g| outer(g, |x, y| x.outer_div(y), |x, y| x / y)),
        case!("outer_maximum", 1.0, Once, |g| outer(g, |x, y| x.outer_maximum(y), f64::max)),
        case!("outer_minimum", 1.0, Once, |g| outer(g, |x, y| x.outer_minimum(y), f64::min)),
        case!("outer_pow", 4.0, Smooth, |g| outer(g, |x, y| x.outer_pow(y), f64::powf)),
        case!("add_scalar", 1.0, Smooth, |g| scalar(g, |x| x.add_scalar(1.5), |x| x + 1.5)),
        case!("sub_scalar", 1.0, Smooth, |g| scalar(g, |x| x.sub_scalar(1.5), |x| x - 1.5)),
        case!("scale", 1.0, Smooth, |g| scalar(g, |x| x.scale(-2.5), |x| x * -2.5)),
        case!("div_scalar", 1.0, Smooth, |g| scalar(g, |x| x.div_scalar(2.5), |x| x / 2.5)),
        case!("pow_scalar", 4.0, Smooth, |g| scalar(g, |x| x.pow_scalar(2.5), |x| x.powf(2.5))),
        case!("clamp_min", 1.0, Once, |g| scalar(g, |x| x.clamp_min(1.5), |x| x.max(1.5))),
        case!("clamp_max", 1.0, Once, |g| scalar(g, |x| x.clamp_max(1.5), |x| x.min(1.5))),
    ]
}
