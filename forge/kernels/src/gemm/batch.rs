//! Plain and batched products: batch loops, the division of work, the epilogue.

use super::arm::Kernel;
use super::check::{MAX_BATCH, check};
use super::rect::{self, Rect};
use super::scratch::{self, Slot};
use super::{GemmFloat, MatMut, MatRef, Options};
use crate::isa::isa;
use crate::team;

/// Multiplications from which on a product is worth the team's fork and join.
const TEAM_WORK: usize = 1 << 20;
/// Multiplications of one task, roughly: some tens of microseconds.
const TASK_WORK: usize = 1 << 20;
/// Most rectangles for each thread: enough to keep the threads level at the end, few enough not to pack often.
const CELLS: usize = 4;
/// Smallest sides of a rectangle.
const MIN_CELL: usize = 128;

/// One loop over a stack of matrices: how far A, B and C move at each step. A stride of zero shares the operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchDim {
    /// Number of steps.
    pub size: usize,
    /// Distance of two matrices of A.
    pub a_stride: isize,
    /// Distance of two matrices of B.
    pub b_stride: isize,
    /// Distance of two matrices of C; not zero.
    pub c_stride: isize,
}

/// [`gemm`](super::gemm) over the loops of `dims` (any number, nested): `a`, `b`, `c` are the first matrices.
///
/// Loops that merely continue the rows of A and C over one B, or the columns of B and C over one A, are merged into
/// one larger product. The bias is shared by all matrices.
///
/// # Panics
/// As [`gemm`](super::gemm), for all matrices of the batch; and for more than 16 loops.
///
/// ```
/// use forge_kernels::gemm::{gemm_batched, BatchDim, MatMut, MatRef, Options};
/// let (a, b) = ([1.0f32, 2.0, 3.0, 4.0], [10.0, 100.0]);
/// let mut c = [0.0; 4];
/// // Two products [2, 1] x [1, 1].
/// let dims = [BatchDim { size: 2, a_stride: 2, b_stride: 1, c_stride: 2 }];
/// let (a, b) = (MatRef::row_major(&a, 2, 1), MatRef::row_major(&b, 1, 1));
/// gemm_batched(&dims, a, b, MatMut::row_major(&mut c, 2, 1), &Options::default());
/// assert_eq!(c, [10.0, 20.0, 300.0, 400.0]);
/// ```
pub fn gemm_batched<T: GemmFloat>(dims: &[BatchDim], a: MatRef<T>, b: MatRef<T>, c: MatMut<T>, options: &Options<T>) {
    run(T::kernel(isa()), dims, a, b, c, options);
}

/// [`gemm_batched`] on a given arm, which the CPU must have.
pub(super) fn run<T: GemmFloat>(
    kernel: &Kernel<T>,
    dims: &[BatchDim],
    a: MatRef<T>,
    b: MatRef<T>,
    c: MatMut<T>,
    options: &Options<T>,
) {
    check(dims, a.rows, &a, &b, &c, options);
    if c.rows == 0 || c.cols == 0 || dims.iter().any(|d| d.size == 0) {
        return;
    }
    let mut rect = Rect::new(&a, &b, c, options.accumulate);
    if dims.is_empty() {
        // SAFETY: `check` has shown that every element named by sizes and strides is inside the slices and that those
        // of C are distinct; C is borrowed mutably, so nothing else touches it. The kernel is one that the CPU has
        // (contract of this function, and of `isa()`).
        unsafe { batched(kernel, &rect, &[], options) };
        return;
    }
    let mut loops = [BatchDim::default(); MAX_BATCH];
    let mut count = 0;
    for d in dims.iter().filter(|d| d.size > 1) {
        loops[count] = *d;
        count += 1;
    }
    let loops = merge(&mut rect, &mut loops[..count], options.bias.is_none());
    // SAFETY: as above; merging names the same elements.
    unsafe { batched(kernel, &rect, loops, options) }
}

/// Merges loops into rows or columns where they continue them; returns the loops that are left.
fn merge<'a, T>(r: &mut Rect<T>, loops: &'a mut [BatchDim], columns: bool) -> &'a [BatchDim] {
    let mut count = loops.len();
    let mut d = 0;
    while d < count {
        let BatchDim { size, a_stride, b_stride, c_stride } = loops[d];
        let along = |n: usize, sx: isize, sc: isize, x: isize| {
            n == 1 || (n as isize).checked_mul(sx) == Some(x) && (n as isize).checked_mul(sc) == Some(c_stride)
        };
        if b_stride == 0 && along(r.m, r.ars, r.crs, a_stride) {
            if r.m == 1 {
                (r.ars, r.crs) = (a_stride, c_stride);
            }
            r.m *= size;
        } else if columns && a_stride == 0 && along(r.n, r.bcs, r.ccs, b_stride) {
            if r.n == 1 {
                (r.bcs, r.ccs) = (b_stride, c_stride);
            }
            r.n *= size;
        } else {
            d += 1;
            continue;
        }
        // A merge may make another possible.
        loops.copy_within(d + 1..count, d);
        count -= 1;
        d = 0;
    }
    &loops[..count]
}

/// A rectangle that tasks share.
pub(super) struct Shared<T>(pub Rect<T>);
// SAFETY: the tasks read A and B, which are shared slices of `Sync` elements, and write disjoint parts of C.
unsafe impl<T: Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// A method, so that closures capture the whole wrapper.
    pub fn get(&self) -> &Rect<T> {
        &self.0
    }
}

