//! The walk that all reductions share.
//!
//! Two directions. *Along* memory, when a lane axis is the densest: every output element is the fold of dense rows, in
//! interleaved accumulators that are joined at the end. *Across* memory, when a kept axis is: rows of output absorb
//! rows of input. Long lanes are cut into pieces of a size that follows from the shape alone, and the pieces' results
//! are joined in order, so the bits depend on shapes and strides, never on threads.

use super::{offset, runs};
use crate::dtype::Element;
use crate::layout::{Layout, MAX_RANK, Strided};
use crate::{multiversion, team};

/// Elements of input that one task of the team reads, about.
pub(super) const TASK: usize = 64 * 1024;
/// A lane along memory is folded in pieces of this length.
pub(super) const PIECE: usize = 16 * 1024;
/// Rows that are absorbed into one accumulator across memory before it is joined with the others.
pub(super) const ROWS: usize = 64;
/// Columns of one accumulator across memory.
pub(super) const WIDTH: usize = 512;
/// Elements that are gathered at once from memory that is not dense.
const GATHER: usize = 512;

/// A reduction: an associative operation with an identity, applied in an order that this module chooses.
pub(super) trait Fold: 'static {
    /// What is read.
    type In: Element;
    /// What is kept.
    type Acc: Copy + Send + Sync + 'static;
    /// What a step knows of its output element (the mean for a variance, say); `()` for most.
    type Cx: Copy + Default + Send + Sync + 'static;
    /// The result for no elements.
    const IDENTITY: Self::Acc;
    /// Whether the loops are compiled for each vector extension; the plain ones serve where speed does not matter.
    const WIDE: bool;
    /// Absorbs one element.
    fn step(a: Self::Acc, x: Self::In, cx: Self::Cx) -> Self::Acc;
    /// Joins two results, the earlier one first.
    fn join(a: Self::Acc, b: Self::Acc) -> Self::Acc;
}

/// What a reduction keeps for each output element.
trait Kept: Copy + Send + Sync + 'static {}
impl<T: Copy + Send + Sync + 'static> Kept for T {}

/// What a step knows of its output element.
trait Context: Copy + Default + Send + Sync + 'static {}
impl<T: Copy + Default + Send + Sync + 'static> Context for T {}

/// The loops of one reduction. The walk is compiled for the element types alone and calls them through this table.
struct Loops<I, A, C> {
    identity: A,
    join: fn(A, A) -> A,
    /// See [`fold_rows`].
    rows: fn(&mut [A], &[I], isize, isize, usize, &[C]),
    /// See [`fold_row`].
    row: fn(&[I], C) -> A,
    /// See [`fold_columns`].
    columns: fn(&mut [A], &[I], &[usize], &[C]),
    /// See [`join_all`].
    join_all: fn(&mut [A], &[A]),
}

type LoopsOf<F> = Loops<<F as Fold>::In, <F as Fold>::Acc, <F as Fold>::Cx>;

fn loops<F: Fold>() -> LoopsOf<F> {
    Loops {
        identity: F::IDENTITY,
        join: F::join,
        rows: fold_rows::<F>,
        row: fold_row::<F>,
        columns: fold_columns::<F>,
        join_all: join_all::<F>,
    }
}

/// Folds a dense row: `J` groups of 16 interleaved accumulators, joined pairwise; short rows in order.
#[inline(always)]
fn dense<F: Fold, const J: usize>(x: &[F::In], cx: F::Cx) -> F::Acc {
    const L: usize = 16;
    let mut tail_acc = F::IDENTITY;
    if x.len() < L {
        for &v in x {
            tail_acc = F::step(tail_acc, v, cx);
        }
        return tail_acc;
    }
    let mut acc = [[F::IDENTITY; L]; J];
    let mut blocks = x.chunks_exact(J * L);
    for b in &mut blocks {
        for j in 0..J {
            for i in 0..L {
                acc[j][i] = F::step(acc[j][i], b[j * L + i], cx);
            }
        }
    }
    let mut small = blocks.remainder().chunks_exact(L);
    for b in &mut small {
        for i in 0..L {
            acc[0][i] = F::step(acc[0][i], b[i], cx);
        }
    }
    for &v in small.remainder() {
        tail_acc = F::step(tail_acc, v, cx);
    }
    let mut j = J;
    while j > 1 {
        j /= 2;
        for k in 0..j {
            for i in 0..L {
                acc[k][i] = F::join(acc[k][i], acc[k + j][i]);
            }
        }
    }
    let a = &mut acc[0];
    for half in [8, 4] {
        for i in 0..half {
            a[i] = F::join(a[i], a[i + half]);
        }
    }
    F::join(F::join(F::join(a[0], a[2]), F::join(a[1], a[3])), tail_acc)
}

