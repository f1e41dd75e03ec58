//! [`Lstm`]: one layer of LSTM cells, frame after frame.

use super::memory::Rows;
use super::pack::{Pack, fast_tanh_pack, tanh_pack};
use super::{CHUNK, Layout, PACK};

/// One layer of LSTM cells.
///
/// With `z = W [x; h] + b` cut into the gates i, f, g, o: `c = sigmoid(f) c + sigmoid(i) tanh(g)`,
/// `h = sigmoid(o) tanh(c)`. The sigmoid is computed as `(tanh(z / 2) + 1) / 2`, whose halving is exact and is done in the
/// weights.
///
/// Its output is one frame after the other, not one row a channel: unit `j` of frame `t` stands at
/// `output(t) + j` in the arena. That is also what the next layer reads.
#[derive(Clone, Debug)]
pub struct Lstm {
    ins: usize,
    hidden: usize,
    /// Packs of a frame of the output.
    packs: usize,
    /// For each pack of units: the biases of the gates i, f, g, o, then for each input and each unit of the past their
    /// weights, all as packs.
    weights: Box<[f32]>,
    fast: bool,
    /// The frame before the chunk, then the chunk's frames.
    frames: usize,
    cells: usize,
}

/// Where an [`Lstm`] reads its input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    at: usize,
    /// From a channel to the next, and from a frame to the next.
    channel: usize,
    frame: usize,
}

impl Lstm {
    /// From a matrix (4 gates x `hidden`, `ins + hidden`), gates in the order i, f, g, o, and its biases; places for the
    /// state are taken from `layout`. `fast` takes [`fast_tanh`](super::fast_tanh) for tanh.
    ///
    /// # Panics
    /// When the weights are not as many as the sizes say.
    pub fn new(ins: usize, hidden: usize, matrix: &[f32], bias: &[f32], fast: bool, layout: &mut Layout) -> Self {
        let width = ins + hidden;
        assert!(matrix.len() == 4 * hidden * width && bias.len() == 4 * hidden, "Lstm: weights");
        let packs = hidden.div_ceil(PACK);
        let mut weights = Vec::with_capacity(packs * 4 * (1 + width) * PACK);
        for p in 0..packs {
            let mut push = |value: &dyn Fn(usize) -> f32| {
                for gate in 0..4 {
                    let scale = if gate == 2 { 1.0 } else { 0.5 };
                    weights.extend(
                        (p * PACK..(p + 1) * PACK)
                            .map(|u| if u < hidden { scale * value(gate * hidden + u) } else { 0.0 }),
                    );
                }
            };
            push(&|row| bias[row]);
            for i in 0..width {
                push(&|row| matrix[row * width + i]);
            }
        }
        let frames = layout.array((CHUNK + 1) * packs * PACK);
        let cells = layout.array(packs * PACK);
        Self { ins, hidden, packs, weights: weights.into(), fast, frames, cells }
    }

    /// Sets the state before the next frame.
    ///
    /// # Panics
    /// When the slices are not `hidden` long.
    pub fn set(&self, arena: &mut [f32], h: &[f32], c: &[f32]) {
        assert!(h.len() == self.hidden && c.len() == self.hidden, "Lstm: a state of {} units", self.hidden);
        arena[self.frames..][..self.hidden].copy_from_slice(h);
        arena[self.cells..][..self.hidden].copy_from_slice(c);
    }

    /// Where the output of frame `t` of the chunk begins.
    pub fn output(&self, t: usize) -> usize {
        self.frames + (t + 1) * self.packs * PACK
    }

    /// Runs `frames` frames of rows (a row a channel).
    ///
    /// # Panics
    /// When a place is outside the arena, or there are more than [`CHUNK`] frames.
    pub fn run(&self, arena: &mut [f32], from: Rows, frames: usize) {
        assert!(from.end(self.ins, frames) <= arena.len(), "rows outside the arena");
        self.go(arena, Input { at: from.at, channel: from.stride, frame: 1 }, frames);
    }

    /// Runs `frames` frames of the output of another layer.
    ///
    /// # Panics
    /// As [`run`](Self::run); when the layers do not fit.
    pub fn run_after(&self, arena: &mut [f32], before: &Self, frames: usize) {
        assert!(before.hidden == self.ins, "Lstm: {} units into {} inputs", before.hidden, self.ins);
        assert!(before.output(frames) <= arena.len(), "rows outside the arena");
        self.go(arena, Input { at: before.output(0), channel: 1, frame: before.packs * PACK }, frames);
    }

