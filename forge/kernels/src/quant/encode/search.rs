//! Least-squares fits of scales and codes: what the encoders search with.
//!
//! Each sum runs from the first element to the last, and no multiply-add is fused.

use super::number::{extreme, nearest, nearest_product};

/// Magnitudes below it count as zero.
pub(crate) const TINY: f32 = 1e-15;

/// The sum of the squares.
#[inline(always)]
pub(crate) fn square_sum(x: &[f32]) -> f32 {
    x.iter().fold(0.0, |s, &v| s + v * v)
}

/// The mean of the squares.
#[inline(always)]
pub(crate) fn mean_square(x: &[f32]) -> f32 {
    square_sum(x) / x.len() as f32
}

/// `importance sqrt(mean + x^2)`: an error counts more where elements are large.
#[inline(always)]
pub(crate) fn weigh<const N: usize>(x: &[f32], importance: &[f32], mean: f32) -> [f32; N] {
    std::array::from_fn(|i| importance[i] * (mean + x[i] * x[i]).sqrt())
}

/// `sum w x q` and `sum w q^2` of a set of codes.
#[derive(Clone, Copy)]
struct Sums {
    xq: f32,
    qq: f32,
}

impl Sums {
    /// Of the codes that `code` gives.
    #[inline(always)]
    fn of(x: &[f32], w: &[f32], code: impl Fn(f32) -> i32) -> Self {
        let mut s = Self { xq: 0.0, qq: 0.0 };
        for (&x, &w) in x.iter().zip(w) {
            s = s.with(x, w, code(x));
        }
        s
    }

    /// With one more code.
    #[inline(always)]
    fn with(self, x: f32, w: f32, q: i32) -> Self {
        let q = q as f32;
        Self { xq: self.xq + w * x * q, qq: self.qq + w * q * q }
    }

    /// Without one of its codes.
    #[inline(always)]
    fn without(self, x: f32, w: f32, q: i32) -> Self {
        let q = q as f32;
        Self { xq: self.xq - w * x * q, qq: self.qq - w * q * q }
    }

    /// Whether the scale that fits these codes best leaves a smaller error than that of others.
    #[inline(always)]
    fn beats(self, other: Self) -> bool {
        self.xq * self.xq * other.qq > other.xq * other.xq * self.qq
    }

    /// The scale that fits best.
    #[inline(always)]
    fn scale(self) -> f32 {
        if self.qq > 0.0 { self.xq / self.qq } else { 0.0 }
    }
}

/// `x = s q` with `q` from `-n` to `n - 1`: tries nineteen scales around that of the extreme. Gives `s`; codes are `q + n`.
#[inline(always)]
pub(crate) fn symmetric(x: &[f32], w: &[f32], n: i32, codes: &mut [u8]) -> f32 {
    let max = extreme(x);
    if max.abs() < TINY {
        codes.fill(0);
        return 0.0;
    }
    let code = |inverse, v| nearest_product(inverse, v).clamp(-n, n - 1);
    let mut inverse = -(n as f32) / max;
    let sums = Sums::of(x, w, |v| code(inverse, v));
    let mut scale = if sums.qq == 0.0 { 0.0 } else { sums.xq / sums.qq };
    let mut best = scale * sums.xq;
    for step in (-9..=9).filter(|&s| s != 0) {
        let other = -(n as f32 + 0.1 * step as f32) / max;
        let sums = Sums::of(x, w, |v| code(other, v));
        if sums.qq > 0.0 && sums.xq * sums.xq > best * sums.qq {
            inverse = other;
            scale = sums.xq / sums.qq;
            best = scale * sums.xq;
        }
    }
    for (c, &v) in codes.iter_mut().zip(x) {
        *c = (code(inverse, v) + n) as u8;
    }
    scale
}

/// `x = s q` with `q` from `-n` to `n - 1`, weighted by squares: moves one code at a time while that helps, five rounds at
/// most. Gives `s`; codes are `q + n`.
#[inline(always)]
pub(crate) fn symmetric_by_moves(x: &[f32], n: i32, codes: &mut [u8]) -> f32 {
    let max = extreme(x);
    if max.abs() < TINY {
        codes.fill(0);
        return 0.0;
    }
    let inverse = -(n as f32) / max;
    let mut sums = Sums { xq: 0.0, qq: 0.0 };
    for (c, &v) in codes.iter_mut().zip(x) {
        let q = nearest_product(inverse, v).clamp(-n, n - 1);
        sums = sums.with(v, v * v, q);
        *c = (q + n) as u8;
    }
    for _ in 0..5 {
        let mut moved = false;
        for (c, &v) in codes.iter_mut().zip(x) {
            let (w, q) = (v * v, i32::from(*c) - n);
            let rest = sums.without(v, w, q);
            if rest.xq > 0.0 {
                let to = nearest(v * rest.qq / rest.xq).clamp(-n, n - 1);
                let new = rest.with(v, w, to);
                if to != q && new.qq > 0.0 && new.beats(sums) {
                    *c = (to + n) as u8;
                    sums = new;
                    moved = true;
                }
            }
        }
        if !moved {
            break;
        }
    }
    sums.scale()
}

