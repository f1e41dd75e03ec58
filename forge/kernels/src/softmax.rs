//! Softmax and its logarithm along one axis, with the extras of attention: a scale, an additive mask, ALiBi slopes,
//! sinks, a causal bound.
//!
//! The largest logit is subtracted first, so nothing overflows. A lane in which nothing may be attended to (every logit
//! is `-inf`, or the causal bound leaves none, and there is no sink) gives zeros, and its logarithm `-inf`. A NaN makes
//! its whole lane NaN, but not where the causal bound hides it.

use crate::lanes::{self, LaneAxis, Lanes};
use crate::layout::Strided;
use crate::math::Real;
use crate::multiversion;

/// Accumulators of a sum or maximum along a lane: a fixed number, so that the order is one on every CPU.
const LANES: usize = 16;

/// What happens to the logits before the exponential. [`Default`] is plain softmax.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a, T> {
    /// Factor of the input.
    pub scale: T,
    /// Added to the scaled input.
    pub mask: Option<Mask<'a, T>>,
    /// One more logit for each position of an axis: it joins the maximum and the denominator and has no output.
    pub sinks: Option<(LaneAxis, &'a [T])>,
    /// Lanes see a part of their elements.
    pub causal: Option<Causal>,
}

/// An additive mask.
#[derive(Clone, Copy, Debug)]
pub struct Mask<'a, T> {
    /// The mask over the lanes' axes in their order, then the lanes' own axis; strides of 0 repeat it.
    pub view: Strided<'a, T>,
    /// Factor of the mask for each position of an axis.
    pub slopes: Option<(LaneAxis, &'a [T])>,
}

/// The lane at query position `q` sees its elements `0..=q + offset`; what follows is not read and gives 0.
#[derive(Clone, Copy, Debug)]
pub struct Causal {
    /// The axis of queries.
    pub query: LaneAxis,
    /// How many more elements than its own position a query sees.
    pub offset: isize,
}

impl<T: Real> Default for Options<'_, T> {
    fn default() -> Self {
        Self { scale: T::ONE, mask: None, sinks: None, causal: None }
    }
}

/// Slope of head `head` of `heads` in ALiBi ([Press et al. 2021](https://arxiv.org/abs/2108.12409)) with the exponent
/// `max_bias` (8 in the paper): with `n` the largest power of two that is at most `heads`, `2^(-max_bias / n)` to the
/// power `head + 1` for the first `n` heads, `2^(-max_bias / 2n)` to the odd powers for the others.
pub fn alibi_slope(head: usize, heads: usize, max_bias: f64) -> f64 {
    let n = if heads == 0 { 1 } else { 1usize << heads.ilog2() };
    if head < n {
        (-max_bias * (head + 1) as f64 / n as f64).exp2()
    } else {
        (-max_bias * (2 * (head - n) + 1) as f64 / (2 * n) as f64).exp2()
    }
}

/// Elements that the lane at query position `q` sees of its `n`.
#[inline]
fn visible(q: usize, offset: isize, n: usize) -> usize {
    (q as isize).saturating_add(offset).saturating_add(1).clamp(0, n as isize) as usize
}

/// `out = softmax(x)` along the lanes.
pub fn forward<T: Real>(lanes: Lanes, out: &mut [T], x: &[T], options: &Options<T>) {
    let n = lanes.len;
    let o = options;
    lanes::map(lanes, out, [x], |lane, out, [x]| {
        let seen = o.causal.map_or(n, |c| visible(c.query.of(lane), c.offset, n));
        let (row, tail) = out.split_at_mut(seen);
        match &o.mask {
            None => scaled(row, &x[..seen], o.scale),
            Some(mask) => {
                mask.view.copy_to(lane * n, row);
                let slope = mask.slopes.map_or(T::ONE, |(axis, s)| s[axis.of(lane)]);
                masked(row, &x[..seen], o.scale, slope);
            }
        }
        let sink = o.sinks.map_or(T::NEG_INFINITY, |(axis, s)| s[axis.of(lane)]);
        normalise(row, sink);
        tail.fill(T::ZERO);
    });
}

/// `dx = scale * y (g - sum(g y))` along the lanes, from the output `y`.
pub fn backward<T: Real>(lanes: Lanes, dx: &mut [T], y: &[T], g: &[T], scale: T) {
    lanes::map(lanes, dx, [y, g], |_, dx, [y, g]| pull(dx, y, g, scale));
}

