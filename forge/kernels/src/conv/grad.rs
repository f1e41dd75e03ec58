//! The derivative with respect to the weights: a correlation of inputs with output gradients.

use super::Conv;
use super::tile::{ConvFloat, Kernel, Seg, Tile};
use crate::scratch::Scratch;
use crate::{multiversion, team};
use std::ops::Range;

/// Multiplications of one task, roughly.
const TASK_WORK: usize = 1 << 18;
/// Fewest outputs of a chunk, and most chunks.
const CHUNK: usize = 64;
const MAX_CHUNKS: usize = 32;
/// Most elements of all chunks' sums together.
const SUMS: usize = 1 << 22;
/// Columns of one task.
const COLS: usize = 128;
/// Most segments of a tile: lines of one chunk that are summed in registers.
const SEGS: usize = 64;

multiversion! {
    /// `a[i] += b[i]`.
    fn add<T: ConvFloat>(a: &mut [T], b: &[T]) {
        for (a, &b) in a.iter_mut().zip(b) {
            *a += b;
        }
    }
}

struct Job<'a, T: ConvFloat> {
    conv: &'a Conv,
    kernel: &'static Kernel<T>,
    x: *const T,
    dy: *const T,
    /// Sums of each chunk, one after the other.
    sums: *mut T,
    /// Outputs of a chunk.
    chunk: usize,
    deep: bool,
}

// SAFETY: tasks read `x` and `dy`, and write disjoint parts of the sums.
unsafe impl<T: ConvFloat> Sync for Job<'_, T> {}

/// `dw[ky, kx, c, o] = sum over outputs of x * dy`, in chunks of outputs whose sums are then added in order.
///
/// The slices have the sizes that `conv` says.
pub(super) fn weights<T: ConvFloat>(kernel: &'static Kernel<T>, dw: &mut [T], x: &[T], dy: &[T], conv: &Conv) {
    let outputs = conv.batch * conv.sides[0].output * conv.sides[1].output;
    if dw.is_empty() {
        return;
    }
    let work = outputs.saturating_mul(dw.len() / conv.groups.max(1)).saturating_mul(conv.groups);
    let room = (SUMS / dw.len()).clamp(1, MAX_CHUNKS);
    let chunks = (work / TASK_WORK).min(outputs / CHUNK).clamp(1, room);
    let chunk = outputs.div_ceil(chunks).max(1);
    let chunks = outputs.div_ceil(chunk).max(1);
    let deep = conv.is_depthwise();
    let mut buffer = Scratch::<T>::new(if chunks > 1 { chunks * dw.len() } else { 0 });
    let sums = &mut *buffer;
    let sums = if chunks > 1 { sums.as_mut_ptr() } else { dw.as_mut_ptr() };
    let job = Job { conv, kernel, x: x.as_ptr(), dy: dy.as_ptr(), sums, chunk, deep };
    let (groups, cols) = if deep { (1, conv.groups) } else { (conv.groups, conv.cout) };
    let panels = cols.div_ceil(COLS);
    let taps = conv.sides[0].taps * conv.sides[1].taps;
    let tasks = chunks * taps * groups * panels;
    let task = |i: usize| {
        let (i, panel) = (i / panels, i % panels);
        let (i, group) = (i / groups, i % groups);
        let (chunk, tap) = (i / taps, i % taps);
        let cols = panel * COLS..((panel + 1) * COLS).min(cols);
        // SAFETY: tasks of different chunks, taps, groups or panels write different elements.
        unsafe { job.sum(chunk, tap, group, cols) }
    };
    if work < 2 * TASK_WORK {
        (0..tasks).for_each(task);
    } else {
        team::run(tasks, task);
    }
    if chunks == 1 {
        return;
    }
    total(dw, &buffer, chunks);
}

