//! One rectangle of C on one thread: which way round, which path, and the cache blocking of the packed path.
//!
//! Nothing here changes the bits of a result (see the [module](super) page), so every choice is free to follow speed.

use super::GemmFloat;
use super::arm::{Kernel, SKINNY_ROWS};
use super::micro::{KC, PackColumns, SKINNY_COLS, Skinny, Tile};
use super::pack;
use super::scratch::{self, Slot};

/// Columns of B in one packed block: `KC x NC` of it stay in the outer caches while A passes by.
const NC: usize = 512;
/// Bytes of one packed row of A, times the rows of a block: a share of the second-level cache.
const A_BLOCK_BYTES: usize = 192 * 1024;
/// A row-major B up to this size is read where it lies: it stays in the first-level cache anyway.
const DIRECT_B_BYTES: usize = 16 * 1024;
/// Up to this many rows a row-major B is read once or twice only, which packing would not repay unless its rows are
/// far apart.
const DIRECT_B_ROWS: usize = 12;
/// Bytes of a row of B that count as far apart.
const DIRECT_B_RUN: usize = 1024;
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
            blocked(kernel, &r);
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
        unsafe { blocked(kernel, &r.part(0, r.m, whole, r.n - whole)) };
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
            blocked(kernel, &r.part(0, r.m, whole, r.n - whole));
        }
    }
}

/// Widths of the column panels, in registers.
#[derive(Clone, Copy)]
struct Widths {
    lanes: usize,
    /// log2 of the most registers.
    most: usize,
}

impl Widths {
    /// Wide tiles for few rows, so that enough sums are in flight to hide the latency of the multiply-add.
    fn new(lanes: usize, rows: &[usize; 4], m: usize, n: usize) -> Self {
        let mut most = 1;
        while most < 3 && m <= rows[most + 1] {
            most += 1;
        }
        while most > 0 && n <= (lanes << (most - 1)) {
            most -= 1;
        }
        Self { lanes, most }
    }

    /// The next panel when `rest` columns remain: (columns, log2 of registers, masked).
    fn next(self, rest: usize) -> (usize, usize, bool) {
        let mut width = self.most;
        while width > 1 && rest < (self.lanes << width) {
            width -= 1;
        }
        if width == 1 && rest <= self.lanes {
            width = 0;
        }
        let full = self.lanes << width;
        (rest.min(full), width, rest < full)
    }
}

/// Cuts `rows` into the fewest tiles of at most `most` rows, as even as can be; calls `f(first row, rows)`.
fn tiles(rows: usize, most: usize, mut f: impl FnMut(usize, usize)) {
    let count = rows.div_ceil(most);
    let (base, longer) = (rows / count, rows % count);
    let mut at = 0;
    for t in 0..count {
        let len = base + usize::from(t < longer);
        f(at, len);
        at += len;
    }
}

/// How the tiles find A: where it lies, or in a packed block.
#[derive(Clone, Copy, PartialEq)]
enum PackA {
    /// As it lies.
    No,
    /// Rows, each contiguous.
    Rows,
    /// Tile by tile, each column contiguous.
    Columns,
}

