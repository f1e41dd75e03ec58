//! [`Pass`]: one convolution over dense images, cut into tasks and tiles.

use super::pack::{PANEL, Packed};
use super::side::Side;
use super::tile::{Column, ConvFloat, Kernel, Seg, Tile};
use crate::team;
use std::ops::Range;

/// Multiplications from which on a convolution is worth the team's fork and join.
const TEAM_WORK: usize = 1 << 19;
/// Multiplications of one task, roughly: some ten microseconds.
const TASK_WORK: usize = 1 << 17;
/// Fewest outputs of a task, so that weights are read for many of them.
const TASK_ROWS: usize = 48;
/// Contracted indices that a tile takes at once: its columns of the weights stay in the first-level cache.
const DEPTH: usize = 256;
/// Most segments of a tile.
pub(super) const SEGS: usize = 64;

/// Outputs that a [`fan`](Pass::fan) joins.
const FAN: usize = 32;

/// Images in memory: distances of batches, lines and positions.
#[derive(Clone, Copy)]
pub(super) struct Image {
    pub batch: isize,
    pub line: isize,
    pub pos: isize,
}

/// A convolution. Pointers, because tasks write disjoint parts of one output.
///
/// The pointers are valid for everything that sides, batches, groups and channels name: the public functions have
/// checked the slices that they come from.
pub(super) struct Pass<T: ConvFloat> {
    pub kernel: &'static Kernel<T>,
    pub sides: [Side; 2],
    pub batch: usize,
    pub groups: usize,
    /// Contracted channels of a group.
    pub rows: usize,
    /// Output channels of a group.
    pub cols: usize,
    /// Every output channel has its own input channel: one group, `rows` is 1, A moves with the column.
    pub deep: bool,
    /// Deep, at stride 1, with few channels: positions and channels of a line are one axis, over which weights of this
    /// many columns repeat. 0 otherwise.
    pub period: usize,
    pub a: *const T,
    pub image_a: Image,
    pub weights: Packed<T>,
    /// Null, or one value for each column of all groups.
    pub bias: *const T,
    pub c: *mut T,
    pub image_c: Image,
}

// SAFETY: tasks read A, weights and bias, which are `Sync`, and write disjoint parts of C.
unsafe impl<T: ConvFloat> Sync for Pass<T> {}

/// What one task makes.
#[derive(Clone)]
struct Part {
    batch: usize,
    group: usize,
    y: Range<usize>,
    x: Range<usize>,
    cols: Range<usize>,
}

/// How a pass is cut: from sizes alone.
struct Grid {
    lines: usize,
    positions: usize,
    cols: usize,
    counts: [usize; 3],
}

impl Grid {
    fn new(sides: &[Side; 2], depth: usize, cols: usize, whole: bool) -> Self {
        let (height, width) = (sides[0].output, sides[1].output);
        let mut g = Self { lines: height.max(1), positions: width.max(1), cols: cols.max(1), counts: [1; 3] };
        if whole {
            return g;
        }
        // Few outputs of many channels: cut the channels first.
        while g.cols > PANEL && TASK_WORK / (depth * g.cols).max(1) < TASK_ROWS {
            g.cols = (g.cols / 2).next_multiple_of(PANEL);
        }
        let rows = (TASK_WORK / (depth * g.cols).max(1)).max(TASK_ROWS);
        if rows >= width {
            g.lines = (rows / width.max(1)).clamp(1, height.max(1));
        } else {
            g.lines = 1;
            // Equal parts, in whole tiles.
            g.positions = width.div_ceil(width.div_ceil(rows)).next_multiple_of(24);
        }
        g.counts = [height.div_ceil(g.lines), width.div_ceil(g.positions), cols.div_ceil(g.cols)];
        g
    }
}

fn nth(i: usize, size: usize, end: usize) -> Range<usize> {
    i * size..((i + 1) * size).min(end)
}

/// A part of the contracted index: taps in row-major order, and rows within a tap.
struct Block {
    taps: Range<usize>,
    rows: Range<usize>,
    first: bool,
}

