//! Normalisation of rows: RMS, layer and L2 norm, group norm, cosine similarity, and the per-channel functions that go
//! with them.
//!
//! Statistics take two passes (the mean first, then the squares of what is left), and are computed again in the backward
//! pass rather than kept. The gradients of weight and bias are sums over rows: of fixed blocks of rows first, then of
//! the blocks in order, so they do not depend on threads.

use crate::lanes::{self, Lanes};
use crate::math::Real;
use crate::scratch::Scratch;
use crate::softmax::sum_of;
use crate::{multiversion, team};

/// Elements of one task of the team, about.
const TASK: usize = 16 * 1024;
/// Blocks of rows whose weight gradients are kept apart, at most.
const BLOCKS: usize = 32;

/// Which norm of a row of n elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// `x / sqrt(sum(x^2) / n + eps)`.
    Rms,
    /// `(x - mean) / sqrt(sum((x - mean)^2) / n + eps)`.
    Layer,
    /// `x / sqrt(sum(x^2) + eps)`.
    L2,
}

impl Norm {
    /// What the sum of squares is divided by.
    #[inline(always)]
    fn divisor<T: Real>(self, n: usize) -> T {
        if self == Self::L2 { T::ONE } else { T::from_f64(n as f64) }
    }
}

/// What is subtracted from a row, and what it is then multiplied by.
#[inline(always)]
fn stats<T: Real>(norm: Norm, x: &[T], eps: T) -> (T, T) {
    let n = norm.divisor::<T>(x.len());
    let mean = if norm == Norm::Layer { sum_of(x, x, |v, _| v) / n } else { T::ZERO };
    let squares = sum_of(x, x, |v, _| (v - mean) * (v - mean));
    (mean, (squares / n + eps).sqrt().recip())
}

multiversion! {
    /// One row: `out = (x - mean) r`, times the weight, plus the bias (where those are not empty).
    fn row<T: Real>(norm: Norm, out: &mut [T], x: &[T], w: &[T], b: &[T], eps: T) {
        let (mean, r) = stats(norm, x, eps);
        match (w.is_empty(), b.is_empty()) {
            (true, true) => {
                for (o, &x) in out.iter_mut().zip(x) {
                    *o = (x - mean) * r;
                }
            }
            (false, true) => {
                for (o, (&x, &w)) in out.iter_mut().zip(x.iter().zip(w)) {
                    *o = (x - mean) * r * w;
                }
            }
            (true, false) => {
                for (o, (&x, &b)) in out.iter_mut().zip(x.iter().zip(b)) {
                    *o = (x - mean) * r + b;
                }
            }
            (false, false) => {
                for (o, (&x, (&w, &b))) in out.iter_mut().zip(x.iter().zip(w.iter().zip(b))) {
                    *o = (x - mean) * r * w + b;
                }
            }
        }
    }
}

/// Normalises rows of `n` elements; `w` and `b` have `n` elements or none.
pub fn forward<T: Real>(norm: Norm, n: usize, out: &mut [T], x: &[T], w: &[T], b: &[T], eps: T) {
    assert!(out.len() == x.len() && (w.is_empty() || w.len() == n) && (b.is_empty() || b.len() == n), "sizes agree");
    if x.is_empty() {
        return;
    }
    let rows = (TASK / n).max(1);
    team::for_each_chunk(out, rows * n, |t, out| {
        for (r, out) in out.chunks_exact_mut(n).enumerate() {
            let at = (t * rows + r) * n;
            row(norm, out, &x[at..at + n], w, b, eps);
        }
    });
}

