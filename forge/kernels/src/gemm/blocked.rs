//! The blocked product: panels of B and blocks of A are packed where that pays, and every tile of C is computed by one
//! register tile for each block of k.

use super::GemmFloat;
use super::arm::Kernel;
use super::micro::{KC, PackColumns, Tile};
use super::pack;
use super::rect::Rect;
use super::scratch::{self, Slot};

/// Columns of B in one packed block: `KC x NC` of it stay in the second-level cache while A passes by.
const NC: usize = 512;
/// Bytes of a packed block of A: a share of the second-level cache.
const A_BLOCK_BYTES: usize = 192 * 1024;
/// An operand up to this size is read where it lies: it stays in the first-level cache anyway.
const DIRECT_BYTES: usize = 16 * 1024;
/// Up to this many rows a row-major B is read once or twice only, which packing would not repay unless its rows are
/// [`FAR`] apart.
const DIRECT_B_ROWS: usize = 12;
/// Bytes between the rows of B from which on it is read in long runs only: a column panel would take a single line
/// from each page.
const FAR: usize = 4096;

/// Where the tiles find A.
#[derive(Clone, Copy, PartialEq)]
enum PackA {
    /// As it lies.
    No,
    /// Rows, each contiguous.
    Rows,
    /// Tile by tile, each column contiguous.
    Columns,
}

/// Where the tiles find B.
#[derive(Clone, Copy, PartialEq)]
enum PackB {
    /// As it lies (its columns are contiguous).
    No,
    /// A panel packed just before it is used, which then is in the first-level cache.
    Panel,
    /// All panels of a block.
    Block,
}

/// Columns `at..at + cols` of a block of B, which take a tile of `2^width` registers.
#[derive(Clone, Copy)]
struct Panel {
    at: usize,
    cols: usize,
    width: usize,
    /// The last register is partial.
    masked: bool,
}

/// The panels of a block of columns.
#[derive(Clone)]
struct Panels {
    lanes: usize,
    /// log2 of the most registers.
    widest: usize,
    at: usize,
    end: usize,
}

impl Iterator for Panels {
    type Item = Panel;

    fn next(&mut self) -> Option<Panel> {
        let (at, rest) = (self.at, self.end - self.at);
        if rest == 0 {
            return None;
        }
        let mut width = self.widest;
        while width > 1 && rest < self.lanes << width {
            width -= 1;
        }
        if width == 1 && rest <= self.lanes {
            width = 0;
        }
        let full = self.lanes << width;
        self.at += rest.min(full);
        Some(Panel { at, cols: rest.min(full), width, masked: rest < full })
    }
}

/// Cuts rows into the fewest tiles, as even as can be: `(first row, rows)`.
#[derive(Clone)]
struct Tiles {
    at: usize,
    end: usize,
    /// Rows of a tile, and how many tiles have one more.
    rows: usize,
    longer: usize,
}

impl Tiles {
    fn new(rows: usize, most: usize) -> Self {
        if rows <= most {
            return Self { at: 0, end: rows, rows, longer: 0 };
        }
        let count = rows.div_ceil(most);
        Self { at: 0, end: rows, rows: rows / count, longer: rows % count }
    }
}

impl Iterator for Tiles {
    type Item = (usize, usize);

    #[inline]
    fn next(&mut self) -> Option<(usize, usize)> {
        if self.at == self.end {
            return None;
        }
        let tile = (self.at, self.rows + usize::from(self.longer > 0));
        self.longer = self.longer.saturating_sub(1);
        self.at += tile.1;
        Some(tile)
    }
}

/// How a rectangle is walked.
struct Walk<'a, T: 'static> {
    kernel: &'a Kernel<T>,
    r: &'a Rect<T>,
    /// log2 of the registers of the widest panel.
    widest: usize,
    tile_rows: usize,
    /// Rows of a block of A.
    mc: usize,
    pack_a: PackA,
    pack_b: PackB,
}