impl<T: ConvFloat> Pass<T> {
    /// Runs it.
    pub fn run(&self) {
        let [y, x] = &self.sides;
        let outputs = self.batch * self.groups * y.output * x.output;
        if outputs == 0 || self.cols == 0 {
            return;
        }
        let depth = y.taps * x.taps * self.rows;
        let each = depth.saturating_mul(self.cols).max(1);
        let whole = outputs.saturating_mul(each) < TEAM_WORK;
        // Few channels share a line: the columns of the tiles are not those of the output.
        let cols = if self.period > 0 { self.period } else { self.cols };
        let grid = Grid::new(&self.sides, depth, self.cols, whole);
        let [lines, parts, panels] = grid.counts;
        let task = |i: usize| {
            let (i, p) = (i / panels, i % panels);
            let (i, px) = (i / parts, i % parts);
            let (i, py) = (i / lines, i % lines);
            let part = Part {
                batch: i / self.groups,
                group: i % self.groups,
                y: nth(py, grid.lines, y.output),
                x: nth(px, grid.positions, x.output),
                cols: if panels == 1 { 0..cols } else { nth(p, grid.cols, self.cols) },
            };
            // SAFETY: parts of different tasks do not overlap; the sizes are the pass's own.
            unsafe { self.part(&part) }
        };
        let tasks = self.batch * self.groups * lines * parts * panels;
        if whole {
            (0..tasks).for_each(task);
        } else {
            team::run(tasks, task);
        }
    }

    /// Cuts the contracted index into blocks of about [`DEPTH`].
    fn blocks(&self, mut f: impl FnMut(&Block)) {
        let taps = self.sides[0].taps * self.sides[1].taps;
        if taps * self.rows == 0 {
            return f(&Block { taps: 0..0, rows: 0..0, first: true });
        }
        let mut first = true;
        // A line of taps of a deep tile is one segment, however long.
        let most = if self.deep && self.sides[0].taps == 1 { DEPTH } else { SEGS };
        let step = (DEPTH / self.rows).clamp(1, most);
        for t in (0..taps).step_by(step) {
            for r in (0..self.rows).step_by(DEPTH) {
                // Whole rows where several taps share a block.
                let rows = if step > 1 { 0..self.rows } else { r..(r + DEPTH).min(self.rows) };
                f(&Block { taps: t..(t + step).min(taps), rows, first });
                first = false;
            }
        }
    }

    /// # Safety
    /// No other thread touches the part's outputs.
    unsafe fn part(&self, part: &Part) {
        let (group, batch) = (part.group as isize, part.batch as isize);
        let a = self.a.wrapping_offset(batch * self.image_a.batch + group * self.rows as isize);
        let c = self.c.wrapping_offset(batch * self.image_c.batch + group * self.cols as isize);
        let weights = self.weights.ptr.wrapping_offset(group * self.weights.group);
        let bias = if self.bias.is_null() { self.bias } else { self.bias.wrapping_add(part.group * self.cols) };
        let mut j = part.cols.start;
        while j < part.cols.end {
            let left = part.cols.end - j;
            // A deep strip goes over all columns by itself.
            let (width, tiles) = if self.deep { (left, &[] as Column<T>) } else { self.kernel.dense(left) };
            let columns = Columns { j, width, tiles, a, b: weights, bias, c };
            self.blocks(|block| {
                // SAFETY: as for this function.
                unsafe { self.columns(part, &columns, block) }
            });
            j += width;
        }
    }

    /// # Safety
    /// As for [`Self::part`].
    unsafe fn columns(&self, part: &Part, columns: &Columns<T>, block: &Block) {
        let [sy, sx] = &self.sides;
        let mut y = part.y.start;
        while y < part.y.end {
            let ky = sy.valid(y);
            let y_end = sy.run_end(y, &ky).min(part.y.end);
            let mut x = part.x.start;
            while x < part.x.end {
                let kx = sx.valid(x);
                let mut x_end = sx.run_end(x, &kx).min(part.x.end);
                // Runs that are short beside their taps: most of the taps are common to several of them. (Along a line
                // both ends of the valid taps only go down.)
                let last = (x + FAN).min(part.x.end) - 1;
                let common = kx.start..kx.end.min(sx.valid(last).end);
                let fan = x_end <= last && kx.len() >= 4 * FAN && common.len() >= 2 * FAN;
                if fan {
                    x_end = last + 1;
                }
                let y = y..y_end;
                // SAFETY: as for this function; the taps of the calls meet inputs at all outputs that they are for.
                unsafe {
                    if fan {
                        self.fan(&y, &(x..x_end), &ky, &common, columns, block);
                    } else {
                        self.taps(&y, &(x..x_end), &ky, &kx, columns, block, block.first);
                    }
                }
                x = x_end;
            }
            y = y_end;
        }
    }