/// [`dense`] with as many accumulators as fill eight 32-byte registers.
#[inline(always)]
pub(super) fn row<F: Fold>(x: &[F::In], cx: F::Cx) -> F::Acc {
    if size_of::<F::Acc>() > 4 { dense::<F, 2>(x, cx) } else { dense::<F, 4>(x, cx) }
}

multiversion! {
    if F::WIDE;
    /// Folds `out.len()` dense rows of `n` elements, the first at `first`, each `stride` after the last.
    fn fold_rows<F: Fold>(out: &mut [F::Acc], data: &[F::In], first: isize, stride: isize, n: usize, cx: &[F::Cx]) {
        for (i, (o, &cx)) in out.iter_mut().zip(cx).enumerate() {
            let at = (first + i as isize * stride) as usize;
            *o = row::<F>(&data[at..at + n], cx);
        }
    }
}
multiversion! {
    if F::WIDE;
    /// Folds one dense row.
    fn fold_row<F: Fold>(x: &[F::In], cx: F::Cx) -> F::Acc {
        row::<F>(x, cx)
    }
}
multiversion! {
    if F::WIDE;
    /// `acc[j]` absorbs `data[r + j]` for each start `r` of `rows`, in order.
    fn fold_columns<F: Fold>(acc: &mut [F::Acc], data: &[F::In], rows: &[usize], cx: &[F::Cx]) {
        let w = acc.len();
        let cx = &cx[..w];
        let mut fours = rows.chunks_exact(4);
        for r in &mut fours {
            let (a, b, c, d) =
                (&data[r[0]..r[0] + w], &data[r[1]..r[1] + w], &data[r[2]..r[2] + w], &data[r[3]..r[3] + w]);
            for j in 0..w {
                let mut s = F::step(acc[j], a[j], cx[j]);
                s = F::step(s, b[j], cx[j]);
                s = F::step(s, c[j], cx[j]);
                acc[j] = F::step(s, d[j], cx[j]);
            }
        }
        for &r in fours.remainder() {
            for ((a, &x), &c) in acc.iter_mut().zip(&data[r..r + w]).zip(cx) {
                *a = F::step(*a, x, c);
            }
        }
    }
}
multiversion! {
    if F::WIDE;
    /// `acc[j] = join(acc[j], later[j])`.
    fn join_all<F: Fold>(acc: &mut [F::Acc], later: &[F::Acc]) {
        for (a, &b) in acc.iter_mut().zip(later) {
            *a = F::join(*a, b);
        }
    }
}

/// How a reduction walks its input.
pub(super) struct Walk {
    /// The kept axes in the order in which they are walked, with as few axes as possible.
    pub keep: Layout,
    /// The lane axes, likewise.
    pub lane: Layout,
    /// Whether a lane axis is the densest.
    pub along: bool,
    /// The dense output's layout in the walked order of the kept axes, when that is not its own.
    pub moved: Option<Layout>,
}

impl Walk {
    /// The walk over `x`, whose first `kept` axes stay. `ordered` keeps the lane axes in their order.
    pub fn new(x: &Layout, kept: usize, ordered: bool) -> Self {
        let keep = Layout::new(&x.shape()[..kept], &x.strides()[..kept]);
        let lane = Layout::new(&x.shape()[kept..], &x.strides()[kept..]);
        let least = |l: &Layout| {
            let steps = l.shape().iter().zip(l.strides()).filter(|&(&n, &s)| n > 1 && s != 0);
            steps.map(|(_, s)| s.unsigned_abs()).min()
        };
        let along = match (least(&keep), least(&lane)) {
            (Some(k), Some(l)) => l < k,
            (Some(_), None) => false,
            (None, _) => true,
        };
        let lane = if ordered { lane } else { lane.permuted(&by_stride(&lane)[..lane.rank()]) };
        let order = by_stride(&keep);
        let order = &order[..kept];
        if along || order.iter().enumerate().all(|(i, &o)| i == o as usize) {
            return Self { keep: keep.coalesced(), lane: lane.coalesced(), along, moved: None };
        }
        let moved = Layout::contiguous(keep.shape()).permuted(order);
        Self { keep: keep.permuted(order).coalesced(), lane: lane.coalesced(), along, moved: Some(moved) }
    }

    /// Output elements of one task, and lane elements of one piece, across memory; from sizes alone.
    pub fn across(&self, outputs: usize, lane: usize) -> (usize, usize) {
        let chunk = (TASK / lane).next_multiple_of(16).max(2 * WIDTH).min(outputs);
        let rows = (TASK / chunk).next_multiple_of(ROWS);
        (chunk, if lane <= 2 * rows { lane } else { rows })
    }
}

