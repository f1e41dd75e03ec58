//! [`Rows`] and [`Ring`]s in the arena, and [`Layout`], which hands out their places.

use super::{CHUNK, PACK};
use std::ops::{Deref, DerefMut};

/// A signal of up to [`CHUNK`] frames: the row of channel `c` begins at `at + c * stride`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Where the first row begins.
    pub at: usize,
    /// From a row to the next.
    pub stride: usize,
}

impl Rows {
    /// The rows from channel `channel` on.
    #[must_use]
    pub fn from(self, channel: usize) -> Self {
        Self { at: self.at + channel * self.stride, ..self }
    }

    /// The elements that a call over `channels` rows and `frames` frames may touch end here.
    pub(super) fn end(self, channels: usize, frames: usize) -> usize {
        self.at + channels.saturating_sub(1) * self.stride + frames.next_multiple_of(PACK)
    }
}

/// What a convolution reads: rows whose frames also go back in time, around a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The rows, from the ring's first place.
    pub(super) rows: Rows,
    /// Where in a row the first frame of the call is.
    pub(super) now: usize,
    /// Places of the ring; a frame `back` frames ago is at `now - back`, or that plus `size`.
    pub(super) size: usize,
}

impl From<Rows> for Window {
    /// Rows without a past.
    fn from(rows: Rows) -> Self {
        Self { rows, now: 0, size: 1 }
    }
}

/// Rows that keep the past: each frame stays for at least `history` frames.
///
/// Frame `t` is at place `t % size`. The first [`CHUNK`] places stand once more behind the last, so that a chunk which
/// begins anywhere is contiguous: writes go to contiguous places and [`seal`](Self::seal) copies what belongs to both.
/// The work of each block is bounded by its own length; nothing is ever moved as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    rows: Rows,
    channels: usize,
    size: usize,
    history: usize,
}

impl Ring {
    /// How far back a window may look.
    pub fn history(&self) -> usize {
        self.history
    }

    /// Where the frames after place `now` are written.
    ///
    /// # Panics
    /// When the ring has no such place.
    pub fn rows(&self, now: usize) -> Rows {
        assert!(now < self.size, "place {now} of a ring of {}", self.size);
        Rows { at: self.rows.at + now, ..self.rows }
    }

    /// What a convolution reads from place `now` on.
    pub fn window(&self, now: usize) -> Window {
        Window { rows: self.rows, now, size: self.size }
    }

    /// Makes `frames` frames that were written at `now` visible to every window. To be called before they are read.
    ///
    /// # Panics
    /// When there are more than [`CHUNK`] frames, or the ring is not of this arena.
    pub fn seal(&self, arena: &mut [f32], now: usize, frames: usize) {
        assert!(frames <= CHUNK && now < self.size);
        let end = now + frames;
        for c in 0..self.channels {
            let row = &mut arena[self.rows.at + c * self.rows.stride..][..self.size + CHUNK];
            if end > self.size {
                row.copy_within(self.size..end, 0);
            }
            if now < CHUNK {
                let from = now..end.min(CHUNK);
                row.copy_within(from, self.size + now);
            }
        }
    }

    /// The place `frames` frames after `now`.
    pub fn advance(&self, now: usize, frames: usize) -> usize {
        let next = now + frames;
        if next >= self.size { next - self.size } else { next }
    }
}

/// Hands out places in an arena before it is made.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    len: usize,
}

/// Rows begin on cache lines, and an odd count of lines apart: rows that are a power of two apart would compete for the
/// same few places of the cache.
const LINE: usize = 16;

impl Layout {
    /// An empty arena.
    pub fn new() -> Self {
        Self::default()
    }

    fn take(&mut self, channels: usize, row: usize) -> Rows {
        let lines = row.div_ceil(LINE);
        let stride = (lines + (lines + 1) % 2) * LINE;
        let rows = Rows { at: self.len, stride };
        self.len += channels * stride;
        rows
    }

    /// Rows of `channels` channels.
    pub fn rows(&mut self, channels: usize) -> Rows {
        self.take(channels, CHUNK)
    }

    /// A ring of `channels` channels that keeps `history` frames.
    pub fn ring(&mut self, channels: usize, history: usize) -> Ring {
        // A chunk being written, and the rest of its last pack, lie on frames that nobody reads any more.
        let size = (history + CHUNK + PACK).next_multiple_of(CHUNK);
        let rows = self.take(channels, size + CHUNK + PACK);
        Ring { rows, channels, size, history }
    }

    /// `count` elements in a row, in whole packs.
    pub fn array(&mut self, count: usize) -> usize {
        let at = self.len;
        self.len += count.next_multiple_of(LINE);
        at
    }

    /// Elements of the arena.
    pub fn len(&self) -> usize {
        self.len + PACK
    }

    /// Whether nothing has been handed out.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// An arena of zeros: every past is silence.
    pub fn arena(&self) -> Arena {
        Arena { lines: vec![Line([0.0; LINE]); self.len().div_ceil(LINE)] }
    }
}

/// A cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// The memory of a stream: floats that begin on a cache line.
#[derive(Clone, Debug, Default)]
pub struct Arena {
    lines: Vec<Line>,
}

impl Deref for Arena {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: a line is 16 floats without padding, and the lines of a vector are contiguous.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * LINE) }
    }
}

impl DerefMut for Arena {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `deref`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * LINE) }
    }
}
