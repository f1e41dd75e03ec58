//! Losses: cross entropy along lanes, and losses of pairs of elements.
//!
//! The backward passes compute probabilities again from what the forward pass saved of each lane: its largest logit and
//! the reciprocal of its sum of exponentials.

use crate::lanes::{self, Lanes};
use crate::math::Real;
use crate::multiversion;
use crate::softmax::{exp_sum, largest, shift_of, sum_of};

/// What cross entropy keeps of a lane of logits, and its loss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row<T> {
    /// Largest logit (0 where all are `-inf`).
    pub shift: T,
    /// `1 / sum(exp(x - shift))`.
    pub inv: T,
    /// The lane's loss.
    pub loss: T,
}

/// The label that says "this lane has no loss", as the kernels see it.
pub const IGNORED: i64 = -1;

multiversion! {
    /// Largest logit (0 for none) and sum of exponentials.
    fn row_stats<T: Real>(x: &[T]) -> [T; 2] {
        let shift = shift_of(largest(x, T::NEG_INFINITY));
        [shift, exp_sum(x, shift)]
    }
}
multiversion! {
    /// `sum(shift - x[j])`.
    fn below<T: Real>(x: &[T], shift: T) -> T {
        sum_of(x, x, |x, _| shift - x)
    }
}
multiversion! {
    /// `out = g (e^(x - shift) inv - even)`.
    fn pull<T: Real>(out: &mut [T], x: &[T], shift: T, inv: T, g: T, even: T) {
        for (o, &x) in out.iter_mut().zip(x) {
            *o = g * ((x - shift).exp() * inv - even);
        }
    }
}
multiversion! {
    /// [`pull`] in place.
    pub(crate) fn pull_in_place<T: Real>(x: &mut [T], shift: T, inv: T, g: T, even: T) {
        for x in x.iter_mut() {
            *x = g * ((*x - shift).exp() * inv - even);
        }
    }
}

/// The loss of one lane of logits: `log sum exp(x) - (1 - s) x[label] - s mean(x)`, where `s` is the label smoothing;
/// 0 where the label is [`IGNORED`].
#[inline]
pub fn cross_entropy_row<T: Real>(x: &[T], label: i64, smoothing: T) -> Row<T> {
    if label == IGNORED {
        return Row { shift: T::ZERO, inv: T::ZERO, loss: T::ZERO };
    }
    let [shift, sum] = row_stats(x);
    let log = sum.log();
    // Differences to the largest logit come first: they keep their precision where the logits are large.
    let mut loss = log + (T::ONE - smoothing) * (shift - x[label as usize]);
    if smoothing != T::ZERO {
        loss += smoothing * (below(x, shift) / T::from_f64(x.len() as f64));
    }
    Row { shift, inv: sum.recip(), loss }
}

/// Cross entropy of each lane of logits with its label, a position of the lane or [`IGNORED`].
///
/// # Panics
/// When a label is neither.
pub fn cross_entropy<T: Real>(lanes: Lanes, rows: &mut [Row<T>], x: &[T], labels: &[i64], smoothing: T) {
    lanes::reduce(lanes, rows, [x], |lane, [x]| cross_entropy_row(x, labels[lane], smoothing));
}

/// The gradient of [`cross_entropy`]: `g (softmax(x) - target)` for each lane, `g` holding one number for each.
pub fn cross_entropy_backward<T: Real>(
    lanes: Lanes,
    dx: &mut [T],
    x: &[T],
    rows: &[Row<T>],
    labels: &[i64],
    g: &[T],
    smoothing: T,
) {
    let even = if lanes.len == 0 { T::ZERO } else { smoothing / T::from_f64(lanes.len as f64) };
    lanes::map(lanes, dx, [x], |lane, dx, [x]| {
        if labels[lane] == IGNORED {
            return dx.fill(T::ZERO);
        }
        let (row, g) = (rows[lane], g[lane]);
        pull(dx, x, row.shift, row.inv, g, even);
        dx[labels[lane] as usize] -= g * (T::ONE - smoothing);
    });
}

/// A loss of an element `x` and its target `y`.
pub trait Pair<T> {
    /// The loss; `p` is the parameter where there is one.
    fn f(x: T, y: T, p: T) -> T;
    /// The slopes in `x` and in `y`.
    fn slopes(x: T, y: T, p: T) -> (T, T);
}

