//! Positions of extrema: the first in row-major order of the lane; NaN is more extreme than any number.

use super::fold::{PIECE, ROWS, TASK, WIDTH, Walk, each_rows, from_walked, gather};
use super::folds::extremum_row;
use super::{Bounded, offset, runs};
use crate::layout::{Layout, Strided};
use crate::{multiversion, team};

/// Whether `x` beats `v`, which came earlier.
#[inline(always)]
fn beats<const MAX: bool, T: Bounded>(x: T, v: T) -> bool {
    (if MAX { x > v } else { x < v }) | (x.is_nan() & !v.is_nan())
}

multiversion! {
    if T::FLOAT;
    /// The position of the extremum of a dense row that is not empty: its value first, then where it is. Both passes are
    /// vector code, and the second ends early.
    fn arg_row<const MAX: bool, T: Bounded>(x: &[T]) -> usize {
        const L: usize = 64;
        let v = extremum_row::<MAX, T>(x);
        let found = |x: T| (x == v) | (x.is_nan() & v.is_nan());
        let mut before = 0;
        for c in x.chunks_exact(L) {
            let mut any = false;
            for &x in c {
                any |= found(x);
            }
            if any {
                break;
            }
            before += L;
        }
        before + x[before..].iter().position(|&x| found(x)).expect("the extremum is an element")
    }
}
multiversion! {
    if T::FLOAT;
    /// Columns of extrema `best` at lane positions `at` meet the rows of `data` that start at `rows`, which are lane
    /// elements `first, first + 1, ..`.
    fn arg_columns<const MAX: bool, T: Bounded>(best: &mut [T], at: &mut [u32], data: &[T], rows: &[usize], first: u32) {
        let w = best.len();
        let at = &mut at[..w];
        let mut k = first;
        let mut pairs = rows.chunks_exact(2);
        for r in &mut pairs {
            let (a, b) = (&data[r[0]..r[0] + w], &data[r[1]..r[1] + w]);
            for j in 0..w {
                let (mut v, mut p) = (best[j], at[j]);
                let won = beats::<MAX, T>(a[j], v);
                v = if won { a[j] } else { v };
                p = if won { k } else { p };
                let won = beats::<MAX, T>(b[j], v);
                best[j] = if won { b[j] } else { v };
                at[j] = if won { k + 1 } else { p };
            }
            k += 2;
        }
        for &r in pairs.remainder() {
            for ((&x, v), p) in data[r..r + w].iter().zip(best.iter_mut()).zip(at.iter_mut()) {
                let won = beats::<MAX, T>(x, *v);
                *v = if won { x } else { *v };
                *p = if won { k } else { *p };
            }
            k += 1;
        }
    }
}

/// Positions of the largest elements: the first in each lane, counted in row-major order of the lane's axes; the first
/// NaN where there is one. `x` is reduced over its axes from position `kept` on; no lane is empty.
pub fn argmax<T: Bounded>(out: &mut [i64], x: &Strided<T>, kept: usize) {
    arg::<true, T>(out, x, kept);
}

/// [`argmax`] for the smallest elements.
pub fn argmin<T: Bounded>(out: &mut [i64], x: &Strided<T>, kept: usize) {
    arg::<false, T>(out, x, kept);
}

fn arg<const MAX: bool, T: Bounded>(out: &mut [i64], x: &Strided<T>, kept: usize) {
    assert_eq!(out.len(), x.shape()[..kept].iter().product::<usize>());
    if out.is_empty() {
        return;
    }
    assert!(!x.is_empty(), "an empty lane has no extremum");
    let walk = Walk::new(x.layout(), kept, true);
    if walk.along {
        return along::<MAX, T>(out, x, &walk);
    }
    let mut best = vec![T::LEAST; out.len()];
    match walk.moved {
        None => across::<MAX, T>(&mut best, out, x, &walk),
        Some(moved) => {
            let mut walked = vec![0; out.len()];
            across::<MAX, T>(&mut best, &mut walked, x, &walk);
            from_walked(out, &walked, &moved);
        }
    }
}

fn along<const MAX: bool, T: Bounded>(out: &mut [i64], x: &Strided<T>, walk: &Walk) {
    let n = walk.lane.len();
    let base = x.offset() as isize;
    let pieces = n.div_ceil(PIECE);
    if pieces == 1 {
        let per = (TASK / n).max(1);
        team::for_each_chunk(out, per, |t, part| {
            runs(&walk.keep, t * per, part.len(), &mut |done, o, s, count| {
                for (i, p) in part[done..done + count].iter_mut().enumerate() {
                    *p = piece::<MAX, T>(x, base + o + i as isize * s, &walk.lane, 0, n).1 as i64;
                }
            });
        });
        return;
    }
    let mut best = vec![T::LEAST; out.len() * pieces];
    let mut at = vec![0i64; out.len() * pieces];
    let per = TASK / PIECE;
    team::for_each_chunk2(&mut best, per, &mut at, per, |t, best, at| {
        for (i, (b, a)) in best.iter_mut().zip(at).enumerate() {
            let (o, k) = ((t * per + i) / pieces, (t * per + i) % pieces);
            let len = PIECE.min(n - k * PIECE);
            let (v, p) = piece::<MAX, T>(x, base + offset(&walk.keep, o), &walk.lane, k * PIECE, len);
            (*b, *a) = (v, (k * PIECE + p) as i64);
        }
    });
    for (i, o) in out.iter_mut().enumerate() {
        *o = first_best::<MAX, T>((0..pieces).map(|k| (best[i * pieces + k], at[i * pieces + k])));
    }
}

