//! Reductions of strided input to dense output, in one fixed order whatever the number of threads.

use crate::arith::Num;
use crate::layout::{Layout, MAX_RANK, Strided};
use crate::{multiversion, team};

/// Accumulators of a sum along a row: a fixed number, so that the order of additions is one on every CPU.
const LANES: usize = 16;
/// A long row is summed in pieces of this length, the pieces' sums then in order.
const PIECE: usize = 16 * 1024;
/// Output elements that one task of the team makes, at least.
const TASK: usize = 16 * 1024;

multiversion! {
    /// Sum of a dense row: [`LANES`] interleaved accumulators, added pairwise at the end.
    fn row_sum<T: Num>(x: &[T]) -> T {
        let mut acc = [T::ZERO; LANES];
        let mut chunks = x.chunks_exact(LANES);
        for c in &mut chunks {
            for (a, &v) in acc.iter_mut().zip(c) {
                *a = a.add(v);
            }
        }
        for (a, &v) in acc.iter_mut().zip(chunks.remainder()) {
            *a = a.add(v);
        }
        let mut n = LANES;
        while n > 1 {
            n /= 2;
            for i in 0..n {
                acc[i] = acc[i].add(acc[i + n]);
            }
        }
        acc[0]
    }
}
multiversion! {
    /// `acc[i] += x[i]`.
    fn add_rows<T: Num>(acc: &mut [T], x: &[T]) {
        for (a, &v) in acc.iter_mut().zip(x) {
            *a = a.add(v);
        }
    }
}

/// Sum of a dense row of any length.
fn long_row_sum<T: Num>(x: &[T]) -> T {
    if x.len() <= PIECE {
        return row_sum(x);
    }
    let mut parts = vec![T::ZERO; x.len().div_ceil(PIECE)];
    team::for_each_chunk(&mut parts, 1, |i, p| {
        p[0] = row_sum(&x[i * PIECE..((i + 1) * PIECE).min(x.len())]);
    });
    long_row_sum(&parts)
}

/// `out[kept..] = sum of x over its axes from position kept on`. `out` is dense in the order of the kept axes.
pub fn sum<T: Num>(out: &mut [T], x: &Strided<T>, kept: usize) {
    let (ks, rs) = (&x.shape()[..kept], &x.shape()[kept..]);
    let n: usize = rs.iter().product();
    assert_eq!(out.len(), ks.iter().product::<usize>());
    if out.is_empty() {
        return;
    }
    out.fill(T::ZERO);
    if n == 0 {
        return;
    }
    let (kst, rst) = (&x.layout().strides()[..kept], &x.layout().strides()[kept..]);
    let reduced = Layout::new(rs, rst).coalesced();
    let keep = Layout::new(ks, kst).coalesced();
    // Along memory: every output element is the sum of one dense row.
    if reduced.rank() == 1 && reduced.strides()[0] == 1 {
        let rows = |start: usize, part: &mut [T]| {
            for (i, o) in part.iter_mut().enumerate() {
                let at = (x.offset() as isize + offset(&keep, start + i)) as usize;
                *o = long_row_sum(&x.data()[at..at + n]);
            }
        };
        let per = (TASK / n).max(1);
        if out.len() <= per {
            rows(0, out);
        } else {
            team::for_each_chunk(out, per, |i, part| rows(i * per, part));
        }
        return;
    }
    // Across memory: rows of output accumulate rows of input.
    let inner_dense = keep.rank() > 0 && keep.strides()[keep.rank() - 1] == 1;
    let inner = if inner_dense { keep.shape()[keep.rank() - 1] } else { 1 };
    let width = inner.min(1024);
    let columns = |start: usize, part: &mut [T]| {
        // `part` covers whole rows, or pieces of `width` columns of one row.
        for (c, o) in part.chunks_mut(width).enumerate() {
            let at = x.offset() as isize + offset(&keep, start + c * width);
            let mut index = [0usize; MAX_RANK];
            let mut step = 0isize;
            loop {
                let from = (at + step) as usize;
                if inner_dense {
                    add_rows(o, &x.data()[from..from + o.len()]);
                } else {
                    o[0] = o[0].add(x.data()[from]);
                }
                if !advance(&reduced, &mut index, &mut step) {
                    break;
                }
            }
        }
    };
    // Pieces must not straddle rows: one row at a time, cut into `width` columns.
    let per_task = (TASK / n.max(1)).max(1).next_multiple_of(width);
    let per_task = if inner.is_multiple_of(width) { per_task } else { inner };
    if out.len() <= per_task || inner % width != 0 {
        for (r, row) in out.chunks_mut(inner.max(1)).enumerate() {
            columns(r * inner.max(1), row);
        }
    } else {
        team::for_each_chunk(out, per_task, |i, part| columns(i * per_task, part));
    }
}

/// Offset of the element at linear position `i` of a layout.
pub(crate) fn offset(l: &Layout, mut i: usize) -> isize {
    let mut at = 0;
    for a in (0..l.rank()).rev() {
        let d = l.shape()[a];
        at += (i % d) as isize * l.strides()[a];
        i /= d;
    }
    at
}

/// Moves `index` to the next position in row-major order, keeping its offset in `at`; false at the end.
pub(crate) fn advance(l: &Layout, index: &mut [usize; MAX_RANK], at: &mut isize) -> bool {
    for a in (0..l.rank()).rev() {
        index[a] += 1;
        *at += l.strides()[a];
        if index[a] < l.shape()[a] {
            return true;
        }
        *at -= l.strides()[a] * l.shape()[a] as isize;
        index[a] = 0;
    }
    false
}
