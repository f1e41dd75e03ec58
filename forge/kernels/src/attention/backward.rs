//! Gradients of attention, from the saved maximum and sum of each row.

use super::tile::{Rows, scale_by};
use super::{Float, KEYS, Operand, Problem, ROWS, Stats};
use crate::disjoint::Disjoint;
use crate::gemm::{MatMut, MatRef, Options as Gemm, gemm};
use crate::math::Real;
use crate::scratch::Scratch;
use crate::softmax::{shift_of, sum_of};
use crate::{multiversion, team};

/// Where the gradients go. All dense; `bias` and `sinks` are empty where not wanted.
#[derive(Debug)]
pub struct Gradients<'a, T> {
    /// `[batch, queries, heads, width]`.
    pub q: &'a mut [T],
    /// `[batch, keys, kv_heads, width]`.
    pub k: &'a mut [T],
    /// `[batch, keys, kv_heads, value_width]`.
    pub v: &'a mut [T],
    /// `[batch, queries, heads, keys]`.
    pub bias: &'a mut [T],
    /// `[heads]`.
    pub sinks: &'a mut [T],
}

multiversion! {
    /// One row: scores become probabilities, and `dp` the gradients of the scores.
    fn pull_row<T: Real>(scores: &mut [T], dp: &mut [T], shift: T, inv: T, along: T) {
        for (s, d) in scores.iter_mut().zip(dp) {
            let p = (*s - shift).exp() * inv;
            *s = p;
            // What has no weight has no gradient, also where the gradient of the output is infinite.
            let g = p * (*d - along);
            *d = if p == T::ZERO { T::ZERO } else { g };
        }
    }
}
multiversion! {
    fn dot<T: Real>(a: &[T], b: &[T]) -> T {
        sum_of(a, b, |a, b| a * b)
    }
}
multiversion! {
    fn add<T: Real>(a: &mut [T], b: &[T]) {
        for (a, &b) in a.iter_mut().zip(b) {
            *a += b;
        }
    }
}

/// Gradients from that of the output, `g`, the output itself and the saved `stats`, all dense as [`forward`](super::forward)
/// gives them. One task for each batch and head of keys owns every gradient element of that head and of its group's
/// queries.
///
/// # Panics
/// When a slice does not have its size.
pub fn backward<T: Float>(p: &Problem<T>, out: &[T], stats: &[Stats<T>], g: &[T], grads: Gradients<T>) {
    let s = p.sizes;
    let rows = s.batch * s.queries * s.heads;
    assert!(
        out.len() == rows * s.value_width && g.len() == out.len() && stats.len() == rows,
        "the output has its size"
    );
    assert_eq!(grads.q.len(), rows * s.width, "the gradient of q has its size");
    assert_eq!(grads.k.len(), s.batch * s.keys * s.kv_heads * s.width, "the gradient of k has its size");
    assert_eq!(grads.v.len(), s.batch * s.keys * s.kv_heads * s.value_width, "the gradient of v has its size");
    assert!(grads.bias.is_empty() || grads.bias.len() == rows * s.keys, "the gradient of the bias has its size");
    for x in [&mut *grads.q, &mut *grads.k, &mut *grads.v, &mut *grads.bias] {
        x.fill(T::ZERO);
    }
    if !grads.sinks.is_empty() {
        sinks(p, out, stats, g, grads.sinks);
    }
    if rows == 0 {
        return;
    }
    p.check();
    let (dq, dk, dv) = (Disjoint::new(grads.q), Disjoint::new(grads.k), Disjoint::new(grads.v));
    let (want_bias, dbias) = (!grads.bias.is_empty(), Disjoint::new(grads.bias));
    // The output's gradient and the output, dense.
    let dense = |data| Operand {
        data,
        offset: 0,
        batch: (s.queries * s.heads * s.value_width) as isize,
        row: (s.heads * s.value_width) as isize,
        head: s.value_width as isize,
    };
    let (g, out) = (dense(g), dense(out));
    team::run(s.batch * s.kv_heads, |t| {
        let (b, head) = (t / s.kv_heads, t % s.kv_heads);
        for span in p.spans() {
            let mut sum_k = Scratch::zeros(span.keys.len() * s.width);
            let mut sum_v = Scratch::zeros(span.keys.len() * s.value_width);
            for block in 0..(span.queries.len() * s.group()).div_ceil(ROWS) {
                let rows = Rows::new(p, &span, b, head, block);
                let mut one = Block::new(&rows, &g, &out, stats);
                one.pull(&rows, &mut sum_k, &mut sum_v, |r, j, row| {
                    if want_bias {
                        let at = rows.place(r) * s.keys + span.keys.start + j;
                        // SAFETY: each row of queries belongs to one task (spans do not share queries), which is done
                        // with a piece of it before it asks for another.
                        unsafe { dbias.range(at, row.len()) }.copy_from_slice(row);
                    }
                });
                for r in 0..rows.len() {
                    // SAFETY: as above.
                    let to = unsafe { dq.range(rows.place(r) * s.width, s.width) };
                    to.copy_from_slice(&one.dq[r * s.width..(r + 1) * s.width]);
                }
            }
            for j in 0..span.keys.len() {
                let at = (b * s.keys + span.keys.start + j) * s.kv_heads + head;
                // SAFETY: rows of this batch and head belong to this task, which holds one at a time.
                add(unsafe { dk.range(at * s.width, s.width) }, &sum_k[j * s.width..(j + 1) * s.width]);
                let w = s.value_width;
                // SAFETY: as above.
                add(unsafe { dv.range(at * w, w) }, &sum_v[j * w..(j + 1) * w]);
            }
        }
    });
}