/// How one product is cut: a grid of rectangles. The number of threads may have a say because no bit of the result
/// depends on the cuts (see the [module](super) page): what is packed for each rectangle is then packed less often.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    rows: usize,
    cols: usize,
    across: usize,
    pub cells: usize,
}

impl Grid {
    pub fn new(m: usize, n: usize, k: usize) -> Self {
        let work = m.saturating_mul(n).saturating_mul(k);
        let threads = if work < 2 * TASK_WORK { 1 } else { team::threads() };
        if threads == 1 {
            return Self { rows: m, cols: n, across: 1, cells: 1 };
        }
        let wanted = (work / TASK_WORK).min(CELLS * threads);
        let (mut down, mut across) = (1, 1);
        while down * across < wanted {
            let (rows, cols) = (m / down, n / across);
            if rows >= cols && rows >= 2 * MIN_CELL {
                down *= 2;
            } else if cols >= 2 * MIN_CELL {
                across *= 2;
            } else {
                break;
            }
        }
        // Whole tiles of every arm, except at the end.
        let (rows, cols) = (m.div_ceil(down).next_multiple_of(12), n.div_ceil(across).next_multiple_of(32));
        Self { rows, cols, across: n.div_ceil(cols).max(1), cells: m.div_ceil(rows) * n.div_ceil(cols) }
    }

    /// First row, rows, first column, columns of a cell.
    pub fn cell(&self, i: usize, m: usize, n: usize) -> (usize, usize, usize, usize) {
        let (r, c) = (i / self.across * self.rows, i % self.across * self.cols);
        (r, self.rows.min(m - r), c, self.cols.min(n - c))
    }
}

/// # Safety
/// As for [`rect::run`], for each matrix of the batch.
unsafe fn batched<T: GemmFloat>(kernel: &Kernel<T>, r: &Rect<T>, loops: &[BatchDim], options: &Options<T>) {
    let items: usize = loops.iter().map(|d| d.size).product();
    let work = r.m.saturating_mul(r.n).saturating_mul(r.k.max(1));
    let grid = Grid::new(r.m, r.n, r.k);
    let cell = |r: &Rect<T>, cell: usize| {
        let (i, m, j, n) = grid.cell(cell, r.m, r.n);
        // SAFETY: a part of a matrix of the batch.
        unsafe { finished(kernel, &r.part(i, m, j, n), j, options) }
    };
    if items == 1 && grid.cells == 1 {
        cell(r, 0);
        return;
    }
    let shared = Shared(*r);
    let item = |index: usize| {
        let mut r = *shared.get();
        let mut rest = index;
        for d in loops.iter().rev() {
            let i = (rest % d.size) as isize;
            rest /= d.size;
            r.a = r.a.wrapping_offset(i * d.a_stride);
            r.b = r.b.wrapping_offset(i * d.b_stride);
            r.c = r.c.wrapping_offset(i * d.c_stride);
        }
        r
    };
    if work.saturating_mul(items) < TEAM_WORK {
        for i in 0..items {
            cell(&item(i), 0);
        }
    } else if grid.cells > 1 {
        team::run(items * grid.cells, |t| cell(&item(t / grid.cells), t % grid.cells));
    } else {
        let each = (TASK_WORK / work).clamp(1, items);
        team::run(items.div_ceil(each), |t| {
            for i in t * each..((t + 1) * each).min(items) {
                cell(&item(i), 0);
            }
        });
    }
}

/// A rectangle with its epilogue; `column` is its first column, for the bias.
///
/// # Safety
/// As for [`rect::run`].
pub(super) unsafe fn finished<T: GemmFloat>(kernel: &Kernel<T>, r: &Rect<T>, column: usize, options: &Options<T>) {
    // SAFETY: this function's contract.
    unsafe { rect::run(kernel, r) };
    if options.bias.is_none() && options.activation.is_none() {
        return;
    }
    let bias = options.bias.map(|b| &b[column..column + r.n]);
    let finish = |row: &mut [T]| {
        if let Some(bias) = bias {
            for (c, &b) in row.iter_mut().zip(bias) {
                *c += b;
            }
        }
        if let Some(f) = options.activation {
            f(row);
        }
    };
    // SAFETY: rows of C, which nobody else touches (this function's contract); those that are not dense go through a
    // buffer, whose `n` elements are written before they are read.
    unsafe {
        if r.ccs == 1 && r.crs == r.n as isize && bias.is_none() {
            finish(core::slice::from_raw_parts_mut(r.c, r.m * r.n));
        } else if r.ccs == 1 || r.n == 1 {
            for i in 0..r.m as isize {
                finish(core::slice::from_raw_parts_mut(r.c.offset(i * r.crs), r.n));
            }
        } else {
            scratch::with(Slot::Epilogue, r.n, |row: *mut T| {
                for i in 0..r.m as isize {
                    let c = r.c.offset(i * r.crs);
                    for j in 0..r.n {
                        row.add(j).write(*c.offset(j as isize * r.ccs));
                    }
                    finish(core::slice::from_raw_parts_mut(row, r.n));
                    for j in 0..r.n {
                        *c.offset(j as isize * r.ccs) = *row.add(j);
                    }
                }
            });
        }
    }
}
