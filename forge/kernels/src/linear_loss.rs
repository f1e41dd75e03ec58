//! Losses of logits that are a matrix product, without all logits at once: a block of rows at a time, in the forward
//! and again in the backward pass.
//!
//! A row's loss is `total * log sum exp(z) - sum of its entries' weight * z[class]`, plus label smoothing; its gradient
//! in the logits is `total * softmax(z) - weights`. Cross entropy has one entry of weight 1 for each row, distillation
//! any number of weighted ones.

use crate::attention::Float;
use crate::gemm::{MatMut, MatRef, Options as Gemm, gemm};
use crate::loss::{Row, pull_in_place};
use crate::math::Real;
use crate::scratch::Scratch;
use crate::softmax::{exp_sum, largest, shift_of, sum_of};
use crate::{multiversion, team};
use std::ops::Range;

/// Logits that exist at a time, about.
const LOGITS: usize = 1 << 20;

/// One class of a row, with its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry<T> {
    /// Position of the class.
    pub class: usize,
    /// Weight in the loss.
    pub weight: T,
}

/// The rows of a problem that have a loss.
#[derive(Clone, Debug)]
pub struct Targets<T> {
    /// Which row of the input each is.
    pub rows: Vec<usize>,
    /// Where the entries of each row begin in `entries`; one more number than rows.
    pub starts: Vec<usize>,
    /// Entries, row after row.
    pub entries: Vec<Entry<T>>,
    /// What multiplies the logarithm of the sum of exponentials of each row.
    pub totals: Vec<T>,
    /// Label smoothing: the entries' weights are multiplied by `1 - s`, and all classes share `s total`.
    pub smoothing: T,
}

impl<T: Real> Targets<T> {
    fn entries(&self, i: usize) -> &[Entry<T>] {
        &self.entries[self.starts[i]..self.starts[i + 1]]
    }
}

/// The operands: `z = x w^T`.
#[derive(Clone, Copy, Debug)]
pub struct Linear<'a, T> {
    /// `[rows, width]`, dense.
    pub x: &'a [T],
    /// `[classes, width]`, any strides.
    pub w: MatRef<'a, T>,
}

impl<T: Float> Linear<'_, T> {
    fn width(&self) -> usize {
        self.w.cols
    }

    fn classes(&self) -> usize {
        self.w.rows
    }

    /// Rows of one block.
    fn block(&self) -> usize {
        (LOGITS / self.classes().max(1)).max(16)
    }

    /// The inputs of the targets `part` as a dense matrix.
    fn gather(&self, t: &Targets<T>, part: &Range<usize>) -> Scratch<T> {
        let d = self.width();
        let mut rows = Scratch::new(part.len() * d);
        for (to, &row) in t.rows[part.clone()].iter().enumerate() {
            rows[to * d..(to + 1) * d].copy_from_slice(&self.x[row * d..(row + 1) * d]);
        }
        rows
    }

    fn logits(&self, rows: &[T], z: &mut [T]) {
        let (d, n) = (self.width(), self.classes());
        let m = z.len() / n.max(1);
        gemm(MatRef::row_major(rows, m, d), self.w.t(), MatMut::row_major(z, m, n), &Gemm::default());
    }
}

multiversion! {
    /// Largest logit (0 for none), sum of exponentials, sum of the differences to the largest.
    fn row_stats<T: Real>(z: &[T]) -> [T; 3] {
        let shift = shift_of(largest(z, T::NEG_INFINITY));
        [shift, exp_sum(z, shift), sum_of(z, z, |z, _| shift - z)]
    }
}

/// What is kept of each target row, its loss included.
///
/// # Panics
/// When a row or class is outside its axis.
pub fn forward<T: Float>(l: Linear<T>, t: &Targets<T>, out: &mut [Row<T>]) {
    assert_eq!(out.len(), t.rows.len(), "one result for each target row");
    let n = l.classes();
    let per = l.block();
    for (b, out) in out.chunks_mut(per).enumerate() {
        let part = b * per..b * per + out.len();
        let rows = l.gather(t, &part);
        let mut z = Scratch::new(out.len() * n);
        l.logits(&rows, &mut z);
        team::for_each_chunk(out, (1 << 14) / n.max(1) + 1, |c, out| {
            for (i, o) in out.iter_mut().enumerate() {
                let r = c * ((1 << 14) / n.max(1) + 1) + i;
                *o = loss_row(&z[r * n..(r + 1) * n], t, part.start + r);
            }
        });
    }
}

fn loss_row<T: Float>(z: &[T], t: &Targets<T>, i: usize) -> Row<T> {
    let [shift, sum, below] = row_stats(z);
    let (total, s) = (t.totals[i], t.smoothing);
    // Everything relative to the largest logit: sum of weight * (shift - z), and the weights' excess over the total.
    let mut weights = T::ZERO;
    let mut loss = T::ZERO;
    for e in t.entries(i) {
        loss += e.weight * (shift - z[e.class]);
        weights += e.weight;
    }
    loss = total * sum.log() + (T::ONE - s) * loss + (T::ONE - s) * (total - weights) * shift;
    if s != T::ZERO {
        loss += s * total * (below / T::from_f64(z.len() as f64));
    }
    Row { shift, inv: sum.recip(), loss }
}

/// Gradients of `sum(g[i] * loss of row i)`: adds to `dx` and `dw` (both dense and zero at first; an empty one is not
/// wanted). Rows of the targets must differ where `dx` is wanted.
pub fn backward<T: Float>(l: Linear<T>, t: &Targets<T>, rows: &[Row<T>], g: &[T], dx: &mut [T], dw: &mut [T]) {
    let (n, d) = (l.classes(), l.width());
    let per = l.block();
    let add = Gemm { accumulate: true, ..Gemm::default() };
    for from in (0..t.rows.len()).step_by(per) {
        let part = from..(from + per).min(t.rows.len());
        let m = part.len();
        let x = l.gather(t, &part);
        let mut z = Scratch::new(m * n);
        l.logits(&x, &mut z);
        if n > 0 {
            team::for_each_chunk(&mut z, n, |r, z| {
                pull_row(z, t, part.start + r, &rows[part.start + r], g[part.start + r])
            });
        }
        let z = MatRef::row_major(&z, m, n);
        if !dw.is_empty() {
            gemm(z.t(), MatRef::row_major(&x, m, d), MatMut::row_major(dw, n, d), &add);
        }
        if !dx.is_empty() {
            let mut part_dx = Scratch::new(m * d);
            gemm(z, l.w, MatMut::row_major(&mut part_dx, m, d), &Gemm::default());
            for (r, &row) in t.rows[part].iter().enumerate() {
                dx[row * d..(row + 1) * d].copy_from_slice(&part_dx[r * d..(r + 1) * d]);
            }
        }
    }
}

/// Logits of row `i` become their gradients.
fn pull_row<T: Float>(z: &mut [T], t: &Targets<T>, i: usize, row: &Row<T>, g: T) {
    let s = t.smoothing;
    let even = s / T::from_f64(z.len() as f64);
    pull_in_place(z, row.shift, row.inv, g * t.totals[i], even);
    for e in t.entries(i) {
        z[e.class] -= g * (T::ONE - s) * e.weight;
    }
}
