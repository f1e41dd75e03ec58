//! Selecting and updating positions along one axis.
//!
//! An index is either a *list* (the same positions for every place of the other axes) or an index *along* the axis (one
//! position for each element). Callers have checked every position. Where several entries name one place, they act in
//! the order of the entries, whatever the number of threads: work is divided over the places written, never over the
//! entries.

use crate::arith::Num;
use crate::dtype::Element;
use crate::elementwise::BLOCK;
use crate::layout::{Layout, Strided};
use crate::reduce::offset;
use crate::{multiversion, team};

/// Output elements that one task of the team makes, at least.
const TASK: usize = 16 * 1024;

multiversion! {
    /// Whether a position is negative or not below `size`.
    fn any_outside(index: &[i64], size: u64) -> bool {
        index.iter().fold(false, |bad, &i| bad | (i as u64 >= size))
    }
}

/// The first position that is not in `0..size`.
pub fn first_outside(index: &[i64], size: usize) -> Option<i64> {
    let outside = |i: &i64| *i as u64 >= size as u64;
    if any_outside(index, size as u64) { index.iter().copied().find(|i| outside(i)) } else { None }
}

/// Row-major positions of the true elements.
pub fn true_positions(mask: &Strided<bool>) -> Vec<i64> {
    let mut found = Vec::new();
    let mut scratch = [false; BLOCK];
    let mut at = 0;
    while at < mask.len() {
        let n = BLOCK.min(mask.len() - at);
        let block = mask.block(at, n, &mut scratch);
        found.extend(block.iter().enumerate().filter(|(_, m)| **m).map(|(i, _)| (at + i) as i64));
        at += n;
    }
    found
}

/// A strided tensor as rows: one for each place of the axes before `axis` and of `axis` itself, holding the axes after.
struct Rows<'a, T> {
    data: &'a [T],
    base: isize,
    outer: Layout,
    /// From one position of the axis to the next.
    step: isize,
    inner: Layout,
    /// Elements of a row.
    len: usize,
}

impl<'a, T: Element> Rows<'a, T> {
    fn new(x: &Strided<'a, T>, axis: usize) -> Self {
        let (shape, strides) = (x.shape(), x.layout().strides());
        Self {
            data: x.data(),
            base: x.offset() as isize,
            outer: Layout::new(&shape[..axis], &strides[..axis]).coalesced(),
            step: strides[axis],
            inner: Layout::new(&shape[axis + 1..], &strides[axis + 1..]).coalesced(),
            len: shape[axis + 1..].iter().product(),
        }
    }

    /// Where row (`o`, 0) begins.
    #[inline]
    fn start(&self, o: usize) -> isize {
        self.base + offset(&self.outer, o)
    }

    /// The row that begins at `at`, when it lies dense.
    #[inline]
    fn dense(&self, at: isize) -> Option<&'a [T]> {
        let dense = self.inner.rank() == 0 || (self.inner.rank() == 1 && self.inner.strides()[0] == 1);
        dense.then(|| &self.data[at as usize..at as usize + self.len])
    }

    /// Copies the row that begins at `at`.
    #[inline]
    fn read(&self, at: isize, out: &mut [T]) {
        match self.dense(at) {
            Some(row) => out.copy_from_slice(row),
            None => Strided::new(self.data, at as usize, self.inner).copy_to(0, out),
        }
    }

    /// Where element `i` of a row lies relative to its beginning.
    #[inline]
    fn inside(&self, i: usize) -> isize {
        match self.inner.rank() {
            0 => 0,
            1 => i as isize * self.inner.strides()[0],
            _ => offset(&self.inner, i),
        }
    }
}

/// `f(outer, position on the axis, row)` for every row of `out`, which holds rows of `len` elements, `n` to an outer
/// place. `scratch` is one row for each task.
fn each_row<T: Element>(out: &mut [T], n: usize, len: usize, f: impl Fn(usize, usize, &mut [T], &mut Vec<T>) + Sync) {
    if out.is_empty() {
        return;
    }
    let per = (TASK / len).max(1);
    team::for_each_chunk(out, per * len, |c, part| {
        let (mut o, mut v) = (c * per / n, c * per % n);
        let mut scratch = Vec::new();
        for row in part.chunks_exact_mut(len) {
            f(o, v, row, &mut scratch);
            v += 1;
            if v == n {
                (o, v) = (o + 1, 0);
            }
        }
    });
}

