//! Attention: `softmax(q k^T scale + bias) v` for grouped heads, without a matrix of scores.
//!
//! Scores exist for a tile of 64 query rows by 128 keys at a time. The forward pass keeps a running maximum and sum
//! for each row and rescales what it has (online softmax, [Milakov and Gimelshein 2018](https://arxiv.org/abs/1805.02867);
//! tiled as in [Dao et al. 2022](https://arxiv.org/abs/2205.14135)); the backward pass computes the scores again from
//! the saved maximum and sum.
//!
//! Tiles of keys lie at fixed places of a sequence, and the products beneath depend on nothing but their row and column.
//! So a row has the same bits whether it is computed alone or with others (a prompt in one piece, in chunks, or token by
//! token), and for any number of threads. Every gradient element has one owner task.
//!
//! What a row may not see is not read: a NaN there changes nothing. A row that sees nothing gives zeros, and so do its
//! gradients.

mod backward;
mod tile;

pub use backward::{Gradients, backward};

use crate::disjoint::Disjoint;
use crate::gemm::GemmFloat;
use crate::math::Real;
use crate::team;
use std::ops::Range;
use tile::{Block, Rows};

/// Query rows of a tile.
const ROWS: usize = 64;
/// Keys of a tile.
const KEYS: usize = 128;

/// The floats that attention works in.
pub trait Float: Real + GemmFloat {}
impl<T: Real + GemmFloat> Float for T {}

/// Queries, keys or values: element `[b, i, h, d]` lies at `offset + b batch + i row + h head + d`.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a, T> {
    /// The memory.
    pub data: &'a [T],
    /// Where element `[0, 0, 0, 0]` lies.
    pub offset: usize,
    /// Distance of two batches.
    pub batch: isize,
    /// Distance of two positions.
    pub row: isize,
    /// Distance of two heads.
    pub head: isize,
}

impl<T> Operand<'_, T> {
    fn at(&self, b: usize, i: usize, h: usize) -> usize {
        let step = b as isize * self.batch + i as isize * self.row + h as isize * self.head;
        self.offset.wrapping_add_signed(step)
    }
}

/// Sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Independent problems.
    pub batch: usize,
    /// Query positions.
    pub queries: usize,
    /// Key positions.
    pub keys: usize,
    /// Query heads, a multiple of `kv_heads`.
    pub heads: usize,
    /// Heads of keys and values; query head `h` uses `h / (heads / kv_heads)`.
    pub kv_heads: usize,
    /// Width of queries and keys.
    pub width: usize,
    /// Width of values.
    pub value_width: usize,
}

impl Sizes {
    /// Query heads that share one head of keys.
    fn group(&self) -> usize {
        self.heads / self.kv_heads
    }
}

/// One sequence of a ragged batch: its queries and the keys that they may see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Positions on the axis of queries.
    pub queries: Range<usize>,
    /// Positions on the axis of keys.
    pub keys: Range<usize>,
}

/// Added to the scores: element `[b, i, h, j]` lies at `offset + b strides[0] + i strides[1] + h strides[2] + j strides[3]`.
#[derive(Clone, Copy, Debug)]
pub struct Bias<'a, T> {
    /// The memory.
    pub data: &'a [T],
    /// Where element `[0, 0, 0, 0]` lies.
    pub offset: usize,
    /// Distances along batch, queries, heads and keys; 0 repeats.
    pub strides: [isize; 4],
}

/// What a row sees, and how its scores are changed.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a, T> {
    /// Factor of the products.
    pub scale: T,
    /// Query `i` of a sequence stands at key `i + offset`: it sees that key and those before.
    pub causal: bool,
    /// It sees keys less than this far from its place (itself is 0 away), also into the future when not `causal`.
    pub window: Option<usize>,
    /// Where queries stand among the keys; by default the last query stands at the last key of its sequence.
    pub offset: Option<isize>,
    /// Added to the scores.
    pub bias: Option<Bias<'a, T>>,
    /// A slope for each query head: the score loses it times the distance of key and query (ALiBi).
    pub slopes: Option<&'a [T]>,
    /// A score for each query head that joins the softmax and has no value.
    pub sinks: Option<&'a [T]>,
    /// The sequences of a ragged batch, or none: every query sees every key. Queries of different spans are different
    /// and in order. A query in no span gives zeros.
    pub spans: Option<&'a [Span]>,
}

impl<T: Real> Default for Options<'_, T> {
    fn default() -> Self {
        let scale = T::ONE;
        Self { scale, causal: false, window: None, offset: None, bias: None, slopes: None, sinks: None, spans: None }
    }
}

