//! Weights as the tiles read them: a matrix from contracted index to output channel, its columns side by side.

use super::tile::ConvFloat;
use crate::scratch::Scratch;
use crate::team;

/// Columns that lie together in packed weights. A multiple of the widest tile of every arm.
pub(super) const PANEL: usize = 64;
/// Elements that one task packs, at least.
const TASK: usize = 32 * 1024;

/// Weights in memory: tap `(ky, kx)` of a group, row (contracted channel) and column (output channel) are at
/// `offset + ky * ys + kx * xs + row * rs + col * cs`; the next group at `+ gs`.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a, T> {
    pub data: &'a [T],
    pub offset: isize,
    pub taps: [usize; 2],
    pub rows: usize,
    pub cols: usize,
    pub groups: usize,
    pub ys: isize,
    pub xs: isize,
    pub rs: isize,
    pub cs: isize,
    pub gs: isize,
}

/// Column `j` of row `k` (of all taps' rows in order) is at `ptr + j / PANEL * panel + k * row + j % PANEL`.
pub(super) struct Packed<T> {
    pub ptr: *const T,
    pub row: isize,
    pub panel: isize,
    /// Distance of two groups.
    pub group: isize,
    /// Owns the memory, unless it is that of the weights.
    _buffer: Option<Scratch<T>>,
}

impl<T: ConvFloat> Weights<'_, T> {
    /// Rows of all taps.
    pub fn depth(&self) -> usize {
        self.taps[0] * self.taps[1] * self.rows
    }

    /// The distance of two rows, if all rows follow each other at one distance and columns lie side by side.
    fn direct(&self) -> Option<isize> {
        let [ty, tx] = self.taps;
        let row = if self.rows > 1 {
            self.rs
        } else if tx > 1 {
            self.xs
        } else {
            self.ys
        };
        let rows = self.rows as isize;
        let even = (tx <= 1 || self.xs == rows * row) && (ty <= 1 || self.ys == tx as isize * rows * row);
        (even && (self.cs == 1 || self.cols <= 1)).then_some(row)
    }

    /// The weights for tiles that pass over them `uses` times: in place where that serves, else copied.
    pub fn pack(&self, uses: usize) -> Packed<T> {
        let in_place = self.direct().filter(|_| self.cols <= PANEL || uses < 4);
        if let Some(row) = in_place {
            let ptr = self.data.as_ptr().wrapping_offset(self.offset);
            return Packed { ptr, row, panel: PANEL as isize, group: self.gs, _buffer: None };
        }
        let width = self.cols.min(PANEL);
        let (depth, panels) = (self.depth(), self.cols.div_ceil(PANEL));
        let panel = depth * width;
        let mut buffer = Scratch::<T>::new(self.groups * panels * panel);
        let out = &mut *buffer;
        // One task makes some rows of one panel.
        let rows = TASK.div_ceil(width.max(1)).min(depth.max(1));
        if out.len() <= TASK || depth % rows != 0 {
            for (i, panel) in out.chunks_mut(panel.max(1)).enumerate() {
                self.rows_of(i, 0, width, panel);
            }
        } else {
            let per = depth / rows;
            team::for_each_chunk(out, rows * width, |i, part| self.rows_of(i / per, i % per * rows, width, part));
        }
        let (ptr, group) = (out.as_ptr(), (panels * panel) as isize);
        Packed { ptr, row: width as isize, panel: panel as isize, group, _buffer: Some(buffer) }
    }

    /// Rows of panel `index` (of all groups' panels in order) from row `first` on.
    fn rows_of(&self, index: usize, first: usize, width: usize, out: &mut [T]) {
        /// Rows copied together, so that both sides stay in cache when columns are the far ones.
        const BLOCK: usize = 16;
        let panels = self.cols.div_ceil(PANEL);
        let (group, j0) = (index / panels, index % panels * PANEL);
        let cols = width.min(self.cols - j0);
        let base = self.offset + group as isize * self.gs + j0 as isize * self.cs;
        for (b, block) in out.chunks_mut(BLOCK * width).enumerate() {
            let mut at = [0isize; BLOCK];
            let count = block.len() / width;
            for (i, at) in at.iter_mut().enumerate().take(count) {
                let k = first + b * BLOCK + i;
                let (tap, row) = (k / self.rows, k % self.rows);
                let (ky, kx) = (tap / self.taps[1], tap % self.taps[1]);
                *at = base + ky as isize * self.ys + kx as isize * self.xs + row as isize * self.rs;
            }
            for j in 0..cols {
                for (i, &at) in at.iter().enumerate().take(count) {
                    block[i * width + j] = self.data[(at + j as isize * self.cs) as usize];
                }
            }
        }
    }

    /// Weights of one row (a filter for each column), each row repeated to `period` columns, after it `bias` likewise.
    pub fn tile(&self, period: usize, bias: Option<&[T]>) -> Packed<T> {
        let depth = self.taps[0] * self.taps[1];
        let mut buffer = Scratch::<T>::new((depth + usize::from(bias.is_some())) * period);
        let out = &mut *buffer;
        for (k, row) in out.chunks_mut(period).enumerate() {
            let (ky, kx) = (k / self.taps[1].max(1), k % self.taps[1].max(1));
            let at = self.offset + ky as isize * self.ys + kx as isize * self.xs;
            for (j, o) in row.iter_mut().enumerate() {
                let c = j % self.cols;
                *o = match bias {
                    Some(bias) if k == depth => bias[c],
                    _ => self.data[(at + c as isize * self.cs) as usize],
                };
            }
        }
        let ptr = out.as_ptr();
        Packed { ptr, row: period as isize, panel: PANEL as isize, group: 0, _buffer: Some(buffer) }
    }
}