    /// Outputs that share the taps `common` and have others before or after: the chain of each is the same as in a run
    /// of its own.
    ///
    /// # Safety
    /// As for [`Self::part`]; the common taps meet inputs at all outputs.
    unsafe fn fan(
        &self,
        y: &Range<usize>,
        x: &Range<usize>,
        ky: &Range<usize>,
        common: &Range<usize>,
        columns: &Columns<T>,
        block: &Block,
    ) {
        let runs = |pick: &dyn Fn(Range<usize>) -> Range<usize>, first: bool| {
            let mut at = x.start;
            while at < x.end {
                let k = self.sides[1].valid(at);
                let end = self.sides[1].run_end(at, &k).min(x.end);
                // SAFETY: valid taps of a run.
                unsafe { self.taps(y, &(at..end), ky, &pick(k), columns, block, first) }
                at = end;
            }
        };
        runs(&|k| k.start..common.start, block.first);
        // SAFETY: as for this function.
        unsafe { self.taps(y, x, ky, common, columns, block, false) }
        runs(&|k| common.end..k.end, false);
    }

    /// Adds the taps `ky` x `kx`, as far as they are in the block, to a rectangle of outputs.
    ///
    /// # Safety
    /// As for [`Self::part`]; the taps meet inputs at all outputs of the rectangle.
    unsafe fn taps(
        &self,
        y: &Range<usize>,
        x: &Range<usize>,
        ky: &Range<usize>,
        kx: &Range<usize>,
        columns: &Columns<T>,
        block: &Block,
        first: bool,
    ) {
        let mut segs = [Seg::default(); SEGS];
        let n = self.segments(ky, kx, block, &mut segs);
        if n > 0 || first {
            // SAFETY: as for this function.
            unsafe { self.rectangle(y.clone(), x.clone(), columns, &segs[..n], first) }
        }
    }

    /// The segments of the block's taps in `ky` x `kx`; returns how many.
    fn segments(&self, ky: &Range<usize>, kx: &Range<usize>, block: &Block, segs: &mut [Seg; SEGS]) -> usize {
        let [sy, sx] = &self.sides;
        let mut n = 0;
        let mut push = |y: usize, x: usize, len: usize| {
            let a = (y * sy.dilation) as isize * self.image_a.line + (x * sx.dilation) as isize * self.image_a.pos;
            let row = (y * sx.taps + x) * self.rows + block.rows.start;
            segs[n] = Seg { a: a + block.rows.start as isize, b: row as isize * self.weights.row, len };
            n += 1;
        };
        // Neighbouring taps read neighbouring memory.
        let chained = sx.dilation as isize * self.image_a.pos == self.rows as isize && block.rows.len() == self.rows;
        for y in ky.clone() {
            let lo = block.taps.start.saturating_sub(y * sx.taps).max(kx.start);
            let hi = block.taps.end.saturating_sub(y * sx.taps).min(kx.end);
            if lo >= hi || block.rows.is_empty() {
                continue;
            }
            if self.deep {
                push(y, lo, hi - lo);
            } else if chained {
                push(y, lo, (hi - lo) * self.rows);
            } else {
                (lo..hi).for_each(|x| push(y, x, block.rows.len()));
            }
        }
        n
    }

    /// Outputs that have the same valid taps.
    ///
    /// # Safety
    /// As for [`Self::part`]; every tap of the segments meets an input at every output of the rectangle.
    unsafe fn rectangle(&self, y: Range<usize>, x: Range<usize>, columns: &Columns<T>, segs: &[Seg], first: bool) {
        let [sy, sx] = &self.sides;
        let (ia, ic) = (&self.image_a, &self.image_c);
        let place = |y: usize, x: usize| Strip {
            a: columns.a.wrapping_offset(sy.at(y, 0) * ia.line + sx.at(x, 0) * ia.pos),
            c: columns.c.wrapping_offset(y as isize * ic.line + x as isize * ic.pos),
            a_row: sx.stride as isize * ia.pos,
            c_row: ic.pos,
        };
        // SAFETY: strips of outputs inside the rectangle.
        let strip = |s: Strip<T>, rows: usize, cols: Range<usize>| unsafe {
            if self.deep {
                self.deep_strip(&s, rows, cols, columns, segs, first);
            } else {
                self.strip(&s, rows, columns, segs, first);
            }
        };
        let cols = columns.j..columns.j + columns.width;
        if self.period > 0 {
            let (period, width) = (self.period, x.len() * self.cols);
            for y in y {
                let s = Strip { a_row: period as isize, c_row: period as isize, ..place(y, x.start) };
                let (whole, rest) = (width / period, width % period);
                strip(s, whole, cols.clone());
                // The line's last, incomplete row.
                strip(s.row(whole as isize), 1, 0..rest);
            }
        } else if x.len() >= y.len() {
            for y in y {
                strip(place(y, x.start), x.len(), cols.clone());
            }
        } else {
            for x in x {
                let s = Strip { a_row: sy.stride as isize * ia.line, c_row: ic.line, ..place(y.start, x) };
                strip(s, y.len(), cols.clone());
            }
        }
    }