/// `out[o, j, i] = x[o, list[j], i]`.
pub fn gather<T: Element>(out: &mut [T], x: &Strided<T>, axis: usize, list: &[i64]) {
    let x = Rows::new(x, axis);
    if x.len != 1 {
        each_row(out, list.len(), x.len, |o, j, row, _| x.read(x.start(o) + list[j] as isize * x.step, row));
        return;
    }
    // Rows of one element: whole runs along the axis instead.
    let n = list.len();
    team::for_each_chunk(out, TASK, |c, part| {
        let mut at = c * TASK;
        let mut rest = part;
        while !rest.is_empty() {
            let (o, j) = (at / n, at % n);
            let run = (n - j).min(rest.len());
            let (now, later) = rest.split_at_mut(run);
            let start = x.start(o);
            for (out, &i) in now.iter_mut().zip(&list[j..j + run]) {
                *out = x.data[(start + i as isize * x.step) as usize];
            }
            rest = later;
            at += run;
        }
    });
}

/// For each position of an axis, the entries of a list that name it, in ascending order.
pub struct Groups {
    starts: Vec<usize>,
    entries: Vec<usize>,
}

impl Groups {
    /// Groups `list`, whose positions are below `size`.
    pub fn new(list: &[i64], size: usize) -> Self {
        let mut starts = vec![0; size + 1];
        for &v in list {
            starts[v as usize + 1] += 1;
        }
        for v in 0..size {
            starts[v + 1] += starts[v];
        }
        let mut next = starts.clone();
        let mut entries = vec![0; list.len()];
        for (j, &v) in list.iter().enumerate() {
            entries[next[v as usize]] = j;
            next[v as usize] += 1;
        }
        Self { starts, entries }
    }

    /// The entries that name position `v`.
    pub fn of(&self, v: usize) -> &[usize] {
        &self.entries[self.starts[v]..self.starts[v + 1]]
    }

    /// The first position that two entries name.
    pub fn repeated(&self) -> Option<usize> {
        (0..self.starts.len() - 1).find(|&v| self.of(v).len() > 1)
    }
}

multiversion! {
    if T::FLOAT;
    /// `a[i] += b[i]`.
    fn add_to<T: Num>(a: &mut [T], b: &[T]) {
        for (a, &b) in a.iter_mut().zip(b) {
            *a = a.add(b);
        }
    }
}

/// `out[o, v, i] = base[o, v, i] + sum over the entries j of v of src[o, j, i]`, summed in the order of the entries; no
/// `base` is a base of zeros. `n` is the size of the output's axis.
pub fn add_rows<T: Num>(
    out: &mut [T],
    n: usize,
    base: Option<&Strided<T>>,
    src: &Strided<T>,
    axis: usize,
    groups: &Groups,
) {
    let base = base.map(|b| Rows::new(b, axis));
    let src = Rows::new(src, axis);
    each_row(out, n, src.len, |o, v, row, scratch| {
        match &base {
            Some(b) => b.read(b.start(o) + v as isize * b.step, row),
            None => row.fill(T::ZERO),
        }
        let entries = groups.of(v);
        if entries.is_empty() {
            return;
        }
        let start = src.start(o);
        for &j in entries {
            let at = start + j as isize * src.step;
            if let Some(s) = src.dense(at) {
                add_to(row, s);
            } else {
                scratch.resize(row.len(), T::ZERO);
                src.read(at, scratch);
                add_to(row, scratch);
            }
        }
    });
}

/// `out[o, v, i]` is `src[o, j, i]` where one entry `j` names `v`, else `x[o, v, i]`; no `src` is a source of zeros.
pub fn set_rows<T: Element>(out: &mut [T], x: &Strided<T>, src: Option<&Strided<T>>, axis: usize, groups: &Groups) {
    let n = x.shape()[axis];
    let x = Rows::new(x, axis);
    let src = src.map(|s| Rows::new(s, axis));
    each_row(out, n, x.len, |o, v, row, _| match (groups.of(v).last(), &src) {
        (None, _) => x.read(x.start(o) + v as isize * x.step, row),
        (Some(_), None) => row.fill(T::default()),
        (Some(&j), Some(s)) => s.read(s.start(o) + j as isize * s.step, row),
    });
}

/// `out[o, j, i] = x[o, index[o, j, i], i]`; `index` has the shape of `out`.
pub fn take_along<T: Element>(out: &mut [T], x: &Strided<T>, axis: usize, index: &Strided<i64>) {
    assert_eq!(out.len(), index.len());
    let x = Rows::new(x, axis);
    let (w, n) = (x.len, index.shape()[axis]);
    team::for_each_chunk(out, TASK, |c, part| {
        let mut scratch = [0; BLOCK];
        for (b, out) in part.chunks_mut(BLOCK).enumerate() {
            let at = c * TASK + b * BLOCK;
            let index = index.block(at, out.len(), &mut scratch);
            let mut k = 0;
            while k < out.len() {
                // A run within one row, or, where rows have one element, along the axis.
                let e = at + k;
                let (o, run) = if w == 1 { (e / n, n - e % n) } else { (e / w / n, w - e % w) };
                let end = out.len().min(k + run);
                let start = x.start(o);
                for (i, (out, &v)) in out[k..end].iter_mut().zip(&index[k..end]).enumerate() {
                    let inside = if w == 1 { 0 } else { x.inside(e % w + i) };
                    *out = x.data[(start + v as isize * x.step + inside) as usize];
                }
                k = end;
            }
        }
    });
}