/// Computes a rectangle.
///
/// # Safety
/// As for [`rect::run`](super::rect::run); no size is zero.
pub(super) unsafe fn run<T: GemmFloat>(kernel: &Kernel<T>, r: &Rect<T>) {
    let walk = Walk::new(kernel, r);
    let (a_len, b_len) = walk.room();
    scratch::with(Slot::A, a_len, |packed_a| {
        scratch::with(Slot::B, b_len, |packed_b| {
            for jc in (0..r.n).step_by(NC) {
                for pc in (0..r.k).step_by(KC) {
                    // SAFETY: `run`'s contract; the buffers have the room that `walk` asked for.
                    unsafe { walk.block(jc, pc, packed_a, packed_b) };
                }
            }
        });
    });
}

impl<'a, T: GemmFloat> Walk<'a, T> {
    fn new(kernel: &'a Kernel<T>, r: &'a Rect<T>) -> Self {
        let size = size_of::<T>();
        // Wide tiles for few rows, so that enough sums are in flight to hide the latency of the multiply-add.
        let mut widest = 1;
        while widest < 3 && r.m <= kernel.rows[widest + 1] {
            widest += 1;
        }
        while widest > 0 && r.n <= kernel.lanes << (widest - 1) {
            widest -= 1;
        }
        let tile_rows = kernel.rows[widest];
        let mc = A_BLOCK_BYTES / (KC * size);
        // Blocks of equal height.
        let mc = if r.m <= mc { r.m } else { r.m.div_ceil(r.m.div_ceil(mc)).next_multiple_of(tile_rows) };
        // A block of A is read once for each panel of columns; packing it is one pass more.
        let few_panels = r.n <= 2 * (kernel.lanes << widest);
        let pack_a = if few_panels || r.m * r.k * size <= DIRECT_BYTES {
            PackA::No
        } else if r.ars == 1 && r.acs != 1 {
            PackA::Columns
        } else {
            PackA::Rows
        };
        let far = r.brs.unsigned_abs().saturating_mul(size) >= FAR;
        let direct = r.k * r.n * size <= DIRECT_BYTES || r.m <= DIRECT_B_ROWS && !far;
        let pack_b = if r.bcs == 1 && direct {
            PackB::No
        } else if r.m <= mc && !(r.bcs == 1 && far) {
            PackB::Panel
        } else {
            PackB::Block
        };
        Self { kernel, r, widest, tile_rows, mc, pack_a, pack_b }
    }

    /// Elements of the two buffers.
    fn room(&self) -> (usize, usize) {
        let kc = self.r.k.min(KC);
        let a = if self.pack_a == PackA::No { 0 } else { self.r.m.min(self.mc) * kc };
        let b = match self.pack_b {
            PackB::No => 0,
            PackB::Panel => kc * (self.kernel.lanes << self.widest),
            // The last panel is rounded up to whole registers.
            PackB::Block => kc * (self.r.n.min(NC) + self.kernel.lanes),
        };
        (a, b)
    }

    fn panels(&self, cols: usize) -> Panels {
        Panels { lanes: self.kernel.lanes, widest: self.widest, at: 0, end: cols }
    }

    /// Elements from a row of a packed panel to the next.
    fn packed_width(&self, cols: usize) -> usize {
        cols.next_multiple_of(self.kernel.lanes)
    }