    /// Rows of outputs at one distance.
    ///
    /// # Safety
    /// As for [`Self::rectangle`], for the outputs of the strip.
    unsafe fn strip(&self, s: &Strip<T>, rows: usize, columns: &Columns<T>, segs: &[Seg], first: bool) {
        let mut done = 0;
        for size in columns.tiles {
            while rows - done >= size.rows {
                let tile = Tile { a_step: 1, ..self.tile(&s.row(done as isize), columns.j, columns, segs, first) };
                let tile = Tile { cols: columns.width, ..tile };
                // SAFETY: the kernel is one that the CPU has; rows `done..done + size.rows` of the strip; the width is
                // that of these tiles.
                unsafe { (size.run)(&tile) };
                done += size.rows;
            }
        }
    }

    /// [`Self::strip`] of a deep convolution, row by row over the given columns: both images are read along memory.
    ///
    /// # Safety
    /// As for [`Self::strip`].
    unsafe fn deep_strip(
        &self,
        s: &Strip<T>,
        rows: usize,
        cols: Range<usize>,
        columns: &Columns<T>,
        segs: &[Seg],
        first: bool,
    ) {
        let a_step = self.sides[1].dilation as isize * self.image_a.pos;
        let mut done = 0;
        while done < rows {
            // The tiles of every width have either 4 rows or 1.
            let few = usize::from(rows - done < 4);
            let at = s.row(done as isize);
            let mut j = cols.start;
            while j < cols.end {
                let (width, tiles) = self.kernel.deep(cols.end - j);
                let tile = self.tile(&at, j, columns, segs, first);
                let tile = Tile { a: tile.a.wrapping_add(j), a_step, cols: width, ..tile };
                // SAFETY: the kernel is one that the CPU has; as many rows of the strip as the tile has; the width is
                // that of these tiles.
                unsafe { (tiles[few].run)(&tile) };
                j += width;
            }
            done += if few == 0 { 4 } else { 1 };
        }
    }

    /// A tile of the rows from `at` on and of the columns from `j` on.
    fn tile<'s>(&self, at: &Strip<T>, j: usize, columns: &Columns<T>, segs: &'s [Seg], first: bool) -> Tile<'s, T> {
        let c = at.c.wrapping_add(j);
        let weights =
            if self.period > 0 { j as isize } else { (j / PANEL) as isize * self.weights.panel + (j % PANEL) as isize };
        let (init, init_row) = match first {
            true if columns.bias.is_null() => (columns.bias, 0),
            true => (columns.bias.wrapping_add(j), 0),
            false => (c.cast_const(), at.c_row),
        };
        let (b, b_step) = (columns.b.wrapping_offset(weights), self.weights.row);
        Tile { segs, a: at.a, a_row: at.a_row, a_step: 0, b, b_step, c, c_row: at.c_row, init, init_row, cols: 0 }
    }
}

/// Columns of the output, and the tiles of their width. The pointers are those of the group's column 0.
struct Columns<T: 'static> {
    j: usize,
    width: usize,
    tiles: Column<T>,
    a: *const T,
    b: *const T,
    bias: *const T,
    c: *mut T,
}

/// Rows of a tile: where the first is, and how far the next.
#[derive(Clone, Copy)]
struct Strip<T> {
    a: *const T,
    c: *mut T,
    a_row: isize,
    c_row: isize,
}

impl<T> Strip<T> {
    /// From row `i` on.
    fn row(&self, i: isize) -> Self {
        let (a, c) = (self.a.wrapping_offset(i * self.a_row), self.c.wrapping_offset(i * self.c_row));
        Self { a, c, a_row: self.a_row, c_row: self.c_row }
    }
}