/// Adds the sums of `chunks`, in order.
pub(super) fn total<T: ConvFloat>(dw: &mut [T], sums: &[T], chunks: usize) {
    const PART: usize = 16 * 1024;
    let n = dw.len();
    team::for_each_chunk(dw, PART, |i, part| {
        let at = i * PART;
        part.copy_from_slice(&sums[at..at + part.len()]);
        for c in 1..chunks {
            add(part, &sums[c * n + at..c * n + at + part.len()]);
        }
    });
}

impl<T: ConvFloat> Job<'_, T> {
    /// One chunk's sums for one tap.
    ///
    /// # Safety
    /// No other thread touches these sums.
    unsafe fn sum(&self, chunk: usize, tap: usize, group: usize, cols: Range<usize>) {
        let c = self.conv;
        let [sy, sx] = &c.sides;
        let (ky, kx) = (tap / sx.taps, tap % sx.taps);
        let (ys, xs) = (sy.outputs(ky), sx.outputs(kx));
        let (xc, yc) = (c.groups * c.cin, c.groups * c.cout);
        let total = c.batch * sy.output * sx.output;
        let flat = chunk * self.chunk..((chunk + 1) * self.chunk).min(total);
        let mut segs = [Seg::default(); SEGS];
        let (mut n, mut first) = (0, true);
        for line in flat.start / sx.output.max(1)..flat.end.div_ceil(sx.output.max(1)) {
            let (b, y) = (line / sy.output, line % sy.output);
            let start = flat.start.saturating_sub(line * sx.output).max(xs.start);
            let end = (flat.end - line * sx.output).min(xs.end);
            if !ys.contains(&y) || start >= end {
                continue;
            }
            let row = (b * sy.input) as isize + sy.at(y, ky);
            let at = row * sx.input as isize + sx.at(start, kx);
            segs[n] = Seg { a: at * xc as isize, b: ((line * sx.output + start) * yc) as isize, len: end - start };
            n += 1;
            if n == SEGS {
                // SAFETY: as for this function.
                unsafe { self.tiles(&segs, chunk, tap, group, &cols, first) }
                (n, first) = (0, false);
            }
        }
        if n > 0 || first {
            // SAFETY: as for this function.
            unsafe { self.tiles(&segs[..n], chunk, tap, group, &cols, first) }
        }
    }

    /// Adds the segments' products to the sums of one tap, or starts them.
    ///
    /// # Safety
    /// As for [`Self::sum`]; the segments lie inside both images.
    unsafe fn tiles(&self, segs: &[Seg], chunk: usize, tap: usize, group: usize, cols: &Range<usize>, first: bool) {
        let c = self.conv;
        let (xc, yc) = (c.groups * c.cin, c.groups * c.cout);
        let row = if self.deep { c.groups } else { yc };
        let size = c.sides[0].taps * c.sides[1].taps * c.cin * row;
        let sums = self.sums.wrapping_add(chunk * size + tap * c.cin * row);
        let mut j = cols.start;
        while j < cols.end {
            let left = cols.end - j;
            let (width, tiles) = if self.deep { self.kernel.deep_long(left) } else { self.kernel.dense(left) };
            let column = group * c.cout + j;
            let a = self.x.wrapping_add(if self.deep { j } else { group * c.cin });
            let mut done = 0;
            for tile in tiles {
                while c.cin - done >= tile.rows {
                    let at = sums.wrapping_add(done * row + column);
                    let job = Tile {
                        segs,
                        a: a.wrapping_add(done),
                        a_row: 1,
                        a_step: (c.sides[1].stride * xc) as isize,
                        b: self.dy.wrapping_add(column),
                        b_step: yc as isize,
                        c: at,
                        c_row: row as isize,
                        init: if first { std::ptr::null() } else { at.cast_const() },
                        init_row: row as isize,
                        cols: width,
                    };
                    // SAFETY: the kernel is one that the CPU has; channels `done..done + rows` of the group and columns
                    // `j..j + width` exist; the width is that of these tiles.
                    unsafe { (tile.run)(&job) };
                    done += tile.rows;
                }
            }
            j += width;
        }
    }
}