multiversion! {
    /// One row of the backward pass: with `h = g w` and `y = (x - mean) r`, `dx = r (h - [mean h] - y sum(h y) / N)`;
    /// adds `g y` to `dw` and `g` to `db` (where those are not empty).
    fn pull_row<T: Real>(norm: Norm, dx: &mut [T], x: &[T], g: &[T], w: &[T], eps: T, dw: &mut [T], db: &mut [T]) {
        let (mean, r) = stats(norm, x, eps);
        let n = norm.divisor::<T>(x.len());
        if w.is_empty() {
            dx.copy_from_slice(g);
        } else {
            for (d, (&g, &w)) in dx.iter_mut().zip(g.iter().zip(w)) {
                *d = g * w;
            }
        }
        let along = sum_of(dx, x, |h, x| h * ((x - mean) * r)) / n;
        let across = if norm == Norm::Layer { sum_of(dx, dx, |h, _| h) / n } else { T::ZERO };
        for (d, &x) in dx.iter_mut().zip(x) {
            *d = r * (*d - across - (x - mean) * r * along);
        }
        for (d, (&g, &x)) in dw.iter_mut().zip(g.iter().zip(x)) {
            *d += g * ((x - mean) * r);
        }
        for (d, &g) in db.iter_mut().zip(g) {
            *d += g;
        }
    }
}

/// Gradients of [`forward`]: of the input, and of weight and bias where `dw` and `db` are not empty.
pub fn backward<T: Real>(
    norm: Norm,
    n: usize,
    x: &[T],
    g: &[T],
    w: &[T],
    eps: T,
    dx: &mut [T],
    dw: &mut [T],
    db: &mut [T],
) {
    assert!(dx.len() == x.len() && g.len() == x.len() && (w.is_empty() || w.len() == n), "sizes agree");
    dw.fill(T::ZERO);
    db.fill(T::ZERO);
    if x.is_empty() {
        return;
    }
    let count = x.len() / n;
    let wanted = !dw.is_empty() || !db.is_empty();
    let rows = (TASK / n).max(1).max(if wanted { count.div_ceil(BLOCKS) } else { 1 });
    // Each block has a row of weight gradients and one of bias gradients.
    let mut partial = Scratch::zeros(if wanted { count.div_ceil(rows) * 2 * n } else { 0 });
    let (ndw, ndb) = (if dw.is_empty() { 0 } else { n }, if db.is_empty() { 0 } else { n });
    let block = |t: usize, dx: &mut [T], p: &mut [T]| {
        let (pw, pb) = p.split_at_mut(p.len() / 2);
        let (pw, pb) = (&mut pw[..ndw], &mut pb[..ndb]);
        for (r, dx) in dx.chunks_exact_mut(n).enumerate() {
            let at = (t * rows + r) * n;
            pull_row(norm, dx, &x[at..at + n], &g[at..at + n], w, eps, pw, pb);
        }
    };
    if !wanted {
        team::for_each_chunk(dx, rows * n, |t, dx| block(t, dx, &mut []));
        return;
    }
    team::for_each_chunk2(dx, rows * n, &mut partial, 2 * n, block);
    for p in partial.chunks_exact(2 * n) {
        add(dw, &p[..ndw]);
        add(db, &p[n..n + ndb]);
    }
}

multiversion! {
    /// `a += b`.
    fn add<T: Real>(a: &mut [T], b: &[T]) {
        for (a, &b) in a.iter_mut().zip(b) {
            *a += b;
        }
    }
}

/// Sizes of a group norm: rows are groups, of `per_group` channels of `spatial` elements; `groups` of them stand for
/// each example.
#[derive(Clone, Copy, Debug)]
pub struct Groups {
    /// Groups of one example.
    pub groups: usize,
    /// Channels of one group.
    pub per_group: usize,
    /// Elements of one channel.
    pub spatial: usize,
}

impl Groups {
    fn row(self) -> usize {
        self.per_group * self.spatial
    }
}

/// The sum of `f` in f64, over 8 interleaved accumulators.
#[inline(always)]
fn wide_sum<T: Real>(x: &[T], f: impl Fn(f64) -> f64) -> f64 {
    let mut acc = [0.0; 8];
    let (whole, rest) = x.as_chunks::<8>();
    for c in whole {
        for (a, v) in acc.iter_mut().zip(c) {
            *a += f(v.to_f64());
        }
    }
    for (a, v) in acc.iter_mut().zip(rest) {
        *a += f(v.to_f64());
    }
    ((acc[0] + acc[4]) + (acc[2] + acc[6])) + ((acc[1] + acc[5]) + (acc[3] + acc[7]))
}

