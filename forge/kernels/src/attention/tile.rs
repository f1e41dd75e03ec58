//! One block of query rows against the tiles of keys that it sees.

use super::{Float, KEYS, Operand, Problem, ROWS, Span, Stats};
use crate::gemm::{MatMut, MatRef, Options as Gemm, gemm};
use crate::math::Real;
use crate::multiversion;
use crate::scratch::Scratch;
use crate::softmax::{largest, shift_of, total};
use std::ops::Range;

/// Accumulators of a sum along a row; divides [`KEYS`].
const LANES: usize = 16;

/// A block of rows: row `r` is query `r / group` of its span and head `r % group` of the group that shares a head of
/// keys.
pub(super) struct Rows<'a, T> {
    pub p: &'a Problem<'a, T>,
    pub span: &'a Span,
    pub b: usize,
    /// The head of keys and values.
    pub g: usize,
    /// The rows of the span that belong to this block.
    pub rows: Range<usize>,
}

impl<'a, T: Float> Rows<'a, T> {
    pub fn new(p: &'a Problem<'a, T>, span: &'a Span, b: usize, g: usize, block: usize) -> Self {
        let all = span.queries.len() * p.sizes.group();
        Self { p, span, b, g, rows: block * ROWS..((block + 1) * ROWS).min(all) }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Position in the span, and head, of row `r` of the block.
    pub fn row(&self, r: usize) -> (usize, usize) {
        let (row, group) = (self.rows.start + r, self.p.sizes.group());
        (row / group, self.g * group + row % group)
    }

    /// The number of row `r` in `[batch, queries, heads]`.
    pub fn place(&self, r: usize) -> usize {
        let ((i, h), s) = (self.row(r), &self.p.sizes);
        (self.b * s.queries + self.span.queries.start + i) * s.heads + h
    }

    /// The keys that row `r` sees, from the first of the span.
    pub fn sees(&self, r: usize) -> Range<usize> {
        self.p.sees(self.span, self.row(r).0)
    }

    /// Rows `of` of `width` elements copied together, times `scale`.
    pub fn gather(&self, of: &Operand<T>, width: usize, scale: T, out: &mut [T]) {
        for r in 0..self.len() {
            let (i, h) = self.row(r);
            let at = of.at(self.b, self.span.queries.start + i, h);
            scaled(&mut out[r * width..(r + 1) * width], &of.data[at..at + width], scale);
        }
    }

    /// Keys or values at `keys` of the span, as a matrix with a row for each.
    pub fn matrix<'m>(&self, of: &Operand<'m, T>, width: usize, keys: &Range<usize>) -> MatRef<'m, T> {
        let offset = of.at(self.b, self.span.keys.start + keys.start, self.g);
        MatRef { data: of.data, offset, rows: keys.len(), cols: width, row_stride: of.row, col_stride: 1 }
    }

    /// Whether all elements of keys or values at `keys` are finite.
    fn finite(&self, of: &Operand<T>, width: usize, keys: &Range<usize>) -> bool {
        keys.clone().all(|j| {
            let at = of.at(self.b, self.span.keys.start + j, self.g);
            all_finite(&of.data[at..at + width])
        })
    }

    /// Calls `f(rows of the block, first key of the tile, keys)` for each tile that some row sees. Where a row does not
    /// see all of a tile that holds an infinity or a NaN, rows come one by one, with just the keys that they see: those
    /// products may not be multiplied by zero.
    pub fn tiles(&self, mut f: impl FnMut(Range<usize>, usize, Range<usize>)) {
        let Some(last) = self.len().checked_sub(1) else { return };
        let (first, last) = (self.sees(0), self.sees(last));
        // Both ends of what a query sees move forward with it.
        let mut tile = first.start / KEYS * KEYS;
        while tile < last.end {
            let keys = tile.max(first.start)..(tile + KEYS).min(last.end);
            let whole = last.start <= keys.start && first.end >= keys.end;
            let s = &self.p.sizes;
            if whole || (self.finite(&self.p.k, s.width, &keys) && self.finite(&self.p.v, s.value_width, &keys)) {
                f(0..self.len(), tile, keys);
            } else {
                for r in 0..self.len() {
                    let sees = self.sees(r);
                    let own = keys.start.max(sees.start)..keys.end.min(sees.end);
                    if !own.is_empty() {
                        f(r..r + 1, tile, own);
                    }
                }
            }
            tile += KEYS;
        }
    }

    /// Writes the scores of `rows` and `keys` into `scores`, rows [`KEYS`] apart, column 0 being key `tile`: products
    /// with the scaled queries `q`, bias and slopes added, `-inf` where a row does not see a key.
    pub fn scores(&self, scores: &mut [T], q: &[T], rows: &Range<usize>, tile: usize, keys: &Range<usize>) {
        let (d, o) = (self.p.sizes.width, &self.p.options);
        let (from, to) = (keys.start - tile, keys.end - tile);
        let c = MatMut {
            data: scores,
            offset: rows.start * KEYS + from,
            rows: rows.len(),
            cols: keys.len(),
            row_stride: KEYS as isize,
            col_stride: 1,
        };
        let a = MatRef::row_major(&q[rows.start * d..rows.end * d], rows.len(), d);
        gemm(a, self.matrix(&self.p.k, d, keys).t(), c, &Gemm::default());
        for r in rows.clone() {
            let row = &mut scores[r * KEYS..(r + 1) * KEYS];
            let (i, h) = self.row(r);
            if let Some(bias) = &o.bias {
                let [sb, si, sh, sj] = bias.strides;
                let (i, j) = (self.span.queries.start + i, self.span.keys.start + keys.start);
                let step = self.b as isize * sb + i as isize * si + h as isize * sh + j as isize * sj;
                let at = bias.offset.wrapping_add_signed(step);
                add_strided(&mut row[from..to], bias.data, at, sj);
            }
            if let Some(slopes) = o.slopes {
                let place = i as isize + self.p.offset(self.span);
                slope(&mut row[from..to], slopes[h], T::from_f64((keys.start as isize - place) as f64));
            }
            let sees = self.sees(r);
            let (lo, hi) = (sees.start.clamp(keys.start, keys.end), sees.end.clamp(keys.start, keys.end));
            row[from..lo - tile].fill(T::NEG_INFINITY);
            row[hi.max(lo) - tile..to].fill(T::NEG_INFINITY);
        }
    }
}