macro_rules! pairs {
    ($($(#[$doc:meta])* $name:ident |$x:ident, $y:ident, $p:ident| $f:expr, $dx:expr, $dy:expr;)*) => {
        /// Which loss of a pair of elements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum PairLoss {
            $($(#[$doc])* $name,)*
        }
        $(
            struct $name;
            impl<T: Real> Pair<T> for $name {
                #[inline(always)]
                #[allow(unused_variables, reason = "most losses have no parameter")]
                fn f($x: T, $y: T, $p: T) -> T { $f }
                #[inline(always)]
                #[allow(unused_variables, reason = "most losses have no parameter, some slopes no operand")]
                fn slopes($x: T, $y: T, $p: T) -> (T, T) { ($dx, $dy) }
            }
        )*

        /// `out[i] = op(x[i], y[i])`.
        pub fn pair<T: Real>(op: PairLoss, p: T, out: &mut [T], x: &[T], y: &[T]) {
            match op { $(PairLoss::$name => map::<T, $name>(out, x, y, p),)* }
        }

        /// The slope of `op` in `x`.
        pub fn pair_slope_x<T: Real>(op: PairLoss, p: T, out: &mut [T], x: &[T], y: &[T]) {
            match op { $(PairLoss::$name => map_x::<T, $name>(out, x, y, p),)* }
        }

        /// The slope of `op` in `y`.
        pub fn pair_slope_y<T: Real>(op: PairLoss, p: T, out: &mut [T], x: &[T], y: &[T]) {
            match op { $(PairLoss::$name => map_y::<T, $name>(out, x, y, p),)* }
        }
    };
}

multiversion! {
    fn map<T: Real, O: Pair<T>>(out: &mut [T], x: &[T], y: &[T], p: T) {
        for (o, (&x, &y)) in out.iter_mut().zip(x.iter().zip(y)) {
            *o = O::f(x, y, p);
        }
    }
}
multiversion! {
    fn map_x<T: Real, O: Pair<T>>(out: &mut [T], x: &[T], y: &[T], p: T) {
        for (o, (&x, &y)) in out.iter_mut().zip(x.iter().zip(y)) {
            *o = O::slopes(x, y, p).0;
        }
    }
}
multiversion! {
    fn map_y<T: Real, O: Pair<T>>(out: &mut [T], x: &[T], y: &[T], p: T) {
        for (o, (&x, &y)) in out.iter_mut().zip(x.iter().zip(y)) {
            *o = O::slopes(x, y, p).1;
        }
    }
}

/// Probabilities closer to 0 or 1 than this are taken to be this far away.
const PROBABILITY: f64 = 1e-7;

/// `x` moved into `[1e-7, 1 - 1e-7]`, and whether it was there.
#[inline(always)]
fn inside<T: Real>(x: T) -> (T, bool) {
    let (lo, hi) = (T::from_f64(PROBABILITY), T::ONE - T::from_f64(PROBABILITY));
    let c = if x < lo { lo } else { x };
    let c = if c > hi { hi } else { c };
    (c, (x == c) | x.is_nan())
}

/// `p t`, 0 where `t` is 0, whatever `p` is.
#[inline(always)]
fn weighted<T: Real>(t: T, p: T) -> T {
    if t == T::ZERO { T::ZERO } else { t * p }
}

pairs! {
    /// `(x - y)^2`.
    Squared |x, y, p| (x - y) * (x - y), (x - y) + (x - y), (y - x) + (y - x);
    /// `(x - y)^2 / 2` where that difference is at most `p`, else `p (|x - y| - p / 2)`.
    Huber |x, y, p| {
        let d = (x - y).abs();
        let half = T::from_f64(0.5);
        if d > p { p * (d - half * p) } else { half * d * d }
    }, {
        let d = x - y;
        if d.abs() > p { p.copysign(d) } else { d }
    }, {
        let d = y - x;
        if d.abs() > p { p.copysign(d) } else { d }
    };
    /// Binary cross entropy of a probability: `-(y ln x + (1 - y) ln(1 - x))`, `x` clamped to `[1e-7, 1 - 1e-7]`.
    Binary |x, y, p| {
        let (x, _) = inside(x);
        -(y * x.log() + (T::ONE - y) * (-x).log1p())
    }, {
        let (c, free) = inside(x);
        let d = (c - y) / (c * (T::ONE - c));
        if free { d } else { T::ZERO }
    }, {
        let (x, _) = inside(x);
        (-x).log1p() - x.log()
    };
    /// Binary cross entropy of a logit: `max(x, 0) - x y + ln(1 + e^-|x|)`.
    BinaryLogits |x, y, p| x.softplus() - x * y, x.sigmoid() - y, -x;
    /// `y (ln y - x)`, 0 where `y` is 0: a term of the Kullback-Leibler divergence, `x` being a log-probability.
    Kl |x, y, p| weighted(y, y.log() - x), -y, {
        let d = y.log() + T::ONE - x;
        if y == T::ZERO { T::ZERO } else { d }
    };
    /// `e^y (y - x)`, 0 where `y` is `-inf`: the same with the target as a log-probability.
    KlLog |x, y, p| weighted(y.exp(), y - x), -y.exp(), weighted(y.exp(), y + T::ONE - x);
}

/// The sum of `values` in their order, in f64.
pub fn serial_sum<T: Real>(values: impl Iterator<Item = T>) -> f64 {
    values.fold(0.0, |s, v| s + v.to_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [PairLoss; 6] =
        [PairLoss::Squared, PairLoss::Huber, PairLoss::Binary, PairLoss::BinaryLogits, PairLoss::Kl, PairLoss::KlLog];

    #[test]
    fn slopes_agree_with_differences() {
        for op in ALL {
            for (x, y) in [(0.3f64, 0.6), (0.9, 0.1), (0.25, 0.5)] {
                let f = |x: f64, y: f64| {
                    let mut o = [0.0];
                    pair(op, 0.4, &mut o, &[x], &[y]);
                    o[0]
                };
                let h = 1e-5;
                let want = [(f(x + h, y) - f(x - h, y)) / (2.0 * h), (f(x, y + h) - f(x, y - h)) / (2.0 * h)];
                let (mut dx, mut dy) = ([0.0], [0.0]);
                pair_slope_x(op, 0.4, &mut dx, &[x], &[y]);
                pair_slope_y(op, 0.4, &mut dy, &[x], &[y]);
                assert!((dx[0] - want[0]).abs() < 1e-7 && (dy[0] - want[1]).abs() < 1e-7, "{op:?} at {x}, {y}");
            }
        }
    }

    #[test]
    fn ends_of_the_domain() {
        let at = |op, x: f32, y: f32| {
            let (mut o, mut dx, mut dy) = ([9.0f32], [9.0f32], [9.0f32]);
            pair(op, 1.0, &mut o, &[x], &[y]);
            pair_slope_x(op, 1.0, &mut dx, &[x], &[y]);
            pair_slope_y(op, 1.0, &mut dy, &[x], &[y]);
            [o[0], dx[0], dy[0]]
        };
        let inf = f32::INFINITY;
        // An impossible event that has no weight costs nothing.
        assert_eq!(at(PairLoss::Kl, -inf, 0.0), [0.0, 0.0, 0.0]);
        assert_eq!(at(PairLoss::KlLog, -inf, -inf), [0.0, 0.0, 0.0]);
        // A certain and wrong probability costs -ln 1e-7, with no slope.
        let [loss, slope, _] = at(PairLoss::Binary, 0.0, 1.0);
        assert!((loss - 16.118_095).abs() < 1e-4 && slope == 0.0);
        assert_eq!(at(PairLoss::BinaryLogits, 1e30, 1.0)[..2], [0.0, 0.0]);
        assert_eq!(at(PairLoss::BinaryLogits, -1e30, 1.0)[..2], [1e30, -1.0]);
        for op in ALL {
            assert!(at(op, f32::NAN, 0.5)[0].is_nan(), "{op:?}");
        }
    }

    #[test]
    fn large_logits_keep_their_precision() {
        let row = cross_entropy_row(&[10000.0f32, 9999.0], 1, 0.0);
        assert!((row.loss - 1.313_261_7).abs() < 1e-6);
        assert_eq!(cross_entropy_row(&[3.0f32], IGNORED, 0.0).loss, 0.0);
    }
}