multiversion! {
    /// Mean and `1 / sqrt(variance + eps)` of a row, in f64.
    fn wide_stats<T: Real>(x: &[T], eps: f64) -> [f64; 2] {
        let n = x.len() as f64;
        let mean = wide_sum(x, |v| v) / n;
        let var = wide_sum(x, |v| (v - mean) * (v - mean)) / n;
        [mean, 1.0 / (var + eps).sqrt()]
    }
}

/// Group norm of `x` seen as `[.., groups, per_group, spatial]`; `w` and `b` have one element for each channel, or none.
pub fn group_forward<T: Real>(s: Groups, out: &mut [T], x: &[T], w: &[T], b: &[T], eps: f64) {
    let n = s.row();
    if x.is_empty() {
        return;
    }
    team::for_each_chunk(out, n, |row, out| {
        let x = &x[row * n..(row + 1) * n];
        let [mean, r] = wide_stats(x, eps);
        let first = row % s.groups * s.per_group;
        for (c, (out, x)) in out.chunks_exact_mut(s.spatial).zip(x.chunks_exact(s.spatial)).enumerate() {
            let scale = r * w.get(first + c).map_or(1.0, |w| w.to_f64());
            let shift = b.get(first + c).map_or(0.0, |b| b.to_f64()) - mean * scale;
            for (o, x) in out.iter_mut().zip(x) {
                *o = T::from_f64(x.to_f64() * scale + shift);
            }
        }
    });
}

/// Gradients of [`group_forward`]; `dw` and `db` are empty where not wanted.
pub fn group_backward<T: Real>(
    s: Groups,
    x: &[T],
    g: &[T],
    w: &[T],
    eps: f64,
    dx: &mut [T],
    dw: &mut [T],
    db: &mut [T],
) {
    let n = s.row();
    dw.fill(T::ZERO);
    db.fill(T::ZERO);
    if x.is_empty() {
        return;
    }
    // For each channel of each row: the sums of `g (x - mean) r` and of `g`.
    let mut sums = vec![[0.0f64; 2]; x.len() / s.spatial];
    team::for_each_chunk2(dx, n, &mut sums, s.per_group, |row, dx, sums| {
        let (x, g) = (&x[row * n..(row + 1) * n], &g[row * n..(row + 1) * n]);
        let [mean, r] = wide_stats(x, eps);
        let first = row % s.groups * s.per_group;
        let weight = |c: usize| w.get(first + c).map_or(1.0, |w| w.to_f64());
        let (mut along, mut across) = (0.0, 0.0);
        for (c, (sum, (x, g))) in
            sums.iter_mut().zip(x.chunks_exact(s.spatial).zip(g.chunks_exact(s.spatial))).enumerate()
        {
            for (x, g) in x.iter().zip(g) {
                sum[0] += g.to_f64() * ((x.to_f64() - mean) * r);
                sum[1] += g.to_f64();
            }
            along += weight(c) * sum[0];
            across += weight(c) * sum[1];
        }
        (along, across) = (along / n as f64, across / n as f64);
        for (c, dx) in dx.chunks_exact_mut(s.spatial).enumerate() {
            let at = c * s.spatial;
            for (i, d) in dx.iter_mut().enumerate() {
                let y = (x[at + i].to_f64() - mean) * r;
                *d = T::from_f64(r * (g[at + i].to_f64() * weight(c) - across - y * along));
            }
        }
    });
    // Over the examples in order.
    let channels = s.groups * s.per_group;
    for (k, d) in [dw, db].into_iter().enumerate() {
        for (c, d) in d.iter_mut().enumerate() {
            *d = T::from_f64(sums.iter().skip(c).step_by(channels).map(|s| s[k]).sum());
        }
    }
}

multiversion! {
    /// `sum(x y)`, `sum(x^2)` and `sum(y^2)`.
    fn products<T: Real>(x: &[T], y: &[T]) -> [T; 3] {
        [sum_of(x, y, |x, y| x * y), sum_of(x, x, |x, _| x * x), sum_of(y, y, |y, _| y * y)]
    }
}

/// `sum(x y) / max(|x| |y|, eps)` of each pair of lanes.
pub fn cosine_forward<T: Real>(lanes: Lanes, out: &mut [T], x: &[T], y: &[T], eps: T) {
    lanes::reduce(lanes, out, [x, y], |_, [x, y]| {
        let [xy, xx, yy] = products(x, y);
        let n = xx.sqrt() * yy.sqrt();
        // A NaN stays one.
        xy / if n < eps { eps } else { n }
    });
}

