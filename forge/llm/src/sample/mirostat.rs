//! Mirostat: how many tokens are kept depends on how surprising the chosen ones were.

use super::candidates::{Candidate, draw, probabilities};
use forge_kernels::math::Real;

/// Tokens from which version 1 estimates Zipf's exponent.
const ESTIMATE: usize = 100;

/// Version 1: keeps as many tokens as a Zipf distribution needs for a surprise of `mu`. Of all `c`, the likeliest first.
pub(crate) fn first(c: &mut Vec<Candidate>, mu: f64, vocab: usize) {
    let p = probabilities(c, None);
    let (mut tb, mut tt) = (0.0, 0.0);
    for i in 0..(ESTIMATE - 1).min(c.len().saturating_sub(1)) {
        let t = Real::log((i + 2) as f64 / (i + 1) as f64);
        let b = Real::log(p[i] / p[i + 1]);
        // A token without probability says nothing of the exponent.
        if b.is_finite() {
            tb += t * b;
            tt += t * t;
        }
    }
    let s = tb / tt;
    let epsilon = s - 1.0;
    let k = Real::powf(epsilon * Real::powf(2.0, mu) / (1.0 - Real::powf(vocab as f64, -epsilon)), 1.0 / s);
    // No number where the distribution is flat or has one token: then it says nothing.
    let k = if k.is_finite() { k as usize } else { c.len() };
    c.truncate(k.max(1));
}

/// Version 2: keeps the tokens of at most `mu` bits of surprise, and at least one.
pub(crate) fn second(c: &mut Vec<Candidate>, mu: f64) {
    let p = probabilities(c, None);
    let n = p.iter().take_while(|p| surprise(**p) <= mu).count();
    c.truncate(n.max(1));
}

/// The surprise of an event of probability `p`, in bits.
fn surprise(p: f64) -> f64 {
    -Real::log(p) / std::f64::consts::LN_2
}

/// Draws one of `c`, and what `mu` becomes.
pub(crate) fn choose(c: &[Candidate], unit: f64, mu: f64, tau: f64, eta: f64) -> (usize, f64) {
    let p = probabilities(c, None);
    let i = draw(&p, unit);
    (i, mu - eta * (surprise(p[i]) - tau))
}