/// A whole problem.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a, T> {
    /// Sizes.
    pub sizes: Sizes,
    /// Queries `[batch, queries, heads, width]`.
    pub q: Operand<'a, T>,
    /// Keys `[batch, keys, kv_heads, width]`.
    pub k: Operand<'a, T>,
    /// Values `[batch, keys, kv_heads, value_width]`.
    pub v: Operand<'a, T>,
    /// What a row sees.
    pub options: Options<'a, T>,
}

/// Largest score and sum of exponentials of one row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats<T> {
    /// Largest score, the sink included.
    pub max: T,
    /// Sum of `exp(score - max)`, the sink included.
    pub sum: T,
}

impl<T: Float> Problem<'_, T> {
    /// The sequences.
    fn spans(&self) -> impl Iterator<Item = Span> + '_ {
        let whole = Span { queries: 0..self.sizes.queries, keys: 0..self.sizes.keys };
        let ragged = self.options.spans;
        let one = ragged.is_none().then_some(whole);
        ragged.unwrap_or_default().iter().cloned().chain(one)
    }

    /// The keys, counted from the first of its span, that query `i` of a span sees.
    fn sees(&self, span: &Span, i: usize) -> Range<usize> {
        let n = span.keys.len() as isize;
        let p = i as isize + self.offset(span);
        let reach = self.options.window.map(|w| isize::try_from(w).unwrap_or(isize::MAX));
        let lo = reach.map_or(0, |w| p.saturating_sub(w).saturating_add(1));
        let hi = if self.options.causal { p + 1 } else { reach.map_or(n, |w| p.saturating_add(w)) };
        let (lo, hi) = (lo.clamp(0, n), hi.clamp(0, n));
        lo as usize..hi.max(lo) as usize
    }

    /// Where query 0 of a span stands among its keys.
    fn offset(&self, span: &Span) -> isize {
        self.options.offset.unwrap_or(span.keys.len() as isize - span.queries.len() as isize)
    }

    /// Checks what the memory accesses below rely on.
    ///
    /// # Panics
    /// When the sizes do not fit each other, or spans overlap in their queries, leave their axes, or are out of order.
    fn check(&self) {
        let s = &self.sizes;
        assert!(s.kv_heads > 0 && s.heads.is_multiple_of(s.kv_heads), "query heads come in groups");
        let mut end = 0;
        for span in self.spans() {
            assert!(span.queries.start >= end && span.queries.start <= span.queries.end, "spans are in order");
            assert!(span.queries.end <= s.queries && span.keys.end <= s.keys, "spans stay in their axes");
            end = span.queries.end;
        }
        let per_head = |x: Option<&[T]>| x.is_none_or(|x| x.len() == s.heads);
        assert!(per_head(self.options.slopes) && per_head(self.options.sinks), "one number for each head");
    }
}

/// `out[b, i, h, ..]`, dense; `stats[b, i, h]` for a later [`backward`], or empty.
pub fn forward<T: Float>(p: &Problem<T>, out: &mut [T], stats: &mut [Stats<T>]) {
    let s = p.sizes;
    assert_eq!(out.len(), s.batch * s.queries * s.heads * s.value_width, "the output has its size");
    assert!(stats.is_empty() || stats.len() == s.batch * s.queries * s.heads, "one pair of numbers for each row");
    if s.batch * s.queries * s.heads == 0 {
        return;
    }
    p.check();
    if p.options.spans.is_some() {
        // Some queries may be in no span.
        out.fill(T::ZERO);
        stats.fill(Stats { max: T::NEG_INFINITY, sum: T::ZERO });
    }
    let group = s.group();
    let blocks = |span: &Span| (span.queries.len() * group).div_ceil(ROWS);
    let per_batch = p.spans().map(|span| blocks(&span)).sum::<usize>() * s.kv_heads;
    let (out, wanted) = (Disjoint::new(out), !stats.is_empty());
    let stats = Disjoint::new(stats);
    team::run(s.batch * per_batch, |t| {
        let (b, mut rest) = (t / per_batch, t % per_batch);
        for span in p.spans() {
            let here = blocks(&span) * s.kv_heads;
            if rest >= here {
                rest -= here;
                continue;
            }
            let (block, g) = (rest / s.kv_heads, rest % s.kv_heads);
            let rows = Rows::new(p, &span, b, g, block);
            let mut tiles = Block::new(p, &rows);
            tiles.attend(&rows);
            for r in 0..rows.len() {
                let at = rows.place(r);
                // SAFETY: row `at` of the output belongs to one query and head; `check` has made sure that no two spans
                // share a query, and each block of rows of a span is one task.
                let o = unsafe { out.range(at * s.value_width, s.value_width) };
                let stat = tiles.finish(&rows, r, o);
                if wanted {
                    // SAFETY: as above.
                    let place = unsafe { stats.range(at, 1) };
                    place[0] = stat;
                }
            }
            return;
        }
    });
}
