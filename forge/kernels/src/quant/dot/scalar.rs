//! The meaning of the dot products, on any machine.

use super::formats::{Short, Super};
use super::{GROUP, Work};
use crate::quant::activation::SUMMED;

/// Weights of short blocks.
pub(super) fn short<F: Short>(work: &Work<'_>, put: &mut dyn FnMut(usize, &[f32; GROUP])) {
    let x = work.x;
    let parts = x.cols / 32;
    for t in 0..x.rows {
        let (codes, _) = x.codes[t * x.cols..][..x.cols].as_chunks::<32>();
        let scales = &x.scales[t * parts..][..parts];
        let sums = &x.sums[t * 2 * parts..][..2 * parts];
        let mut y = [0.0; GROUP];
        for (y, row) in y.iter_mut().zip(&work.rows) {
            for p in 0..parts {
                let (block, j) = (&row[p / F::PARTS * F::BYTES..][..F::BYTES], p % F::PARTS);
                let sum_x = i32::from(sums[2 * p]) + i32::from(sums[2 * p + 1]);
                let sum = dot(&F::codes(block, j), &codes[p]) - F::ZERO * sum_x;
                let (d, m) = F::scale(block);
                *y = (d * scales[p]).mul_add(sum as f32, *y);
                if F::MIN {
                    *y = m.mul_add(scales[p] * sum_x as f32, *y);
                }
            }
        }
        put(t, &y);
    }
}

/// Weights of blocks of 256.
pub(super) fn super_block<F: Super>(work: &Work<'_>, put: &mut dyn FnMut(usize, &[f32; GROUP])) {
    let x = work.x;
    let blocks = x.cols / 256;
    for t in 0..x.rows {
        let (codes, _) = x.codes[t * x.cols..][..x.cols].as_chunks::<SUMMED>();
        let (sums, _) = x.sums[t * x.cols / SUMMED..][..x.cols / SUMMED].as_chunks::<16>();
        let scales = &x.scales[t * blocks..][..blocks];
        let mut y = [0.0; GROUP];
        for (y, row) in y.iter_mut().zip(&work.rows) {
            for (b, block) in row.chunks_exact(F::BYTES).enumerate() {
                let q = F::codes(block);
                let (s, m) = F::scales(block);
                let (mut sum, mut sum_m) = (0, 0);
                for g in 0..16 {
                    let part = dot(&q.as_chunks::<SUMMED>().0[g], &codes[16 * b + g]);
                    let sum_x = i32::from(sums[b][g]);
                    sum += i32::from(s[g]) * (part - F::ZERO * sum_x);
                    sum_m += i32::from(m[g]) * sum_x;
                }
                let (d, dmin) = F::scale(block);
                *y = (d * scales[b]).mul_add(sum as f32, *y);
                if F::MIN {
                    *y = (-(dmin * scales[b])).mul_add(sum_m as f32, *y);
                }
            }
        }
        put(t, &y);
    }
}

#[inline(always)]
fn dot<const N: usize>(a: &[i8; N], b: &[i8; N]) -> i32 {
    a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
}