multiversion! {
    /// `out = x * s`.
    fn scaled<T: Real>(out: &mut [T], x: &[T], s: T) {
        for (o, &x) in out.iter_mut().zip(x) {
            *o = x * s;
        }
    }
}
multiversion! {
    /// `x *= s`.
    pub(super) fn scale_by<T: Real>(x: &mut [T], s: T) {
        for x in x.iter_mut() {
            *x *= s;
        }
    }
}
multiversion! {
    fn all_finite<T: Real>(x: &[T]) -> bool {
        // Not `all`: without the early exit the loop vectorises.
        x.iter().fold(true, |ok, v| ok & v.is_finite())
    }
}
multiversion! {
    /// `x[k] -= slope |from + k|`.
    fn slope<T: Real>(x: &mut [T], slope: T, from: T) {
        for (k, x) in x.iter_mut().enumerate() {
            *x -= slope * (from + T::from_f32(k as f32)).abs();
        }
    }
}
multiversion! {
    /// The step of one row over one tile: `row[from..to]` holds scores and becomes their exponentials less the new
    /// maximum; gives that maximum and the sum.
    fn soften<T: Real>(row: &mut [T], from: usize, to: usize, max: T) -> [T; 2] {
        let max = largest(&row[from..to], max);
        let shift = shift_of(max);
        for v in &mut row[from..to] {
            *v = (*v - shift).exp();
        }
        // Which accumulator a key joins follows from its place in the tile, not from where the visible part begins.
        let start = from / LANES * LANES;
        row[start..from].fill(T::ZERO);
        let mut acc = [T::ZERO; LANES];
        let (whole, rest) = row[start..to].as_chunks::<LANES>();
        for c in whole {
            for (a, &v) in acc.iter_mut().zip(c) {
                *a += v;
            }
        }
        for (a, &v) in acc.iter_mut().zip(rest) {
            *a += v;
        }
        [max, total(acc)]
    }
}

