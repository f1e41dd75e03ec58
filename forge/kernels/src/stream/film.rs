//! [`Film`]: a modulation of rows by a condition.

use super::conv::ConvShape;
use super::memory::Rows;
use super::pack::Pack;
use super::{CHUNK, PACK};

/// `y[c] = x[c] scale[c] (+ shift[c])`, where scale and shift are pointwise convolutions of a condition:
/// `scale[c] = b[c] + sum over i of w[c][i] cond[i]`, and likewise the shift.
#[derive(Clone, Debug)]
pub struct Film {
    channels: usize,
    conditions: usize,
    /// For each channel: which conditions reach its scale and its shift (first, count), and where its weights begin: the
    /// bias and the weights of the scale, then those of the shift.
    rows: Box<[(usize, usize, usize, usize)]>,
    shift: bool,
    weights: Box<[f32]>,
}

impl Film {
    /// From the weights (output, condition of its group) and biases of the convolution, whose outputs are the scales of
    /// all channels, then with `shift` their shifts.
    ///
    /// # Panics
    /// When the weights are not as many as the sizes say, or the groups do not divide.
    pub fn new(channels: usize, conditions: usize, groups: usize, shift: bool, weights: &[f32], bias: &[f32]) -> Self {
        let outs = if shift { 2 * channels } else { channels };
        let shape = ConvShape::pointwise(conditions, outs, groups);
        assert!(conditions.is_multiple_of(groups) && outs.is_multiple_of(groups), "Film: groups divide the channels");
        assert!(
            weights.len() == shape.weights() && bias.len() == outs,
            "Film: {} weights for {shape:?}",
            weights.len()
        );
        let (per_in, per_out) = (conditions / groups, outs / groups);
        let mut packed = Vec::new();
        let rows = (0..channels).map(|c| {
            let at = packed.len();
            let outputs = if shift { vec![c, channels + c] } else { vec![c] };
            for &o in &outputs {
                packed.push(bias[o]);
                packed.extend_from_slice(&weights[o * per_in..(o + 1) * per_in]);
            }
            let first = |o: usize| o / per_out * per_in;
            (first(c), outputs.last().map_or(0, |&o| first(o)), per_in, at)
        });
        let rows = rows.collect();
        Self { channels, conditions, rows, shift, weights: packed.into() }
    }

    /// Modulates `frames` frames of `from` into `to` (which may be the same), then adds `add` if there is one.
    ///
    /// # Panics
    /// When a place is outside the arena, or there are more than [`CHUNK`] frames.
    pub fn run(&self, arena: &mut [f32], condition: Rows, from: Rows, add: Option<Rows>, to: Rows, frames: usize) {
        assert!(frames <= CHUNK, "a chunk has at most {CHUNK} frames");
        let ends = [
            condition.end(self.conditions, frames),
            from.end(self.channels, frames),
            to.end(self.channels, frames),
            add.map_or(0, |a| a.end(self.channels, frames)),
        ];
        assert!(ends.iter().all(|&end| end <= arena.len()), "rows outside the arena");
        run(self, arena.as_mut_ptr(), condition, from, add, to, frames.div_ceil(PACK));
    }
}

fn run(film: &Film, arena: *mut f32, condition: Rows, from: Rows, add: Option<Rows>, to: Rows, packs: usize) {
    super::arms!(body(
        film: &Film, arena: *mut f32, condition: Rows, from: Rows, add: Option<Rows>, to: Rows, packs: usize
    ))
}

/// # Safety
/// [`Film::run`] has checked that every place is in the arena, packs included; the CPU has the instruction set of `V`.
#[inline(always)]
unsafe fn body<V: Pack>(
    film: &Film,
    arena: *mut f32,
    condition: Rows,
    from: Rows,
    add: Option<Rows>,
    to: Rows,
    packs: usize,
) {
    let mut p = 0;
    while p < packs {
        macro_rules! strip {
            ($t:literal) => {{
                for c in 0..film.channels {
                    // SAFETY: this function's promises.
                    unsafe { strip::<V, $t>(film, c, arena, condition, from, add, to, p * PACK) };
                }
                p += $t;
            }};
        }
        match packs - p {
            4.. => strip!(4),
            2..4 => strip!(2),
            _ => strip!(1),
        }
    }
}

/// # Safety
/// As [`body`].
#[inline(always)]
unsafe fn strip<V: Pack, const T: usize>(
    film: &Film,
    c: usize,
    arena: *mut f32,
    condition: Rows,
    from: Rows,
    add: Option<Rows>,
    to: Rows,
    frame: usize,
) {
    let (scale_at, shift_at, count, at) = film.rows[c];
    // SAFETY: `new` has packed the weights that are read; rows and frames are those that `Film::run` has checked.
    unsafe {
        let mut w = film.weights.as_ptr().add(at);
        let mut made = |first: usize| {
            let mut acc = [V::splat(*w); T];
            w = w.add(1);
            for i in first..first + count {
                let weight = V::splat(*w);
                w = w.add(1);
                let x = arena.add(condition.at + i * condition.stride + frame);
                for (t, acc) in acc.iter_mut().enumerate() {
                    *acc = weight.fma(V::load(x.add(t * PACK)), *acc);
                }
            }
            acc
        };
        let scale = made(scale_at);
        let shift = if film.shift { made(shift_at) } else { [V::splat(0.0); T] };
        let row = |rows: Rows| arena.add(rows.at + c * rows.stride + frame);
        let (x, y) = (row(from), row(to));
        for t in 0..T {
            let v = V::load(x.add(t * PACK));
            let mut out = if film.shift { v.fma(scale[t], shift[t]) } else { v.mul(scale[t]) };
            if let Some(add) = add {
                out = out.add(V::load(row(add).add(t * PACK)));
            }
            out.store(y.add(t * PACK));
        }
    }
}
