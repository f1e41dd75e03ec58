//! Sixteen uneven levels: `IQ4_NL` and `IQ4_XS`.

use super::number::{extreme, inverse, nearest_product, put_half};
use super::row_encoder;
use super::search::{TINY, square_sum, weigh};
use crate::quant::levels::UNEVEN;

row_encoder! {
    /// One scale.
    iq4_nl = block_iq4_nl, 32 => 18;
    /// Eight scales of six bits.
    iq4_xs = block_iq4_xs, 256 => 136;
}

/// The code of the level nearest to `v`, the upper of two.
#[inline(always)]
fn nearest(v: f32) -> u8 {
    let level = |i: usize| f32::from(UNEVEN[i]);
    // Levels that are not above `v`.
    let below = UNEVEN.iter().filter(|&&l| v >= f32::from(l)).count();
    match below {
        0 => 0,
        16 => 15,
        up => (if v - level(up - 1) < level(up) - v { up - 1 } else { up }) as u8,
    }
}

/// The scale of 32 elements: the best of fifteen around that of the extreme.
#[inline(always)]
fn scale(x: &[f32; 32], w: &[f32; 32]) -> f32 {
    let max = extreme(x);
    if max.abs() < TINY {
        return 0.0;
    }
    let sums = |inverse: f32| {
        let (mut xq, mut qq) = (0.0f32, 0.0f32);
        for (&x, &w) in x.iter().zip(w) {
            let q = f32::from(UNEVEN[usize::from(nearest(inverse * x))]);
            let wq = w * q;
            xq += wq * x;
            qq += wq * q;
        }
        (xq, qq)
    };
    let least = f32::from(UNEVEN[0]);
    let (xq, qq) = sums(1.0 / (-max / least));
    let mut d = if qq > 0.0 { xq / qq } else { 0.0 };
    let mut best = d * xq;
    for step in -7..=7 {
        let (xq, qq) = sums((step as f32 + least) / max);
        if qq > 0.0 && xq * xq > best * qq {
            d = xq / qq;
            best = d * xq;
        }
    }
    d
}

/// Codes of 32 elements by the inverse of their scale.
#[inline(always)]
fn put(x: &[f32; 32], inverse: f32, b: &mut [u8]) {
    for j in 0..16 {
        b[j] = nearest(inverse * x[j]) | nearest(inverse * x[j + 16]) << 4;
    }
}

/// What an error counts: by importance, or by the square of the element.
#[inline(always)]
fn weights(x: &[f32; 32], importance: Option<&[f32]>, mean: f32) -> [f32; 32] {
    importance.map_or_else(|| x.map(|v| v * v), |w| weigh::<32>(x, w, mean))
}

#[inline(always)]
fn block_iq4_nl(x: &[f32; 32], b: &mut [u8; 18], importance: Option<(&[f32; 32], f32)>) {
    let d = scale(x, &weights(x, importance.map(|(w, _)| &w[..]), square_sum(x) * (2.0 / 32.0)));
    put_half(b, 0, d);
    put(x, inverse(d), &mut b[2..]);
}

#[inline(always)]
fn block_iq4_xs(x: &[f32; 256], b: &mut [u8; 136], importance: Option<(&[f32; 256], f32)>) {
    let mean = square_sum(x) * (2.0 / 256.0);
    let x = x.as_chunks::<32>().0;
    let mut scales = [0.0; 8];
    for (s, x) in x.iter().enumerate() {
        scales[s] = scale(x, &weights(x, importance.map(|(w, _)| &w[32 * s..]), mean));
    }
    let d = -extreme(&scales) / 32.0;
    put_half(b, 0, d);
    let id = inverse(d);
    b[2..8].fill(0);
    for s in 0..8 {
        let l = nearest_product(id, scales[s]).clamp(-32, 31);
        put(&x[s], inverse(d * l as f32), &mut b[8 + 16 * s..]);
        let code = (l + 32) as u8;
        b[4 + s / 2] |= (code & 15) << (s % 2 * 4);
        b[2 + s / 4] |= (code >> 4) << (s % 4 * 2);
    }
}
