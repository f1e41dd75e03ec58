//! Functions of one element.

use crate::gen_::Gen;
use crate::{Case, Grad, Sample};
use forge::{DynTensor, Error};

/// Where inputs are drawn from.
#[derive(Clone, Copy)]
enum Domain {
    Any,
    /// At least 0.05 away from 0.
    OffZero,
    Positive,
    /// Above -0.9.
    AboveMinusOne,
    /// At least 0.1 away from every half-integer and integer.
    BetweenSteps,
    /// At least 0.05 away from -3, -1, 0, 1 and 3.
    OffCorners,
}

fn input(g: &mut Gen, d: Domain) -> DynTensor {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    match d {
        Domain::Any => g.tensor(&axes, -4.0, 4.0),
        Domain::OffZero => g.tensor_off_zero(&axes, 0.05, 4.0),
        Domain::Positive => g.tensor(&axes, 0.2, 4.0),
        Domain::AboveMinusOne => g.tensor(&axes, -0.9, 4.0),
        Domain::BetweenSteps => g.tensor_with(&axes, |g| {
            let whole = g.below(9) as f64 - 4.0;
            whole + g.f64(0.1, 0.4) + if g.coin() { 0.5 } else { 0.0 }
        }),
        Domain::OffCorners => g.tensor_with(&axes, |g| {
            let corners = [-4.0, -3.0, -1.0, 0.0, 1.0, 3.0, 4.0];
            let i = g.below(6);
            g.f64(corners[i] + 0.05, corners[i + 1] - 0.05)
        }),
    }
}

fn sample(g: &mut Gen, d: Domain, run: fn(&DynTensor) -> Result<DynTensor, Error>, f: fn(f64) -> f64) -> Sample {
    Sample::new(vec![input(g, d)], move |x| run(&x[0]), move |x| x[0].map(f))
}

macro_rules! cases {
    ($($op:ident $(($p:literal))? $ulps:literal $grad:ident $domain:ident $f:expr;)*) => {
        vec![$(Case {
            op: stringify!($op),
            ulps: $ulps,
            grad: Grad::$grad,
            sample: |g| sample(g, Domain::$domain, |x| x.$op($($p)?), $f),
        }),*]
    };
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The error function as `2/sqrt(pi) e^(-x^2) sum 2^n x^(2n+1) / (2n+1)!!`, whose terms have one sign.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while f64::abs(term) > 1e-18 * f64::abs(sum) {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    2.0 / std::f64::consts::PI.sqrt() * (-x * x).exp() * sum
}

fn fast_tanh(x: f64) -> f64 {
    let (a, x2) = (x.abs(), x * x);
    let top = x * (2.45550750702956 + 2.45550750702956 * a + (0.893229853513558 + 0.821226666969744 * a) * x2);
    top / (2.44506634652299 + (2.44506634652299 + x2) * (x + 0.814642734961073 * x * a).abs())
}

/// The f32 results stray from the twin by a few rounding errors of the function itself and of its polynomial; the bound
/// is in units of the largest output, so functions with large slopes at the ends of the domain need no more.
pub fn cases() -> Vec<Case> {
    cases! {
        abs 1.0 Once OffZero f64::abs;
        square 2.0 Smooth Any |x| x * x;
        reciprocal 2.0 Smooth OffZero |x| 1.0 / x;
        sqrt 2.0 Smooth Positive f64::sqrt;
        rsqrt 3.0 Smooth Positive |x| 1.0 / x.sqrt();
        exp 4.0 Smooth Any f64::exp;
        exp_m1 4.0 Smooth Any f64::exp_m1;
        log 4.0 Smooth Positive f64::ln;
        log1p 4.0 Smooth AboveMinusOne f64::ln_1p;
        sin 4.0 Smooth Any f64::sin;
        cos 4.0 Smooth Any f64::cos;
        tanh 4.0 Smooth Any f64::tanh;
        fast_tanh 8.0 Once OffZero fast_tanh;
        sigmoid 4.0 Smooth Any sigmoid;
        silu 4.0 Smooth Any |x| x * sigmoid(x);
        relu 1.0 Once OffZero |x| x.max(0.0);
        leaky_relu(0.2) 2.0 Once OffZero |x| if x < 0.0 { 0.2 * x } else { x };
        elu(1.5) 4.0 Once OffZero |x| if x > 0.0 { x } else { 1.5 * x.exp_m1() };
        softplus 4.0 Smooth Any |x| x.exp().ln_1p();
        gelu 8.0 Smooth Any |x| 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044715 * x * x * x)).tanh());
        gelu_erf 8.0 Smooth Any |x| 0.5 * x * (1.0 + erf(x / 2f64.sqrt()));
        quick_gelu 8.0 Smooth Any |x| x * sigmoid(1.702 * x);
        erf 8.0 Smooth Any erf;
        softcap(2.5) 6.0 Smooth Any |x| 2.5 * (x / 2.5).tanh();
        softsign 3.0 Once OffZero |x| x / (1.0 + x.abs());
        hard_swish 4.0 Once OffCorners |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0;
        hard_tanh 1.0 Once OffCorners |x| x.clamp(-1.0, 1.0);
        floor 1.0 Once BetweenSteps f64::floor;
        ceil 1.0 Once BetweenSteps f64::ceil;
        round 1.0 Once BetweenSteps f64::round_ties_even;
        sign 1.0 Once OffZero f64::signum;
    }
}
