//! One rectangle of C on one thread: which way round, and which path.
//!
//! Nothing here changes the bits of a result (see the [module](super) page), so every choice is free to follow speed.

use super::arm::{Kernel, SKINNY_ROWS};
use super::blocked;
use super::micro::{SKINNY_COLS, Skinny};
use super::scratch::{self, Slot};
use super::{GemmFloat, MatMut, MatRef};

/// From this size on a skinny product streams the rows of B instead of walking down its columns.
const STREAM_BYTES: usize = 128 * 1024;

/// A product of known pointers and strides: `C = A B` or `C += A B`.
#[derive(Clone, Copy)]
pub(super) struct Rect<T> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: *const T,
    pub ars: isize,
    pub acs: isize,
    pub b: *const T,
    pub brs: isize,
    pub bcs: isize,
    pub c: *mut T,
    pub crs: isize,
    pub ccs: isize,
    pub add: bool,
}

impl<T> Rect<T> {
    /// `C = A B` as the door was given it.
    pub fn new(a: &MatRef<T>, b: &MatRef<T>, c: MatMut<T>, add: bool) -> Self {
        Self {
            m: a.rows,
            n: b.cols,
            k: a.cols,
            // `wrapping_add`: an empty matrix may have any offset, and is never read.
            a: a.data.as_ptr().wrapping_add(a.offset),
            ars: a.row_stride,
            acs: a.col_stride,
            b: b.data.as_ptr().wrapping_add(b.offset),
            brs: b.row_stride,
            bcs: b.col_stride,
            c: c.data.as_mut_ptr().wrapping_add(c.offset),
            crs: c.row_stride,
            ccs: c.col_stride,
            add,
        }
    }

    /// `C^T = B^T A^T`: the same products, so the same bits.
    fn swapped(&self) -> Self {
        Self {
            m: self.n,
            n: self.m,
            k: self.k,
            a: self.b,
            ars: self.bcs,
            acs: self.brs,
            b: self.a,
            brs: self.acs,
            bcs: self.ars,
            c: self.c,
            crs: self.ccs,
            ccs: self.crs,
            add: self.add,
        }
    }

    /// Rows `i..i + m`, columns `j..j + n`.
    pub fn part(&self, i: usize, m: usize, j: usize, n: usize) -> Self
    where
        T: Copy,
    {
        Self {
            m,
            n,
            a: self.a.wrapping_offset(i as isize * self.ars),
            b: self.b.wrapping_offset(j as isize * self.bcs),
            c: self.c.wrapping_offset(i as isize * self.crs + j as isize * self.ccs),
            ..*self
        }
    }
}

/// Computes a rectangle.
///
/// # Safety
/// The CPU has the kernel's instruction set. For all `i < m`, `j < n`, `p < k` the elements `a + i*ars + p*acs` and
/// `b + p*brs + j*bcs` are valid for reads and `c + i*crs + j*ccs` for writes; those of C are distinct and no other
/// thread touches them, nor do A and B overlap them.
pub(super) unsafe fn run<T: GemmFloat>(kernel: &Kernel<T>, r: &Rect<T>) {
    if r.m == 0 || r.n == 0 {
        return;
    }
    // SAFETY: the contract of this function is the contract of each callee; `swapped` names the same elements.
    unsafe {
        if r.k == 0 {
            if !r.add {
                zero(r);
            }
            return;
        }
        if r.m == 1 && r.n == 1 {
            let start = r.add.then(|| *r.c);
            *r.c = (kernel.dot)(r.k, (r.a, r.acs), (r.b, r.brs), start);
            return;
        }
        // Registers lie along the columns of C: they want at least one register's width, and contiguous stores.
        let narrow = r.n < kernel.lanes && r.m > r.n;
        let columns_first = r.n >= kernel.lanes && r.m >= kernel.lanes && r.crs == 1 && r.ccs != 1;
        let r = if narrow || columns_first { r.swapped() } else { *r };
        if r.m <= SKINNY_ROWS && r.brs == 1 && r.bcs != 1 && r.n >= kernel.column_lanes {
            skinny_cols(kernel, &r);
        } else if r.m <= SKINNY_ROWS && r.bcs == 1 && r.k * r.n * size_of::<T>() >= STREAM_BYTES {
            skinny_rows(kernel, &r);
        } else {
            blocked::run(kernel, &r);
        }
    }
}

/// # Safety
/// As for [`run`].
unsafe fn zero<T: GemmFloat>(r: &Rect<T>) {
    for i in 0..r.m as isize {
        for j in 0..r.n as isize {
            // SAFETY: an element of C.
            unsafe { *r.c.offset(i * r.crs + j * r.ccs) = T::default() };
        }
    }
}

fn skinny<T: GemmFloat>(r: &Rect<T>, ld: isize, n: usize, sums: *mut T) -> Skinny<T> {
    Skinny { n, k: r.k, a: r.a, ars: r.ars, acs: r.acs, b: r.b, ld, c: r.c, crs: r.crs, ccs: r.ccs, add: r.add, sums }
}

/// Few rows, row-major B.
///
/// # Safety
/// As for [`run`]; `m <= SKINNY_ROWS` and `bcs == 1`.
unsafe fn skinny_rows<T: GemmFloat>(kernel: &Kernel<T>, r: &Rect<T>) {
    let whole = r.n / kernel.lanes * kernel.lanes;
    scratch::with(Slot::B, r.m * SKINNY_COLS, |sums| {
        // SAFETY: `run`'s contract over the first `whole` columns; `sums` has the room that the kernel asks for.
        unsafe { kernel.skinny_rows[r.m - 1](&skinny(r, r.brs, whole, sums)) }
    });
    if whole < r.n {
        // SAFETY: `run`'s contract over the rest.
        unsafe { blocked::run(kernel, &r.part(0, r.m, whole, r.n - whole)) };
    }
}

/// Few rows, column-major B.
///
/// # Safety
/// As for [`run`]; `m <= SKINNY_ROWS` and `brs == 1`.
unsafe fn skinny_cols<T: GemmFloat>(kernel: &Kernel<T>, r: &Rect<T>) {
    let whole = r.n / kernel.column_lanes * kernel.column_lanes;
    // SAFETY: `run`'s contract over the first `whole` columns, and over the rest.
    unsafe {
        kernel.skinny_cols[r.m - 1](&skinny(r, r.bcs, whole, std::ptr::null_mut()));
        if whole < r.n {
            blocked::run(kernel, &r.part(0, r.m, whole, r.n - whole));
        }
    }
}