/// `out = log(softmax(x))` along the lanes.
pub fn log_forward<T: Real>(lanes: Lanes, out: &mut [T], x: &[T]) {
    lanes::map(lanes, out, [x], |_, out, [x]| log_row(out, x));
}

/// `dx = g - exp(y) sum(g)` along the lanes, from the output `y`.
pub fn log_backward<T: Real>(lanes: Lanes, dx: &mut [T], y: &[T], g: &[T]) {
    lanes::map(lanes, dx, [y, g], |_, dx, [y, g]| log_pull(dx, y, g));
}

/// The largest element of each lane, 0 where there is none above `-inf`: what softmax subtracts.
pub fn shifts<T: Real>(lanes: Lanes, out: &mut [T], x: &[T]) {
    lanes::reduce(lanes, out, [x], |_, [x]| shift_of(largest(x, T::NEG_INFINITY)));
}

/// The largest of `x` and `start`; NaN is passed over.
#[inline(always)]
pub(crate) fn largest<T: Real>(x: &[T], start: T) -> T {
    let mut acc = [start; LANES];
    let mut chunks = x.chunks_exact(LANES);
    for c in &mut chunks {
        for (a, &v) in acc.iter_mut().zip(c) {
            *a = if v > *a { v } else { *a };
        }
    }
    for (a, &v) in acc.iter_mut().zip(chunks.remainder()) {
        *a = if v > *a { v } else { *a };
    }
    acc.iter().fold(start, |m, &v| if v > m { v } else { m })
}

/// The sum of [`LANES`] accumulators, pairwise.
#[inline(always)]
pub(crate) fn total<T: Real>(mut acc: [T; LANES]) -> T {
    let mut n = LANES;
    while n > 1 {
        n /= 2;
        for i in 0..n {
            acc[i] += acc[i + n];
        }
    }
    acc[0]
}

/// The sum of `f` over two slices.
#[inline(always)]
pub(crate) fn sum_of<T: Real>(a: &[T], b: &[T], f: impl Fn(T, T) -> T) -> T {
    let mut acc = [T::ZERO; LANES];
    let (mut ca, mut cb) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    for (a, b) in (&mut ca).zip(&mut cb) {
        for (s, (&a, &b)) in acc.iter_mut().zip(a.iter().zip(b)) {
            *s += f(a, b);
        }
    }
    for (s, (&a, &b)) in acc.iter_mut().zip(ca.remainder().iter().zip(cb.remainder())) {
        *s += f(a, b);
    }
    total(acc)
}

/// `x[i] = exp(x[i] - shift)` in place; gives the sum.
#[inline(always)]
pub(crate) fn exponentiate<T: Real>(x: &mut [T], shift: T) -> T {
    let mut acc = [T::ZERO; LANES];
    let mut chunks = x.chunks_exact_mut(LANES);
    for c in &mut chunks {
        for (a, v) in acc.iter_mut().zip(c) {
            *v = (*v - shift).exp();
            *a += *v;
        }
    }
    for (a, v) in acc.iter_mut().zip(chunks.into_remainder()) {
        *v = (*v - shift).exp();
        *a += *v;
    }
    total(acc)
}

/// The sum of `exp(x[i] - shift)`.
#[inline(always)]
pub(crate) fn exp_sum<T: Real>(x: &[T], shift: T) -> T {
    let mut acc = [T::ZERO; LANES];
    let mut chunks = x.chunks_exact(LANES);
    for c in &mut chunks {
        for (a, &v) in acc.iter_mut().zip(c) {
            *a += (v - shift).exp();
        }
    }
    for (a, &v) in acc.iter_mut().zip(chunks.remainder()) {
        *a += (v - shift).exp();
    }
    total(acc)
}

/// What is subtracted from logits whose largest is `m`: 0 where there is none, so that `exp` gives zeros.
#[inline(always)]
pub(crate) fn shift_of<T: Real>(m: T) -> T {
    if m == T::NEG_INFINITY { T::ZERO } else { m }
}