    /// `out[o][t] = bias[o] + sum over units j of w[o][j] h[j]` over the frames of the chunk, where `weights` is
    /// (output, units in whole packs).
    ///
    /// # Panics
    /// When a place is outside the arena, or the weights are not whole packs.
    pub fn head(&self, arena: &mut [f32], weights: &[f32], bias: &[f32], to: Rows, frames: usize) {
        let width = self.packs * PACK;
        assert!(weights.len() == bias.len() * width, "Lstm: the head's weights in whole packs");
        assert!(frames <= CHUNK && to.end(bias.len(), frames) <= arena.len(), "rows outside the arena");
        for (o, (&bias, row)) in bias.iter().zip(weights.chunks_exact(width)).enumerate() {
            for t in 0..frames {
                let h = &arena[self.output(t)..][..width];
                let mut lanes = [0.0f32; PACK];
                for (h, w) in h.chunks_exact(PACK).zip(row.chunks_exact(PACK)) {
                    for (lane, (h, w)) in lanes.iter_mut().zip(h.iter().zip(w)) {
                        *lane += h * w;
                    }
                }
                let [a, b, c, d, e, f, g, h] = lanes;
                arena[to.at + o * to.stride + t] = bias + (((a + e) + (b + f)) + ((c + g) + (d + h)));
            }
        }
    }

    fn go(&self, arena: &mut [f32], from: Input, frames: usize) {
        assert!(frames <= CHUNK, "a chunk has at most {CHUNK} frames");
        assert!(self.output(CHUNK) <= arena.len() && self.cells + self.packs * PACK <= arena.len(), "another arena");
        if frames == 0 {
            return;
        }
        if self.fast {
            run_fast(self, arena.as_mut_ptr(), from, frames)
        } else {
            run(self, arena.as_mut_ptr(), from, frames)
        }
        // The last frame is the past of the next chunk.
        let last = self.output(frames - 1);
        arena.copy_within(last..last + self.packs * PACK, self.frames);
    }
}

fn run(lstm: &Lstm, arena: *mut f32, from: Input, frames: usize) {
    super::arms!(exact(lstm: &Lstm, arena: *mut f32, from: Input, frames: usize))
}

fn run_fast(lstm: &Lstm, arena: *mut f32, from: Input, frames: usize) {
    super::arms!(fast(lstm: &Lstm, arena: *mut f32, from: Input, frames: usize))
}

/// # Safety
/// As [`body`].
#[inline(always)]
unsafe fn exact<V: Pack>(lstm: &Lstm, arena: *mut f32, from: Input, frames: usize) {
    // SAFETY: this function's promises.
    unsafe { body::<V, false>(lstm, arena, from, frames) }
}

/// # Safety
/// As [`body`].
#[inline(always)]
unsafe fn fast<V: Pack>(lstm: &Lstm, arena: *mut f32, from: Input, frames: usize) {
    // SAFETY: this function's promises.
    unsafe { body::<V, true>(lstm, arena, from, frames) }
}

/// # Safety
/// The input, the layer's frames and its cells are in the arena (checked by `Lstm::go` and its callers); the CPU has the
/// instruction set of `V`.
#[inline(always)]
unsafe fn body<V: Pack, const FAST: bool>(lstm: &Lstm, arena: *mut f32, from: Input, frames: usize) {
    // SAFETY: this function's promises; a block of weights is `4 (1 + ins + hidden)` packs.
    unsafe {
        // A macro, not a closure: a closure is a function of its own, without the instruction set.
        macro_rules! squash {
            ($x:expr) => {
                if FAST { fast_tanh_pack($x) } else { tanh_pack($x) }
            };
        }
        let half = V::splat(0.5);
        let width = lstm.packs * PACK;
        for t in 0..frames {
            let past = arena.add(lstm.frames + t * width).cast_const();
            let x = arena.add(from.at + t * from.frame).cast_const();
            let mut w = lstm.weights.as_ptr();
            for p in 0..lstm.packs {
                let mut gates = load_gates::<V>(w);
                w = w.add(4 * PACK);
                for i in 0..lstm.ins {
                    drive(&mut gates, *x.add(i * from.channel), w);
                    w = w.add(4 * PACK);
                }
                for j in 0..lstm.hidden {
                    drive(&mut gates, *past.add(j), w);
                    w = w.add(4 * PACK);
                }
                let [i, f, g, o] = gates;
                let (i, f, g, o) = (squash!(i), squash!(f), squash!(g), squash!(o));
                let (i, f, o) = (i.fma(half, half), f.fma(half, half), o.fma(half, half));
                let cell = arena.add(lstm.cells + p * PACK);
                let c = f.fma(V::load(cell), i.mul(g));
                c.store(cell);
                o.mul(squash!(c)).store(arena.add(lstm.frames + (t + 1) * width + p * PACK));
            }
        }
    }
}

/// # Safety
/// Four packs at `w` are valid; the CPU has the instruction set of `V`.
#[inline(always)]
unsafe fn load_gates<V: Pack>(w: *const f32) -> [V; 4] {
    // SAFETY: this function's promises.
    unsafe { [V::load(w), V::load(w.add(PACK)), V::load(w.add(2 * PACK)), V::load(w.add(3 * PACK))] }
}

/// Adds what `value` gives to the gates by its weights at `w`.
///
/// # Safety
/// As [`load_gates`].
#[inline(always)]
unsafe fn drive<V: Pack>(gates: &mut [V; 4], value: f32, w: *const f32) {
    // SAFETY: this function's promises.
    unsafe {
        let value = V::splat(value);
        for (g, gate) in gates.iter_mut().enumerate() {
            *gate = value.fma(V::load(w.add(g * PACK)), *gate);
        }
    }
}