/// The blocked product: panels of B and blocks of A are packed where that pays, and every tile of C is computed by one
/// register tile for each block of k.
///
/// # Safety
/// As for [`run`].
unsafe fn blocked<T: GemmFloat>(kernel: &Kernel<T>, r: &Rect<T>) {
    let size = size_of::<T>();
    let widths = Widths::new(kernel.lanes, &kernel.rows, r.m, r.n);
    let tile_rows = kernel.rows[widths.most];
    let mc = (A_BLOCK_BYTES / (KC * size)).next_multiple_of(tile_rows);
    let mc = r.m.div_ceil(r.m.div_ceil(mc)).next_multiple_of(tile_rows);
    let direct_b =
        r.bcs == 1 && (r.k * r.n * size <= DIRECT_B_BYTES || r.m <= DIRECT_B_ROWS && r.n * size <= DIRECT_B_RUN);
    // A block of A is read once for each panel of columns; packing it is one pass more.
    let panels = r.n / (kernel.lanes << widths.most);
    let pack_a = if panels <= 2 || r.m * r.k * size <= DIRECT_B_BYTES {
        PackA::No
    } else if r.ars == 1 && r.acs != 1 {
        PackA::Columns
    } else {
        PackA::Rows
    };
    // A panel that a single block of A meets is packed just before it is used, and stays in the first-level cache.
    // (A row-major B is packed in long runs instead.)
    let by_panel = r.m <= mc && r.bcs != 1;
    let kc_max = r.k.min(KC);
    let panel_len = kc_max * (kernel.lanes << widths.most);
    let b_len = match (direct_b, by_panel) {
        (true, _) => 0,
        (false, true) => panel_len,
        // Each panel is rounded up to whole registers.
        (false, false) => kc_max * (r.n.min(NC) + kernel.lanes),
    };
    let a_len = if pack_a == PackA::No { 0 } else { r.m.min(mc) * kc_max };
    scratch::with(Slot::A, a_len, |packed_a: *mut T| {
        scratch::with(Slot::B, b_len, |packed_b: *mut T| {
            for jc in (0..r.n).step_by(NC) {
                let nc = (r.n - jc).min(NC);
                for pc in (0..r.k).step_by(KC) {
                    let kc = (r.k - pc).min(KC);
                    let add = r.add || pc > 0;
                    let b = r.b.wrapping_offset(pc as isize * r.brs + jc as isize * r.bcs);
                    // The packed panel of `cols` columns from `j` on, `width` to a row.
                    let pack_panel = |j: usize, cols: usize, width: usize, dst: *mut T| {
                        let b = b.wrapping_offset(j as isize * r.bcs);
                        // SAFETY: `kc` rows and `cols` columns of B from `(pc, jc + j)` on; `dst` has room for
                        // `kc * width` elements: a panel's, or its place among the panels of a block.
                        unsafe {
                            if r.brs == 1 && r.bcs != 1 {
                                (kernel.pack_columns)(&PackColumns { k: kc, cols, b, ld: r.bcs, dst, width });
                            } else {
                                pack::rows(b, r.brs, r.bcs, kc, cols, dst, width);
                            }
                        }
                    };
                    if !direct_b && !by_panel && r.bcs == 1 {
                        // SAFETY: as for `pack_panel`, all panels of the block.
                        unsafe {
                            pack::panels(b, r.brs, kc, packed_b, |f| {
                                panels_of(widths, nc, |j, cols, _, _| f(j, cols, cols.next_multiple_of(kernel.lanes)));
                            });
                        }
                    } else if !direct_b && !by_panel {
                        panels_of(widths, nc, |j, cols, _, _| {
                            // Panels before this one are whole, so they take `kc * j` elements.
                            pack_panel(j, cols, cols.next_multiple_of(kernel.lanes), packed_b.wrapping_add(kc * j));
                        });
                    }
                    for ic in (0..r.m).step_by(mc) {
                        let rows = (r.m - ic).min(mc);
                        let a = r.a.wrapping_offset(ic as isize * r.ars + pc as isize * r.acs);
                        // SAFETY: `rows x kc` elements of A from `(ic, pc)` on; `packed_a` has room for `mc * kc`.
                        unsafe {
                            match pack_a {
                                PackA::No => {}
                                PackA::Rows => pack::rows(a, r.ars, r.acs, rows, kc, packed_a, kc),
                                PackA::Columns => pack::panels(a, r.acs, kc, packed_a, |f| {
                                    tiles(rows, tile_rows, |i, len| f(i, len, len));
                                }),
                            }
                        }
                        panels_of(widths, nc, |j, cols, width, masked| {
                            let packed_width = cols.next_multiple_of(kernel.lanes);
                            let (b, brs) = if direct_b {
                                (b.wrapping_add(j), r.brs)
                            } else if by_panel {
                                pack_panel(j, cols, packed_width, packed_b);
                                (packed_b.cast_const(), packed_width as isize)
                            } else {
                                (packed_b.cast_const().wrapping_add(kc * j), packed_width as isize)
                            };
                            tiles(rows, tile_rows, |i, len| {
                                let (a, ars, acs) = match pack_a {
                                    PackA::No => (a.wrapping_offset(i as isize * r.ars), r.ars, r.acs),
                                    PackA::Rows => (packed_a.cast_const().wrapping_add(i * kc), kc as isize, 1),
                                    PackA::Columns => (packed_a.cast_const().wrapping_add(i * kc), 1, len as isize),
                                };
                                let c = r.c.wrapping_offset((ic + i) as isize * r.crs + (jc + j) as isize * r.ccs);
                                let t = Tile { k: kc, a, ars, acs, b, brs, c, crs: r.crs, ccs: r.ccs, cols, add };
                                let tile = (kernel.tile)(len, width, masked);
                                // SAFETY: rows `ic + i ..` and columns `jc + j ..` of the rectangle, at the block
                                // `pc..pc + kc` of k, from A and B or their packed copies written above; `masked` is
                                // true exactly when `cols` does not fill the tile's registers.
                                unsafe { tile(&t) };
                            });
                        });
                    }
                }
            }
        });
    });
}

/// Cuts `n` columns into panels; calls `f(first column, columns, log2 of registers, masked)`.
fn panels_of(widths: Widths, n: usize, mut f: impl FnMut(usize, usize, usize, bool)) {
    let mut j = 0;
    while j < n {
        let (cols, width, masked) = widths.next(n - j);
        f(j, cols, width, masked);
        j += cols;
    }
}