/// `x[k] += data[at + k stride]`.
fn add_strided<T: Float>(x: &mut [T], data: &[T], at: usize, stride: isize) {
    if stride == 1 {
        let b = &data[at..at + x.len()];
        x.iter_mut().zip(b).for_each(|(x, &b)| *x += b);
    } else {
        for (k, x) in x.iter_mut().enumerate() {
            *x += data[at.wrapping_add_signed(k as isize * stride)];
        }
    }
}

/// The state of the forward pass over a block of rows.
pub(super) struct Block<T> {
    q: Scratch<T>,
    scores: Scratch<T>,
    out: Scratch<T>,
    max: [T; ROWS],
    sum: [T; ROWS],
}

impl<T: Float> Block<T> {
    pub fn new(p: &Problem<T>, rows: &Rows<T>) -> Self {
        let (n, s) = (rows.len(), &p.sizes);
        let mut q = Scratch::new(n * s.width);
        rows.gather(&p.q, s.width, p.options.scale, &mut q);
        Self {
            q,
            scores: Scratch::new(n * KEYS),
            out: Scratch::zeros(n * s.value_width),
            max: [T::NEG_INFINITY; ROWS],
            sum: [T::ZERO; ROWS],
        }
    }

    /// Runs over all tiles.
    pub fn attend(&mut self, block: &Rows<T>) {
        let w = block.p.sizes.value_width;
        block.tiles(|rows, tile, keys| {
            block.scores(&mut self.scores, &self.q, &rows, tile, &keys);
            let (from, to) = (keys.start - tile, keys.end - tile);
            for r in rows.clone() {
                let row = &mut self.scores[r * KEYS..(r + 1) * KEYS];
                let old = self.max[r];
                let [max, sum] = soften(row, from, to, old);
                // What is there so far was relative to the old maximum.
                if max != old {
                    let shrink = (old - shift_of(max)).exp();
                    self.sum[r] *= shrink;
                    scale_by(&mut self.out[r * w..(r + 1) * w], shrink);
                }
                self.max[r] = max;
                self.sum[r] += sum;
            }
            let a = MatRef {
                data: &self.scores,
                offset: rows.start * KEYS + from,
                rows: rows.len(),
                cols: keys.len(),
                row_stride: KEYS as isize,
                col_stride: 1,
            };
            let c = MatMut::row_major(&mut self.out[rows.start * w..rows.end * w], rows.len(), w);
            gemm(a, block.matrix(&block.p.v, w, &keys), c, &Gemm { accumulate: true, ..Gemm::default() });
        });
    }

    /// Writes the output of row `r` and gives its maximum and sum.
    pub fn finish(&mut self, block: &Rows<T>, r: usize, out: &mut [T]) -> Stats<T> {
        let (mut max, mut sum) = (self.max[r], self.sum[r]);
        let mut factor = T::ONE;
        if let Some(sinks) = block.p.options.sinks {
            let sink = sinks[block.row(r).1];
            let top = if sink > max { sink } else { max };
            let shift = shift_of(top);
            factor = (max - shift).exp();
            sum = sum * factor + (sink - shift).exp();
            max = top;
        }
        let inv = if sum == T::ZERO { T::ZERO } else { factor / sum };
        let w = out.len();
        scaled(out, &self.out[r * w..(r + 1) * w], inv);
        Stats { max, sum }
    }
}