/// `x = s q` with `q` from 0 to `n`, for `x` that is mostly not negative: the best of nine scales, then one code at a time.
/// Gives `s`; `codes` are `q`.
#[inline(always)]
pub(crate) fn positive(x: &[f32], w: &[f32], n: i32, codes: &mut [u8]) -> f32 {
    let max = x.iter().fold(0.0, |m: f32, &v| if m > v { m } else { v });
    if max < TINY {
        codes.fill(0);
        return 0.0;
    }
    // At first a code below zero counts as what its byte holds.
    let error = |inverse: f32, first: bool| {
        let scale = 1.0 / inverse;
        let mut sum = 0.0;
        for (&v, &w) in x.iter().zip(w) {
            let q = nearest_product(inverse, v);
            let q = if first { i32::from(q as u8) } else { q.min(n) };
            let diff = v - scale * q as f32;
            sum += w * diff * diff;
        }
        sum
    };
    let mut inverse = n as f32 / max;
    let mut best = error(inverse, true);
    for step in (-4..=4).filter(|&s| s != 0) {
        let other = (0.1 * step as f32 + n as f32) / max;
        let e = error(other, false);
        if e < best {
            best = e;
            inverse = other;
        }
    }
    let mut sums = Sums { xq: 0.0, qq: 0.0 };
    for ((c, &v), &w) in codes.iter_mut().zip(x).zip(w) {
        let q = nearest_product(inverse, v).min(n);
        *c = q as u8;
        sums = sums.with(v, w, q);
    }
    for _ in 0..5 {
        let mut moved = false;
        for ((c, &v), &w) in codes.iter_mut().zip(x).zip(w) {
            let q = i32::from(*c);
            let rest = sums.without(v, w, q);
            if rest.xq > 0.0 && rest.qq > 0.0 {
                let to = nearest(v * rest.qq / rest.xq).min(n);
                let new = rest.with(v, w, to);
                if to != q && new.beats(sums) {
                    *c = to as u8;
                    sums = new;
                    moved = true;
                }
            }
        }
        if !moved {
            break;
        }
    }
    sums.scale()
}

/// The inverse scales that [`affine`] tries: `(n + first + step i) / (max - min)` for `i` from 0 to `steps`, where
/// `min` follows the best so far.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) first: f32,
    pub(crate) step: f32,
    pub(crate) steps: i32,
    /// Errors count by their magnitude, not their square.
    pub(crate) magnitude: bool,
}

/// `x = s q - m` with `q` from 0 to `n` and `m` not negative: the best of a grid of scales, each with the `s` and `m` that
/// fit its codes best. Gives `s` and `m`; `codes` are `q`.
#[inline(always)]
pub(crate) fn affine<const N: usize>(x: &[f32], w: &[f32; N], n: i32, grid: Grid, codes: &mut [u8]) -> (f32, f32) {
    let (mut min, mut max) = (x[0], x[0]);
    let (mut sum_w, mut sum_x) = (w[0], w[0] * x[0]);
    for (&v, &w) in x.iter().zip(w).skip(1) {
        min = if v < min { v } else { min };
        max = if v > max { v } else { max };
        sum_w += w;
        sum_x += w * v;
    }
    min = if min > 0.0 { 0.0 } else { min };
    if max <= min {
        codes.fill(0);
        return (0.0, -min);
    }
    let quantise = |inverse: f32, min: f32, codes: &mut [u8; N]| {
        for (c, &v) in codes.iter_mut().zip(x) {
            *c = nearest_product(inverse, v - min).clamp(0, n) as u8;
        }
    };
    let error = |scale: f32, min: f32, codes: &[u8; N]| {
        let mut sum = 0.0;
        for ((&c, &v), &w) in codes.iter().zip(x).zip(w) {
            let diff = scale * f32::from(c) + min - v;
            let diff = if grid.magnitude { diff.abs() } else { diff * diff };
            sum += w * diff;
        }
        sum
    };
    let mut kept = [0; N];
    let inverse = n as f32 / (max - min);
    let mut scale = 1.0 / inverse;
    quantise(inverse, min, &mut kept);
    let mut best = error(scale, min, &kept);
    let mut tried = [0; N];
    for i in 0..=grid.steps {
        let inverse = (grid.first + grid.step * i as f32 + n as f32) / (max - min);
        quantise(inverse, min, &mut tried);
        let (mut sum_q, mut sum_qq, mut sum_xq) = (0.0f32, 0.0f32, 0.0f32);
        for ((&c, &v), &w) in tried.iter().zip(x).zip(w) {
            let q = f32::from(c);
            let wq = w * q;
            sum_q += wq;
            sum_qq += wq * q;
            sum_xq += wq * v;
        }
        let det = sum_w * sum_qq - sum_q * sum_q;
        if det > 0.0 {
            let mut s = (sum_w * sum_xq - sum_x * sum_q) / det;
            let mut m = (sum_qq * sum_x - sum_q * sum_xq) / det;
            if m > 0.0 {
                m = 0.0;
                s = sum_xq / sum_qq;
            }
            let e = error(s, m, &tried);
            if e < best {
                best = e;
                kept = tried;
                scale = s;
                min = m;
            }
        }
    }
    codes.copy_from_slice(&kept);
    (scale, -min)
}