/// The axes by falling stride: the densest last. Axes of one stride keep their order.
fn by_stride(l: &Layout) -> [u8; MAX_RANK] {
    let mut order: [u8; MAX_RANK] = std::array::from_fn(|i| i as u8);
    // An axis that does not move (size 1 or a repetition) goes outermost.
    let step = |&a: &u8| match l.shape()[a as usize] {
        1 => usize::MAX,
        _ => match l.strides()[a as usize] {
            0 => usize::MAX,
            s => s.unsigned_abs(),
        },
    };
    order[..l.rank()].sort_by_key(|a| std::cmp::Reverse(step(a)));
    order
}

/// `dense[i] = moved[..]`: brings values in walked order back into the output's order, or the other way round.
fn to_walked<T: Copy + Default>(dense: &[T], moved: &Layout) -> Vec<T> {
    let mut v = vec![T::default(); dense.len()];
    Strided::new(dense, 0, *moved).copy_to(0, &mut v);
    v
}

/// Writes `walked`, which is dense in the walked order, to `out`.
pub(super) fn from_walked<T: Copy>(out: &mut [T], walked: &[T], moved: &Layout) {
    let mut at = 0;
    runs(moved, 0, out.len(), &mut |_, o, s, n| {
        for (i, &v) in walked[at..at + n].iter().enumerate() {
            out[(o + i as isize * s) as usize] = v;
        }
        at += n;
    });
}

/// `out[kept..] =` the fold of `x` over its axes from position `kept` on. `out` and `cx` are dense in the order of the
/// kept axes.
pub(super) fn fold<F: Fold>(out: &mut [F::Acc], x: &Strided<F::In>, kept: usize, cx: &[F::Cx]) {
    fold_with(out, x, kept, cx, &loops::<F>());
}

fn fold_with<I: Element, A: Kept, C: Context>(
    out: &mut [A],
    x: &Strided<I>,
    kept: usize,
    cx: &[C],
    f: &Loops<I, A, C>,
) {
    assert_eq!(out.len(), x.shape()[..kept].iter().product::<usize>());
    assert_eq!(out.len(), cx.len());
    if out.is_empty() {
        return;
    }
    if x.is_empty() {
        out.fill(f.identity);
        return;
    }
    let walk = Walk::new(x.layout(), kept, false);
    match walk.moved {
        None if walk.along => along(out, x, &walk, cx, f),
        None => across(out, x, &walk, cx, f),
        Some(moved) => {
            let mut walked = vec![f.identity; out.len()];
            across(&mut walked, x, &walk, &to_walked(cx, &moved), f);
            from_walked(out, &walked, &moved);
        }
    }
}

fn along<I: Element, A: Kept, C: Context>(out: &mut [A], x: &Strided<I>, walk: &Walk, cx: &[C], f: &Loops<I, A, C>) {
    let (keep, lane) = (&walk.keep, &walk.lane);
    let n = lane.len();
    let base = x.offset() as isize;
    let pieces = n.div_ceil(PIECE);
    if pieces == 1 {
        // A lane that is one dense row takes the short way.
        let dense = lane.rank() == 0 || (lane.rank() == 1 && lane.strides()[0] == 1);
        let per = (TASK / n).max(1);
        team::for_each_chunk(out, per, |t, part| {
            let start = t * per;
            runs(keep, start, part.len(), &mut |done, o, s, count| {
                let (part, cx) = (&mut part[done..done + count], &cx[start + done..start + done + count]);
                if dense {
                    return (f.rows)(part, x.data(), base + o, s, n, cx);
                }
                for (i, (p, &cx)) in part.iter_mut().zip(cx).enumerate() {
                    *p = piece(x, base + o + i as isize * s, lane, 0, n, cx, f);
                }
            });
        });
        return;
    }
    let mut parts = vec![f.identity; out.len() * pieces];
    team::for_each_chunk(&mut parts, TASK / PIECE, |t, part| {
        for (i, p) in part.iter_mut().enumerate() {
            let (o, k) = ((t * (TASK / PIECE) + i) / pieces, (t * (TASK / PIECE) + i) % pieces);
            *p = piece(x, base + offset(keep, o), lane, k * PIECE, PIECE.min(n - k * PIECE), cx[o], f);
        }
    });
    for (o, p) in out.iter_mut().zip(parts.chunks_exact(pieces)) {
        *o = p.iter().fold(f.identity, |a, &b| (f.join)(a, b));
    }
}

/// The fold of elements `start..start + len` of the lane whose first element is at `base`.
fn piece<I: Element, A: Kept, C: Context>(
    x: &Strided<I>,
    base: isize,
    lane: &Layout,
    start: usize,
    len: usize,
    cx: C,
    f: &Loops<I, A, C>,
) -> A {
    let mut acc = f.identity;
    let mut scratch = [I::default(); GATHER];
    runs(lane, start, len, &mut |_, o, s, n| {
        if s == 1 {
            let at = (base + o) as usize;
            acc = (f.join)(acc, (f.row)(&x.data()[at..at + n], cx));
            return;
        }
        for at in (0..n).step_by(GATHER) {
            let part = gather(x.data(), base + o + at as isize * s, s, GATHER.min(n - at), &mut scratch);
            acc = (f.join)(acc, (f.row)(part, cx));
        }
    });
    acc
}

