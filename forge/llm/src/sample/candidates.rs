//! The tokens that may be chosen, and how their number is cut down.

use forge_kernels::math::Real;

/// A token that may be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub token: u32,
    pub logit: f32,
}

/// The likelier first; of several the lower number.
fn likelier(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.logit.total_cmp(&a.logit).then(a.token.cmp(&b.token))
}

/// The likeliest `k` of the tokens that are allowed, the likeliest first.
///
/// Linear in the vocabulary for small `k`.
pub(crate) fn likeliest(logits: &[f32], k: usize, out: &mut Vec<Candidate>) {
    out.clear();
    let k = k.min(logits.len());
    let room = 2 * k + 64;
    // Nothing at or below it can be among the likeliest: equal ones later in the row come after.
    let mut floor = f32::NEG_INFINITY;
    for (token, &logit) in logits.iter().enumerate() {
        if logit > floor {
            out.push(Candidate { token: token as u32, logit });
            if out.len() == room && k > 0 {
                out.select_nth_unstable_by(k - 1, likelier);
                out.truncate(k);
                floor = out[k - 1].logit;
            }
        }
    }
    if k < out.len() {
        if k > 0 {
            out.select_nth_unstable_by(k - 1, likelier);
        }
        out.truncate(k);
    }
    out.sort_unstable_by(likelier);
}

/// Probabilities of candidates, the first of which is the likeliest, divided by the sum `total` of their exponentials
/// relative to it, or by their own.
pub(crate) fn probabilities(c: &[Candidate], total: Option<f64>) -> Vec<f64> {
    let top = c.first().map_or(0.0, |c| f64::from(c.logit));
    let mut p: Vec<f64> = c.iter().map(|c| Real::exp(f64::from(c.logit) - top)).collect();
    let total = total.unwrap_or_else(|| p.iter().sum());
    p.iter_mut().for_each(|p| *p /= total);
    p
}

/// The sum of the exponentials of all logits relative to `top`.
pub(crate) fn mass(logits: &[f32], top: f32) -> f64 {
    logits.iter().filter(|l| **l != f32::NEG_INFINITY).map(|&l| Real::exp(f64::from(l) - f64::from(top))).sum()
}

/// The fewest first tokens whose probabilities sum to at least `p`, and at least `keep`.
pub(crate) fn nucleus(prob: &[f64], p: f64, keep: usize) -> Option<usize> {
    let mut sum = 0.0;
    for (i, q) in prob.iter().enumerate() {
        sum += q;
        if sum >= p && i + 1 >= keep {
            return Some(i + 1);
        }
    }
    None
}

/// Keeps tokens at least `p` times as likely as the first, and at least `keep`.
pub(crate) fn min_p(c: &mut Vec<Candidate>, p: f64, keep: usize) {
    let Some(first) = c.first() else { return };
    let least = f64::from(first.logit) + Real::log(p);
    let n = c.iter().take_while(|c| f64::from(c.logit) >= least).count();
    c.truncate(n.max(keep).max(1));
}

/// Keeps the tokens whose surprise is nearest to the mean surprise, until they sum to more than `p`; sorted by that.
pub(crate) fn typical(c: &mut Vec<Candidate>, p: f64, keep: usize) {
    let prob = probabilities(c, None);
    let entropy: f64 = prob.iter().filter(|p| **p > 0.0).map(|&p| -p * Real::log(p)).sum();
    let mut order: Vec<(f64, usize)> = (0..c.len()).map(|i| ((-Real::log(prob[i]) - entropy).abs(), i)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut sum = 0.0;
    let n = order.iter().enumerate().find(|(rank, (_, i))| {
        sum += prob[*i];
        sum > p && rank + 1 >= keep
    });
    let n = n.map_or(order.len(), |(rank, _)| rank + 1);
    let mut kept: Vec<Candidate> = order[..n].iter().map(|&(_, i)| c[i]).collect();
    // What follows wants the likeliest first.
    kept.sort_unstable_by(likelier);
    *c = kept;
}

/// The first index at which the running sum of probabilities passes `unit` times their sum.
pub(crate) fn draw(prob: &[f64], unit: f64) -> usize {
    let target = unit * prob.iter().sum::<f64>();
    let mut sum = 0.0;
    for (i, p) in prob.iter().enumerate() {
        sum += p;
        if sum > target {
            return i;
        }
    }
    // Rounding: the last that has any probability.
    prob.iter().rposition(|p| *p > 0.0).unwrap_or(0)
}