    /// All rows of C at columns `jc..jc + NC` and the block of k at `pc`.
    ///
    /// # Safety
    /// `run`'s contract; `packed_a` and `packed_b` have [`room`](Self::room).
    unsafe fn block(&self, jc: usize, pc: usize, packed_a: *mut T, packed_b: *mut T) {
        let r = self.r;
        let (nc, kc) = ((r.n - jc).min(NC), (r.k - pc).min(KC));
        let b = r.b.wrapping_offset(pc as isize * r.brs + jc as isize * r.bcs);
        if self.pack_b == PackB::Block {
            // SAFETY: `kc x nc` elements of B from `b` on; `packed_b` has room for the block.
            unsafe { self.pack_b_block(b, kc, nc, packed_b) };
        }
        for ic in (0..r.m).step_by(self.mc) {
            let rows = (r.m - ic).min(self.mc);
            let tiles = Tiles::new(rows, self.tile_rows);
            let a = r.a.wrapping_offset(ic as isize * r.ars + pc as isize * r.acs);
            // SAFETY: `rows x kc` elements of A from `a` on; `packed_a` has room for `mc * kc`.
            unsafe {
                match self.pack_a {
                    PackA::No => {}
                    PackA::Rows => pack::rows(a, r.ars, r.acs, rows, kc, packed_a, kc),
                    PackA::Columns => pack::panels(a, r.acs, kc, packed_a, tiles.clone().map(|(i, len)| (i, len, len))),
                }
            }
            for panel in self.panels(nc) {
                let width = self.packed_width(panel.cols);
                let (b, brs) = match self.pack_b {
                    PackB::No => (b.wrapping_add(panel.at), r.brs),
                    PackB::Block => (packed_b.cast_const().wrapping_add(kc * panel.at), width as isize),
                    PackB::Panel => {
                        let b = b.wrapping_offset(panel.at as isize * r.bcs);
                        // SAFETY: the panel's `kc x cols` elements of B; `packed_b` has room for a panel.
                        unsafe { self.pack_b_panel(b, kc, panel.cols, packed_b) };
                        (packed_b.cast_const(), width as isize)
                    }
                };
                for (i, len) in tiles.clone() {
                    let (a, ars, acs) = match self.pack_a {
                        PackA::No => (a.wrapping_offset(i as isize * r.ars), r.ars, r.acs),
                        PackA::Rows => (packed_a.cast_const().wrapping_add(i * kc), kc as isize, 1),
                        PackA::Columns => (packed_a.cast_const().wrapping_add(i * kc), 1, len as isize),
                    };
                    let c = r.c.wrapping_offset((ic + i) as isize * r.crs + (jc + panel.at) as isize * r.ccs);
                    let add = r.add || pc > 0;
                    let t = Tile { k: kc, a, ars, acs, b, brs, c, crs: r.crs, ccs: r.ccs, cols: panel.cols, add };
                    let tile = (self.kernel.tile)(len, panel.width, panel.masked);
                    // SAFETY: rows `ic + i ..` and columns `jc + at ..` of the rectangle, at the block of k, from A
                    // and B or from their packed copies written above; `masked` says whether `cols` leaves the last
                    // register partial.
                    unsafe { tile(&t) };
                }
            }
        }
    }

    /// Packs `kc` rows and `cols` columns of B as one panel.
    ///
    /// # Safety
    /// The elements from `b` on are valid for reads, `kc * packed_width(cols)` at `dst` for writes.
    unsafe fn pack_b_panel(&self, b: *const T, kc: usize, cols: usize, dst: *mut T) {
        let (r, width) = (self.r, self.packed_width(cols));
        // SAFETY: the caller's contract.
        unsafe {
            if r.brs == 1 && r.bcs != 1 {
                (self.kernel.pack_columns)(&PackColumns { k: kc, cols, b, ld: r.bcs, dst, width });
            } else {
                pack::rows(b, r.brs, r.bcs, kc, cols, dst, width);
            }
        }
    }

    /// Packs `kc` rows and `nc` columns of B, panel after panel: that of column `j` lies at `kc * j`, since the panels
    /// before it are whole.
    ///
    /// # Safety
    /// The elements from `b` on are valid for reads, `kc * (nc + lanes)` at `dst` for writes.
    unsafe fn pack_b_block(&self, b: *const T, kc: usize, nc: usize, dst: *mut T) {
        let r = self.r;
        // SAFETY: the caller's contract; the last panel ends before `kc * (nc + lanes)`.
        unsafe {
            if r.bcs == 1 {
                let panels = self.panels(nc).map(|p| (p.at, p.cols, self.packed_width(p.cols)));
                pack::panels(b, r.brs, kc, dst, panels);
            } else {
                for p in self.panels(nc) {
                    let b = b.wrapping_offset(p.at as isize * r.bcs);
                    self.pack_b_panel(b, kc, p.cols, dst.wrapping_add(kc * p.at));
                }
            }
        }
    }
}