/// Elements `first, first + step, ..` of `data`, copied together.
#[inline]
pub(super) fn gather<'s, T: Copy>(data: &[T], first: isize, step: isize, n: usize, scratch: &'s mut [T]) -> &'s [T] {
    for (i, s) in scratch[..n].iter_mut().enumerate() {
        *s = data[(first + i as isize * step) as usize];
    }
    &scratch[..n]
}

fn across<I: Element, A: Kept, C: Context>(out: &mut [A], x: &Strided<I>, walk: &Walk, cx: &[C], f: &Loops<I, A, C>) {
    let (outputs, n) = (out.len(), walk.lane.len());
    let (chunk, rows) = walk.across(outputs, n);
    let base = x.offset() as isize;
    // Elements `start..` of the row of outputs of one piece of the lanes.
    let segment = |acc: &mut [A], start: usize, first_row: usize| {
        let len = rows.min(n - first_row);
        acc.fill(f.identity);
        runs(&walk.keep, start, acc.len(), &mut |done, o, s, count| {
            for at in (0..count).step_by(WIDTH) {
                let w = WIDTH.min(count - at);
                let from = done + at;
                let cx = &cx[start + from..start + from + w];
                columns(
                    &mut acc[from..from + w],
                    x.data(),
                    base + o + at as isize * s,
                    s,
                    &walk.lane,
                    first_row,
                    len,
                    cx,
                    f,
                );
            }
        });
    };
    if rows >= n {
        team::for_each_chunk(out, chunk, |t, part| segment(part, t * chunk, 0));
        return;
    }
    let pieces = n.div_ceil(rows);
    let mut parts = vec![f.identity; pieces * outputs];
    team::for_each_chunk(&mut parts, chunk, |t, mut part| {
        // A chunk may end one piece's outputs and begin the next one's.
        let mut at = t * chunk;
        while !part.is_empty() {
            let (p, o) = (at / outputs, at % outputs);
            let (now, later) = part.split_at_mut((outputs - o).min(part.len()));
            at += now.len();
            segment(now, o, p * rows);
            part = later;
        }
    });
    out.copy_from_slice(&parts[..outputs]);
    let join = (TASK / pieces).next_multiple_of(16);
    team::for_each_chunk(out, join, |t, part| {
        for p in 1..pieces {
            let at = p * outputs + t * join;
            (f.join_all)(part, &parts[at..at + part.len()]);
        }
    });
}

/// `acc` (at most [`WIDTH`] columns, from `base` on, `step` apart) absorbs lane elements `start..start + len`.
fn columns<I: Element, A: Kept, C: Context>(
    acc: &mut [A],
    data: &[I],
    base: isize,
    step: isize,
    lane: &Layout,
    start: usize,
    len: usize,
    cx: &[C],
    f: &Loops<I, A, C>,
) {
    let w = acc.len();
    let mut block = [f.identity; WIDTH];
    each_rows(lane, base, start, len, &mut |rows| {
        if len <= ROWS {
            return absorb(acc, data, rows, step, cx, f);
        }
        block[..w].fill(f.identity);
        absorb(&mut block[..w], data, rows, step, cx, f);
        (f.join_all)(acc, &block[..w]);
    });
}

/// Calls `f` with the offsets of lane elements `start..start + len` from `base`, at most [`ROWS`] at a time.
pub(super) fn each_rows(lane: &Layout, base: isize, start: usize, len: usize, f: &mut dyn FnMut(&[isize])) {
    let mut rows = [0isize; ROWS];
    let mut filled = 0;
    runs(lane, start, len, &mut |_, o, s, n| {
        for i in 0..n {
            rows[filled] = base + o + i as isize * s;
            filled += 1;
            if filled == ROWS {
                f(&rows);
                filled = 0;
            }
        }
    });
    if filled > 0 {
        f(&rows[..filled]);
    }
}

fn absorb<I: Element, A: Kept, C: Context>(
    acc: &mut [A],
    data: &[I],
    rows: &[isize],
    step: isize,
    cx: &[C],
    f: &Loops<I, A, C>,
) {
    if step == 1 {
        let mut starts = [0usize; ROWS];
        for (s, &r) in starts.iter_mut().zip(rows) {
            *s = r as usize;
        }
        return (f.columns)(acc, data, &starts[..rows.len()], cx);
    }
    let mut scratch = [I::default(); WIDTH];
    for &r in rows {
        let x = gather(data, r, step, acc.len(), &mut scratch);
        (f.columns)(acc, x, &[0], cx);
    }
}
