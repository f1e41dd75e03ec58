//! Products in single precision: plain number types, and any format after decoding.
//!
//! Element `k` of a row is added to sum `k mod 8` by a fused multiply-add, in the order of `k`; the last step is filled
//! with zeros. The eight sums `a` end as `((a0 + a4) + (a2 + a6)) + ((a1 + a5) + (a3 + a7))`. One order for every number
//! of rows, so a batch gives the bits of its rows one by one.

use super::{Matrix, decode};
use crate::disjoint::Disjoint;
use crate::scratch::Scratch;
use crate::team;

/// Sums of a row.
const LANES: usize = 8;
/// Rows of weights that are decoded together.
const ROWS: usize = 4;
/// Rows of activations that share what is loaded of the weights.
const TOKENS: usize = 3;

/// `out[t][r] = w[r] . x[t]`.
pub(crate) fn matmul(w: &Matrix<'_>, x: &[f32], out: &mut [f32]) {
    let (n, cols) = (w.rows(), w.cols());
    let m = x.len() / cols;
    let padded = cols.next_multiple_of(LANES);
    // Copied only where the last step needs zeros.
    let copy = (padded != cols).then(|| {
        let mut copy = Scratch::zeros(m * padded);
        for (to, from) in copy.chunks_exact_mut(padded).zip(x.chunks_exact(cols)) {
            to[..cols].copy_from_slice(from);
        }
        copy
    });
    let x = copy.as_deref().unwrap_or(x);
    let groups = n.div_ceil(ROWS);
    let per_task = (1usize << 16).div_ceil((ROWS * cols * m).max(1)).clamp(1, groups.div_ceil(8).max(1));
    let out = Disjoint::new(out);
    let rows = decode::rows(w.format());
    team::run(groups.div_ceil(per_task), |task| {
        let mut panel = Scratch::<f32>::zeros(ROWS * padded);
        for group in task * per_task..groups.min((task + 1) * per_task) {
            let first = group * ROWS;
            let count = ROWS.min(n - first);
            for r in 0..ROWS {
                rows(w.row(first + r.min(count - 1)), &mut panel[r * padded..][..cols]);
            }
            for t in (0..m).step_by(TOKENS) {
                let tokens = TOKENS.min(m - t);
                let mut y = [[0.0; ROWS]; TOKENS];
                let x = &x[t * padded..][..tokens * padded];
                match tokens {
                    1 => tile1(&panel, x, padded, &mut y),
                    2 => tile2(&panel, x, padded, &mut y),
                    _ => tile3(&panel, x, padded, &mut y),
                }
                for (i, y) in y[..tokens].iter().enumerate() {
                    // SAFETY: each group of rows belongs to one task, and each row of `x` has places of its own.
                    unsafe { out.range((t + i) * n + first, count) }.copy_from_slice(&y[..count]);
                }
            }
        }
    });
}

macro_rules! tiles {
    ($($name:ident = $tokens:literal;)+) => {
        $(crate::multiversion! {
            fn $name(panel: &[f32], x: &[f32], k: usize, y: &mut [[f32; ROWS]; TOKENS]) {
                tile::<$tokens>(panel, x, k, y);
            }
        })+
    };
}
tiles! {
    tile1 = 1;
    tile2 = 2;
    tile3 = 3;
}

#[inline(always)]
fn tile<const T: usize>(panel: &[f32], x: &[f32], k: usize, y: &mut [[f32; ROWS]; TOKENS]) {
    let w: [&[[f32; LANES]]; ROWS] = std::array::from_fn(|r| panel[r * k..][..k].as_chunks().0);
    let x: [&[[f32; LANES]]; T] = std::array::from_fn(|t| x[t * k..][..k].as_chunks().0);
    let mut sums = [[[0.0f32; LANES]; ROWS]; T];
    for step in 0..k / LANES {
        for t in 0..T {
            for r in 0..ROWS {
                for l in 0..LANES {
                    sums[t][r][l] = w[r][step][l].mul_add(x[t][step][l], sums[t][r][l]);
                }
            }
        }
    }
    for t in 0..T {
        for r in 0..ROWS {
            let a = sums[t][r];
            y[t][r] = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
        }
    }
}