/// The position beside the first extremum of pairs in order of position.
fn first_best<const MAX: bool, T: Bounded>(mut pairs: impl Iterator<Item = (T, i64)>) -> i64 {
    let first = pairs.next().expect("a lane has at least one piece");
    pairs.fold(first, |a, b| if beats::<MAX, T>(b.0, a.0) { b } else { a }).1
}

/// The extremum of lane elements `start..start + len` and its position after `start`.
fn piece<const MAX: bool, T: Bounded>(
    x: &Strided<T>,
    base: isize,
    lane: &Layout,
    start: usize,
    len: usize,
) -> (T, usize) {
    let mut best: Option<(T, usize)> = None;
    let mut meet = |part: &[T], before: usize| {
        let p = arg_row::<MAX, T>(part);
        if best.is_none_or(|(v, _)| beats::<MAX, T>(part[p], v)) {
            best = Some((part[p], before + p));
        }
    };
    let mut scratch = [T::LEAST; WIDTH];
    runs(lane, start, len, &mut |done, o, s, n| {
        if s == 1 {
            let at = (base + o) as usize;
            return meet(&x.data()[at..at + n], done);
        }
        for at in (0..n).step_by(WIDTH) {
            meet(gather(x.data(), base + o + at as isize * s, s, WIDTH.min(n - at), &mut scratch), done + at);
        }
    });
    best.expect("a piece is not empty")
}

fn across<const MAX: bool, T: Bounded>(best: &mut [T], out: &mut [i64], x: &Strided<T>, walk: &Walk) {
    let (outputs, n) = (out.len(), walk.lane.len());
    let (chunk, rows) = walk.across(outputs, n);
    let base = x.offset() as isize;
    let segment = |best: &mut [T], out: &mut [i64], start: usize, first_row: usize| {
        let len = rows.min(n - first_row);
        runs(&walk.keep, start, best.len(), &mut |done, o, s, count| {
            for at in (0..count).step_by(WIDTH) {
                let w = WIDTH.min(count - at);
                let range = done + at..done + at + w;
                let first = (base + o + at as isize * s, s);
                columns::<MAX, T>(
                    &mut best[range.clone()],
                    &mut out[range],
                    x.data(),
                    first,
                    &walk.lane,
                    (first_row, len),
                );
            }
        });
    };
    if rows >= n {
        team::for_each_chunk2(best, chunk, out, chunk, |t, best, out| segment(best, out, t * chunk, 0));
        return;
    }
    let pieces = n.div_ceil(rows);
    let mut all_best = vec![T::LEAST; pieces * outputs];
    let mut all_at = vec![0i64; pieces * outputs];
    team::for_each_chunk2(&mut all_best, chunk, &mut all_at, chunk, |t, mut best, mut out| {
        let mut at = t * chunk;
        while !best.is_empty() {
            let (p, o) = (at / outputs, at % outputs);
            let len = (outputs - o).min(best.len());
            let (b, later_best) = best.split_at_mut(len);
            let (a, later_out) = out.split_at_mut(len);
            at += len;
            segment(b, a, o, p * rows);
            (best, out) = (later_best, later_out);
        }
    });
    for (i, o) in out.iter_mut().enumerate() {
        *o = first_best::<MAX, T>((0..pieces).map(|p| (all_best[p * outputs + i], all_at[p * outputs + i])));
    }
}

/// Extrema of lane elements `range.0 ..` (`range.1` of them) in at most [`WIDTH`] columns.
fn columns<const MAX: bool, T: Bounded>(
    best: &mut [T],
    out: &mut [i64],
    data: &[T],
    (base, step): (isize, isize),
    lane: &Layout,
    (start, len): (usize, usize),
) {
    // A piece has far fewer than 2^32 rows, see `Walk::across`.
    let w = best.len();
    let mut at = [0u32; WIDTH];
    let mut scratch = [T::LEAST; WIDTH];
    let mut seen = 0usize;
    each_rows(lane, base, start, len, &mut |mut rows| {
        if seen == 0 {
            best.copy_from_slice(if step == 1 {
                &data[rows[0] as usize..rows[0] as usize + w]
            } else {
                gather(data, rows[0], step, w, &mut scratch)
            });
            seen = 1;
            rows = &rows[1..];
        }
        if step == 1 {
            let mut starts = [0usize; ROWS];
            for (s, &r) in starts.iter_mut().zip(rows) {
                *s = r as usize;
            }
            arg_columns::<MAX, T>(best, &mut at[..w], data, &starts[..rows.len()], seen as u32);
        } else {
            for (i, &r) in rows.iter().enumerate() {
                let x = gather(data, r, step, w, &mut scratch);
                arg_columns::<MAX, T>(best, &mut at[..w], x, &[0], (seen + i) as u32);
            }
        }
        seen += rows.len();
    });
    for (o, &p) in out.iter_mut().zip(&at) {
        *o = (start + p as usize) as i64;
    }
}