/// For the output's slab of each outer place, `f(element of the slab, value, entry)` for every element of `src` in
/// row-major order, where `index` says at which position of the axis it lands. Slabs hold `n` rows of `w` elements.
fn scatter<T: Send, S: Element>(
    out: &mut [T],
    n: usize,
    src: &Strided<S>,
    axis: usize,
    index: &Strided<i64>,
    f: impl Fn(&mut T, S, usize) + Sync,
) {
    assert_eq!(src.shape(), index.shape());
    let w: usize = index.shape()[axis + 1..].iter().product();
    let entries = index.shape()[axis] * w;
    if out.is_empty() || entries == 0 {
        return;
    }
    let slab = n * w;
    let per = (TASK / slab.max(entries)).max(1);
    team::for_each_chunk(out, per * slab, |c, part| {
        let (mut is, mut ss) = ([0; BLOCK], [S::default(); BLOCK]);
        for (k, slab) in part.chunks_exact_mut(slab).enumerate() {
            let first = (c * per + k) * entries;
            let (mut done, mut column, mut entry) = (0, 0, 0);
            while done < entries {
                let len = BLOCK.min(entries - done);
                let index = index.block(first + done, len, &mut is);
                let src = src.block(first + done, len, &mut ss);
                for (&v, &s) in index.iter().zip(src) {
                    f(&mut slab[v as usize * w + column], s, entry);
                    column += 1;
                    if column == w {
                        (column, entry) = (0, entry + 1);
                    }
                }
                done += len;
            }
        }
    });
}

/// `out[o, index[o, j, i], i] += src[o, j, i]`, in the order of `j`. `n` is the size of the output's axis.
pub fn add_along<T: Num>(out: &mut [T], n: usize, src: &Strided<T>, axis: usize, index: &Strided<i64>) {
    scatter(out, n, src, axis, index, |o, s, _| *o = o.add(s));
}

/// `out[o, index[o, j, i], i] = src[o, j, i]`; the last `j` wins. `n` is the size of the output's axis.
pub fn set_along<T: Element>(out: &mut [T], n: usize, src: &Strided<T>, axis: usize, index: &Strided<i64>) {
    scatter(out, n, src, axis, index, |o, s, _| *o = s);
}

/// The `j` that [`set_along`] leaves at each place of its output, -1 where none landed.
pub fn winners_along(out: &mut [i64], n: usize, axis: usize, index: &Strided<i64>) {
    out.fill(-1);
    scatter(out, n, index, axis, index, |o, _, j| *o = j as i64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_stable() {
        let g = Groups::new(&[2, 0, 2, 1, 2], 4);
        assert_eq!([g.of(0), g.of(1), g.of(2), g.of(3)], [&[1][..], &[3], &[0, 2, 4], &[]]);
        assert_eq!(g.repeated(), Some(2));
        assert_eq!(Groups::new(&[], 0).repeated(), None);
    }

    #[test]
    fn outside_is_found_and_named() {
        assert_eq!(first_outside(&[0, 3, 2], 4), None);
        assert_eq!(first_outside(&[0, 4, -1], 4), Some(4));
        assert_eq!(first_outside(&[0, -1, 9], 4), Some(-1));
        assert_eq!(first_outside(&[0], 0), Some(0));
        assert_eq!(first_outside(&[], 0), None);
    }

    #[test]
    fn rows_of_every_layout() {
        // [2, 3, 2] stored as [3, 2, 2].
        let data: Vec<i32> = (0..12).collect();
        let l = Layout::contiguous(&[3, 2, 2]).permuted(&[1, 0, 2]);
        let x = Strided::new(&data, 0, l);
        let mut out = vec![0; 2 * 2 * 2];
        gather(&mut out, &x, 1, &[2, 0]);
        assert_eq!(out, [8, 9, 0, 1, 10, 11, 2, 3]);
        let mut out = vec![0; 2 * 3 * 3];
        gather(&mut out, &x, 2, &[1, 1, 0]);
        assert_eq!(out[..6], [1, 1, 0, 5, 5, 4]);
    }
}