multiversion! {
    /// `out = x * scale`.
    fn scaled<T: Real>(out: &mut [T], x: &[T], scale: T) {
        for (o, &x) in out.iter_mut().zip(x) {
            *o = x * scale;
        }
    }
}
multiversion! {
    /// `out = x * scale + slope * out`, where `out` holds the mask.
    fn masked<T: Real>(out: &mut [T], x: &[T], scale: T, slope: T) {
        for (o, &x) in out.iter_mut().zip(x) {
            *o = x * scale + slope * *o;
        }
    }
}
multiversion! {
    /// Logits to probabilities in place; `sink` is one more logit.
    fn normalise<T: Real>(row: &mut [T], sink: T) {
        let shift = shift_of(largest(row, sink));
        let sum = exponentiate(row, shift) + (sink - shift).exp();
        // Only a lane without any visible logit sums to 0.
        let inv = if sum == T::ZERO { T::ZERO } else { sum.recip() };
        for v in row.iter_mut() {
            *v *= inv;
        }
    }
}
multiversion! {
    /// `dx = scale * y (g - sum(g y))`.
    fn pull<T: Real>(dx: &mut [T], y: &[T], g: &[T], scale: T) {
        let s = sum_of(y, g, |y, g| y * g);
        for (d, (&y, &g)) in dx.iter_mut().zip(y.iter().zip(g)) {
            *d = scale * (y * (g - s));
        }
    }
}
multiversion! {
    /// `out = x - log(sum(exp(x)))`.
    fn log_row<T: Real>(out: &mut [T], x: &[T]) {
        let shift = shift_of(largest(x, T::NEG_INFINITY));
        let sum = exp_sum(x, shift);
        let log = if sum == T::ZERO { T::ZERO } else { sum.log() };
        for (o, &x) in out.iter_mut().zip(x) {
            *o = (x - shift) - log;
        }
    }
}
multiversion! {
    /// `dx = g - exp(y) sum(g)`.
    fn log_pull<T: Real>(dx: &mut [T], y: &[T], g: &[T]) {
        let s = sum_of(g, g, |g, _| g);
        for (d, (&y, &g)) in dx.iter_mut().zip(y.iter().zip(g)) {
            *d = g - y.exp() * s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn softmax(x: &[f32], options: &Options<f32>) -> Vec<f32> {
        let mut y = vec![9.0; x.len()];
        forward(Lanes { outer: 1, len: x.len(), inner: 1 }, &mut y, x, options);
        y
    }

    #[test]
    fn what_is_masked_is_nothing() {
        let inf = f32::INFINITY;
        assert_eq!(softmax(&[-inf, -inf], &Options::default()), [0.0, 0.0]);
        assert_eq!(softmax(&[-inf, 3.0], &Options::default()), [0.0, 1.0]);
        assert!(softmax(&[f32::NAN, -inf], &Options::default()).iter().all(|v| v.is_nan()));
        assert!(softmax(&[inf, 1.0], &Options::default()).iter().any(|v| v.is_nan()));
        let query = LaneAxis { stride: 1, size: 1 };
        let causal = Options { causal: Some(Causal { query, offset: 1 }), ..Options::default() };
        assert_eq!(softmax(&[1.0, 1.0, f32::NAN], &causal), [0.5, 0.5, 0.0]);
        let none = Options { causal: Some(Causal { query, offset: -1 }), ..Options::default() };
        assert_eq!(softmax(&[1.0, 1.0], &none), [0.0, 0.0]);
        // A sink takes its share: e^0 / (e^0 + e^0).
        let sink = Options { sinks: Some((query, &[0.0][..])), ..Options::default() };
        assert_eq!(softmax(&[0.0], &sink), [0.5]);
        assert_eq!(softmax(&[], &Options::default()), []);
    }

    #[test]
    fn slopes_of_alibi() {
        // The paper's 8 heads: 1/2, 1/4, .. 1/256.
        for h in 0..8 {
            assert_eq!(alibi_slope(h, 8, 8.0), 0.5f64.powi(h as i32 + 1));
        }
        // 12 heads: those of 8, then the odd powers of 16 heads' ratio.
        assert_eq!(alibi_slope(7, 12, 8.0), 1.0 / 256.0);
        assert!((alibi_slope(8, 12, 8.0) - 0.5f64.sqrt()).abs() < 1e-15);
        assert!((alibi_slope(9, 12, 8.0) - 0.5f64.sqrt().powi(3)).abs() < 1e-15);
    }

    #[test]
    fn large_logits_do_not_overflow() {
        let y = softmax(&[1e30, 1e30, -1e30], &Options::default());
        assert_eq!(y, [0.5, 0.5, 0.0]);
        let mut l = [0.0f32; 2];
        log_forward(Lanes { outer: 1, len: 2, inner: 1 }, &mut l, &[1000.0, 0.0]);
        assert_eq!(l, [0.0, -1000.0]);
        log_forward(Lanes { outer: 1, len: 2, inner: 1 }, &mut l, &[f32::NEG_INFINITY; 2]);
        assert_eq!(l, [f32::NEG_INFINITY; 2]);
    }
}
