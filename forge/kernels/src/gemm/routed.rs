//! Grouped and routed products: rows sorted by group, one right operand for each group.

use super::arm::Kernel;
use super::batch::{Grid, Shared, finished};
use super::check::check;
use super::pack;
use super::rect::Rect;
use super::scratch::{self, Slot};
use super::{GemmFloat, MatMut, MatRef, Options};
use crate::isa::isa;
use crate::team;

/// Rows of A that one task gathers at a time.
const GATHER_ROWS: usize = 96;

/// For each group `g`: `C[offsets[g]..offsets[g + 1]] = A[the same rows] B_g`, where `b(g)` is `[k, n]`.
///
/// `b` is called once for each group that has rows, just before its product, and what it returns is let go right
/// after: a weight that is paged in or streamed need only live that long. The bias and the activation are shared.
///
/// The product over ragged rows that a gradient with respect to `B_g` needs is a plain [`gemm`](super::gemm) for each
/// group.
///
/// # Panics
/// When `offsets` does not ascend from 0 to the number of rows, and as [`gemm`](super::gemm).
///
/// ```
/// use forge_kernels::gemm::{gemm_grouped, MatMut, MatRef, Options};
/// let (a, experts) = ([1.0f32, 2.0, 3.0], [10.0, 100.0]);
/// let mut c = [0.0; 3];
/// let (a, c_ref) = (MatRef::row_major(&a, 3, 1), MatMut::row_major(&mut c, 3, 1));
/// // Row 0 meets the first expert, rows 1 and 2 the second.
/// gemm_grouped(&[0, 1, 3], a, |g| MatRef::row_major(&experts[g..], 1, 1), c_ref, &Options::default());
/// assert_eq!(c, [10.0, 200.0, 300.0]);
/// ```
pub fn gemm_grouped<'b, T: GemmFloat>(
    offsets: &[usize],
    a: MatRef<T>,
    b: impl Fn(usize) -> MatRef<'b, T>,
    c: MatMut<T>,
    options: &Options<T>,
) {
    let rows = a.rows;
    run(T::kernel(isa()), offsets, a, Rows::All(rows), b, c, options);
}

/// [`gemm_grouped`] with the rows of A picked by an index: row `r` of C is `A[rows[r]] B_g` for the group `g` of `r`.
/// A row may be picked any number of times (a token that goes to several experts).
///
/// # Panics
/// As [`gemm_grouped`], with `rows.len()` for the number of rows; and when an index is outside of A.
pub fn gemm_routed<'b, T: GemmFloat>(
    offsets: &[usize],
    rows: &[usize],
    a: MatRef<T>,
    b: impl Fn(usize) -> MatRef<'b, T>,
    c: MatMut<T>,
    options: &Options<T>,
) {
    run(T::kernel(isa()), offsets, a, Rows::Picked(rows), b, c, options);
}

/// Which rows of A make the product's rows.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    /// All of them, in order.
    All(usize),
    /// These.
    Picked(&'a [usize]),
}

/// Both arms on a given instruction set, which the CPU must have.
pub(super) fn run<'b, T: GemmFloat>(
    kernel: &Kernel<T>,
    offsets: &[usize],
    a: MatRef<T>,
    rows: Rows,
    b: impl Fn(usize) -> MatRef<'b, T>,
    c: MatMut<T>,
    options: &Options<T>,
) {
    let count = match rows {
        Rows::All(n) => n,
        Rows::Picked(r) => {
            if let Some(bad) = r.iter().find(|&&r| r >= a.rows) {
                panic!("routed product: row {bad} of an A of {} rows", a.rows);
            }
            r.len()
        }
    };
    assert!(
        offsets.first().is_none_or(|&o| o == 0) && offsets.last().copied().unwrap_or(0) == count && offsets.is_sorted(),
        "grouped product: the offsets must ascend from 0 to the number of rows, {count}"
    );
    assert!(c.rows == count, "grouped product: {count} rows, C has {}", c.rows);
    for g in 0..offsets.len().saturating_sub(1) {
        let (first, m) = (offsets[g], offsets[g + 1] - offsets[g]);
        if m == 0 {
            continue;
        }
        let b = b(g);
        let at = |o: usize, stride: isize| (o as isize).wrapping_add((first as isize).wrapping_mul(stride)) as usize;
        let c = MatMut {
            data: &mut *c.data,
            offset: at(c.offset, c.row_stride),
            rows: m,
            cols: c.cols,
            row_stride: c.row_stride,
            col_stride: c.col_stride,
        };
        match rows {
            Rows::All(_) => {
                let a = MatRef { offset: at(a.offset, a.row_stride), rows: m, ..a };
                super::batch::run(kernel, &[], a, b, c, options);
            }
            Rows::Picked(picked) => gathered(kernel, &picked[first..first + m], a, b, c, options),
        }
    }
}

/// One group whose rows of A are picked: each task gathers its rows, then multiplies them.
fn gathered<T: GemmFloat>(
    kernel: &Kernel<T>,
    picked: &[usize],
    a: MatRef<T>,
    b: MatRef<T>,
    c: MatMut<T>,
    options: &Options<T>,
) {
    let (m, n, k) = (picked.len(), c.cols, a.cols);
    // All of A is checked, since any of its rows may be picked.
    check(&[], m, &a, &b, &c, options);
    if n == 0 {
        return;
    }
    let grid = Grid::new(m, n, k);
    let shared = Shared(Rect { m, ..Rect::new(&a, &b, c, options.accumulate) });
    team::run(grid.cells, |cell| {
        let r = shared.get();
        let (first, rows, column, cols) = grid.cell(cell, m, n);
        scratch::with(Slot::Rows, rows.min(GATHER_ROWS) * k, |buffer: *mut T| {
            for (at, picked) in picked[first..first + rows].chunks(GATHER_ROWS).enumerate() {
                for (i, &row) in picked.iter().enumerate() {
                    // SAFETY: row `row < a.rows` of A, all of which `check` found inside its slice; the buffer has
                    // room for the chunk's rows.
                    unsafe {
                        pack::rows(r.a.wrapping_offset(row as isize * r.ars), 0, r.acs, 1, k, buffer.add(i * k), k)
                    };
                }
                let part = r.part(first + at * GATHER_ROWS, picked.len(), column, cols);
                let part = Rect { a: buffer, ars: k as isize, acs: 1, ..part };
                // SAFETY: A is the buffer just written, `picked.len() x k`; B and C are inside their slices (`check`);
                // the cells of the grid are disjoint, C is borrowed mutably, and the CPU has the kernel's arm.
                unsafe { finished(kernel, &part, column, options) };
            }
        });
    });
}