/// The gradient of [`cosine_forward`] in `x`, `g` holding one number for each lane; exchange `x` and `y` for that in `y`.
pub fn cosine_backward<T: Real>(lanes: Lanes, dx: &mut [T], x: &[T], y: &[T], g: &[T], eps: T) {
    lanes::map(lanes, dx, [x, y], |lane, dx, [x, y]| {
        let [xy, xx, yy] = products(x, y);
        let n = xx.sqrt() * yy.sqrt();
        // d (xy / n) = y / n - x (xy / n) / xx; below eps the denominator is constant.
        let (a, b) = if n < eps { (g[lane] / eps, T::ZERO) } else { (g[lane] / n, g[lane] * (xy / n) / xx) };
        for (d, (&x, &y)) in dx.iter_mut().zip(x.iter().zip(y)) {
            *d = a * y - b * x;
        }
    });
}

/// Functions of `x`, `a`, `b` and a sine, which is the branch-free one wherever all arguments of a block are small enough.
macro_rules! with_sine {
    ($($(#[$doc:meta])* $name:ident |$x:ident, $a:ident, $b:ident, $sin:ident| $f:expr;)*) => {$(
        multiversion! {
            $(#[$doc])*
            pub fn $name<T: Real>(out: &mut [T], x: &[T], a: &[T], b: &[T]) {
                const BLOCK: usize = 128;
                for (((out, x), a), b) in out.chunks_mut(BLOCK).zip(x.chunks(BLOCK)).zip(a.chunks(BLOCK)).zip(b.chunks(BLOCK)) {
                    // Without the early exit of `any` the loop vectorises.
                    let large = x.iter().zip(a).fold(false, |l, (&x, &a)| l | ((a * x + a * x).abs() > T::TRIG_MAX));
                    let all = out.iter_mut().zip(x.iter().zip(a.iter().zip(b)));
                    if large {
                        let $sin = |v: T| v.sin();
                        for (o, (&$x, (&$a, &$b))) in all {
                            *o = $f;
                        }
                    } else {
                        let $sin = |v: T| v.sin_bounded();
                        for (o, (&$x, (&$a, &$b))) in all {
                            *o = $f;
                        }
                    }
                }
            }
        }
    )*};
}

with_sine! {
    /// `out = x + b sin^2(a x)`.
    snake |x, a, b, sin| { let s = sin(a * x); x + b * (s * s) };
    /// The slope of [`snake`] in `x`: `1 + a b sin(2 a x)`.
    snake_slope |x, a, b, sin| T::ONE + a * b * sin(a * x + a * x);
    /// The slope of [`snake`] in `a`: `b x sin(2 a x)`.
    snake_slope_a |x, a, b, sin| b * x * sin(a * x + a * x);
    /// The slope of [`snake`] in `b`: `sin^2(a x)`.
    snake_slope_b |x, a, _b, sin| { let s = sin(a * x); s * s };
}

multiversion! {
    /// `x`, or `a x` below 0.
    pub fn prelu<T: Real>(out: &mut [T], x: &[T], a: &[T]) {
        for (o, (&x, &a)) in out.iter_mut().zip(x.iter().zip(a)) {
            *o = if x < T::ZERO { a * x } else { x };
        }
    }
}
multiversion! {
    /// The slope of [`prelu`] in `x`; 1 at 0.
    pub fn prelu_slope<T: Real>(out: &mut [T], x: &[T], a: &[T]) {
        for (o, (&x, &a)) in out.iter_mut().zip(x.iter().zip(a)) {
            *o = if x < T::ZERO { a } else { T::ONE };
        }
    }
}
multiversion! {
    /// `out = x a + b`.
    pub fn affine<T: Real>(out: &mut [T], x: &[T], a: &[T], b: &[T]) {
        for (o, (&x, (&a, &b))) in out.iter_mut().zip(x.iter().zip(a.iter().zip(b))) {
            *o = x * a + b;
        }
    }
}