/// The gradient of each sink: minus its probability times `sum(g out)`, summed over rows in order.
fn sinks<T: Float>(p: &Problem<T>, out: &[T], stats: &[Stats<T>], g: &[T], ds: &mut [T]) {
    let (heads, w) = (p.sizes.heads, p.sizes.value_width);
    let Some(sinks) = p.options.sinks else { return ds.fill(T::ZERO) };
    team::for_each_chunk(ds, 1, |h, ds| {
        let mut sum = 0.0;
        for r in (h..stats.len()).step_by(heads) {
            let s = stats[r];
            if s.sum != T::ZERO {
                let share = (sinks[h] - shift_of(s.max)).exp() / s.sum;
                sum -= (share * dot(&g[r * w..(r + 1) * w], &out[r * w..(r + 1) * w])).to_f64();
            }
        }
        ds[0] = T::from_f64(sum);
    });
}

/// The state of the backward pass over a block of rows.
struct Block<T> {
    q: Scratch<T>,
    g: Scratch<T>,
    scores: Scratch<T>,
    dp: Scratch<T>,
    dq: Scratch<T>,
    /// For each row: what is subtracted from its scores, `1 / sum`, and `sum(g out)`.
    rows: [[T; 3]; ROWS],
}

impl<T: Float> Block<T> {
    fn new(block: &Rows<T>, g: &Operand<T>, out: &Operand<T>, stats: &[Stats<T>]) -> Self {
        let (n, s) = (block.len(), &block.p.sizes);
        let w = s.value_width;
        let (mut q, mut dy) = (Scratch::new(n * s.width), Scratch::new(n * w));
        block.gather(&block.p.q, s.width, block.p.options.scale, &mut q);
        block.gather(g, w, T::ONE, &mut dy);
        let mut rows = [[T::ZERO; 3]; ROWS];
        for (r, row) in rows[..n].iter_mut().enumerate() {
            let at = block.place(r);
            let stat = stats[at];
            let inv = if stat.sum == T::ZERO { T::ZERO } else { stat.sum.recip() };
            *row = [shift_of(stat.max), inv, dot(&dy[r * w..(r + 1) * w], &out.data[at * w..(at + 1) * w])];
        }
        let (scores, dp) = (Scratch::new(n * KEYS), Scratch::new(n * KEYS));
        Self { q, g: dy, scores, dp, dq: Scratch::zeros(n * s.width), rows }
    }

    /// Adds to `sum_k` and `sum_v`, makes `dq`; `bias(r, j, row)` sees the gradients of the scores from key `j` on.
    fn pull(&mut self, block: &Rows<T>, sum_k: &mut [T], sum_v: &mut [T], bias: impl Fn(usize, usize, &[T])) {
        let (d, w) = (block.p.sizes.width, block.p.sizes.value_width);
        let add = Gemm { accumulate: true, ..Gemm::default() };
        block.tiles(|rows, tile, keys| {
            let (from, n) = (keys.start - tile, keys.len());
            let first = rows.start * KEYS + from;
            let tile_of = |data| MatRef {
                data,
                offset: first,
                rows: rows.len(),
                cols: n,
                row_stride: KEYS as isize,
                col_stride: 1,
            };
            let q = MatRef::row_major(&self.q[rows.start * d..rows.end * d], rows.len(), d);
            let g = MatRef::row_major(&self.g[rows.start * w..rows.end * w], rows.len(), w);
            block.scores(&mut self.scores, &self.q, &rows, tile, &keys);
            let c = MatMut {
                data: &mut self.dp,
                offset: first,
                rows: rows.len(),
                cols: n,
                row_stride: KEYS as isize,
                col_stride: 1,
            };
            gemm(g, block.matrix(&block.p.v, w, &keys).t(), c, &Gemm::default());
            for r in rows.clone() {
                let [shift, inv, along] = self.rows[r];
                let at = r * KEYS + from..r * KEYS + from + n;
                pull_row(&mut self.scores[at.clone()], &mut self.dp[at.clone()], shift, inv, along);
                bias(r, keys.start, &self.dp[at]);
            }
            let to = MatMut::row_major(&mut sum_v[keys.start * w..keys.end * w], n, w);
            gemm(tile_of(&self.scores).t(), g, to, &add);
            let to = MatMut::row_major(&mut sum_k[keys.start * d..keys.end * d], n, d);
            gemm(tile_of(&self.dp).t(), q, to, &add);
            let to = MatMut::row_major(&mut self.dq[rows.start * d..rows.end * d], rows.len(), d);
            gemm(tile_of(&self.dp), block.matrix(&block.p.k, d, &keys), to, &add);
        });
        // The scores were of scaled queries.
        scale_by(&mut self.dq, block.p.options.scale);
    }
}
