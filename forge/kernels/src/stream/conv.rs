//! [`Conv`]: a causal dilated convolution of a chunk, with what is often added to it.

use super::memory::{Rows, Window};
use super::pack::Pack;
use super::{CHUNK, PACK};

/// Sizes of a [`Conv`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvShape {
    /// Channels in.
    pub ins: usize,
    /// Channels out.
    pub outs: usize,
    /// Taps; the last is that of the present frame.
    pub taps: usize,
    /// Frames from a tap to the next.
    pub dilation: usize,
    /// Groups of channels that keep to themselves.
    pub groups: usize,
}

impl ConvShape {
    /// Each frame by itself.
    pub fn pointwise(ins: usize, outs: usize, groups: usize) -> Self {
        Self { ins, outs, taps: 1, dilation: 1, groups }
    }

    /// How many weights it has.
    pub fn weights(&self) -> usize {
        self.outs * (self.ins / self.groups) * self.taps
    }

    /// How far back the first tap reaches.
    pub fn history(&self) -> usize {
        self.dilation * (self.taps - 1)
    }
}

/// Outputs that are computed together: each frame read serves all of them.
const TILE: usize = 4;

/// A few neighbouring outputs, and the inputs that reach them.
#[derive(Clone, Copy, Debug)]
struct Tile {
    out: usize,
    outs: usize,
    first_in: usize,
    ins: usize,
    first_mix: usize,
    mixes: usize,
    /// Where its weights begin: biases, then for each tap and input, then for each mixed channel, one for each output.
    weights: usize,
}

/// `y[o][t] = bias[o] + sum over taps k, inputs i of w[o][i][k] x[i][t - (taps - 1 - k) dilation]`, and then perhaps
/// `+ sum over m of v[o][m] mix[m][t]`, `+ add[o][t]`, in this order.
///
/// It holds the weights in the order in which they are used. Grouped convolutions skip the inputs of other groups as far
/// as whole tiles of outputs do not need them.
#[derive(Clone, Debug)]
pub struct Conv {
    shape: ConvShape,
    mixes: usize,
    tiles: Box<[Tile]>,
    weights: Box<[f32]>,
}

/// Splits `count` into parts of at most [`TILE`], as even as can be.
fn parts(count: usize) -> impl Iterator<Item = (usize, usize)> {
    let n = count.div_ceil(TILE);
    (0..n).map(move |i| {
        let at = i * count / n;
        (at, (i + 1) * count / n - at)
    })
}

/// The inputs that reach outputs `out..out + outs` in `groups` groups.
fn reach(ins: usize, total: usize, groups: usize, out: usize, outs: usize) -> (usize, usize) {
    let (per_in, per_out) = (ins / groups, total / groups);
    let first = (out / per_out) * per_in;
    (first, ((out + outs - 1) / per_out + 1) * per_in - first)
}

impl Conv {
    /// From weights in the order (output, input of its group, tap) and perhaps biases; `mix` is a pointwise convolution of
    /// another signal that is added: its channels, its groups and its weights (output, channel of its group).
    ///
    /// # Panics
    /// When the weights are not as many as the sizes say, or the groups do not divide the channels.
    pub fn new(shape: ConvShape, weights: &[f32], bias: Option<&[f32]>, mix: Option<(usize, usize, &[f32])>) -> Self {
        let ConvShape { ins, outs, taps, groups, .. } = shape;
        assert!(ins.is_multiple_of(groups) && outs.is_multiple_of(groups), "Conv: groups divide the channels");
        assert!(weights.len() == shape.weights(), "Conv: {} weights for {shape:?}", weights.len());
        assert!(bias.is_none_or(|b| b.len() == outs), "Conv: a bias for each output");
        let (mixes, mix_groups, mix_weights) = mix.unwrap_or((0, 1, &[]));
        assert!(mix_weights.len() == outs * (mixes / mix_groups), "Conv: weights of the mix");
        let (per_in, per_out) = (ins / groups, outs / groups);
        let (mix_in, mix_out) = (mixes / mix_groups, outs / mix_groups);
        let (mut tiles, mut packed) = (Vec::new(), Vec::new());
        for (out, count) in parts(outs) {
            let (first_in, tile_ins) = reach(ins, outs, groups, out, count);
            let (first_mix, tile_mixes) = reach(mixes, outs, mix_groups, out, count);
            tiles.push(Tile {
                out,
                outs: count,
                first_in,
                ins: tile_ins,
                first_mix,
                mixes: tile_mixes,
                weights: packed.len(),
            });
            packed.extend((out..out + count).map(|o| bias.map_or(0.0, |b| b[o])));
            for k in 0..taps {
                for i in first_in..first_in + tile_ins {
                    packed.extend((out..out + count).map(|o| {
                        let first = o / per_out * per_in;
                        let inside = (first..first + per_in).contains(&i);
                        if inside { weights[(o * per_in + i - first) * taps + k] } else { 0.0 }
                    }));
                }
            }
            for m in first_mix..first_mix + tile_mixes {
                packed.extend((out..out + count).map(|o| {
                    let first = o / mix_out * mix_in;
                    let inside = (first..first + mix_in).contains(&m);
                    if inside { mix_weights[o * mix_in + m - first] } else { 0.0 }
                }));
            }
        }
        Self { shape, mixes, tiles: tiles.into(), weights: packed.into() }
    }

    /// The sizes.
    pub fn shape(&self) -> ConvShape {
        self.shape
    }

    /// Computes `frames` frames into `to`, from `from` and, where the convolution has it, the mixed signal `mix`; `add` is
    /// added last. `to` may be `add`, or rows of the ring behind `from` that are being written.
    ///
    /// # Panics
    /// When a place is outside the arena, a tap reaches back further than the ring keeps, or there are more than
    /// [`CHUNK`] frames.
    pub fn run(&self, arena: &mut [f32], from: Window, mix: Option<Rows>, add: Option<Rows>, to: Rows, frames: usize) {
        let s = self.shape;
        assert!(frames <= CHUNK, "a chunk has at most {CHUNK} frames");
        assert!(s.history() < from.size && from.now < from.size, "a tap reaches back beyond the ring");
        assert!(mix.is_some() || self.mixes == 0, "a signal to mix");
        let mix = mix.unwrap_or(to);
        // The last place of the ring that a tap can begin at, and a chunk behind it.
        let last = Rows { at: from.rows.at + from.size - 1, ..from.rows };
        let ends = [
            last.end(s.ins, frames),
            mix.end(self.mixes, frames),
            to.end(s.outs, frames),
            add.map_or(0, |a| a.end(s.outs, frames)),
        ];
        assert!(ends.iter().all(|&end| end <= arena.len()), "rows outside the arena");
        run(self, arena.as_mut_ptr(), from, mix, add, to, frames.div_ceil(PACK));
    }
}

fn run(conv: &Conv, arena: *mut f32, from: Window, mix: Rows, add: Option<Rows>, to: Rows, packs: usize) {
    super::arms!(body(
        conv: &Conv, arena: *mut f32, from: Window, mix: Rows, add: Option<Rows>, to: Rows, packs: usize
    ))
}

/// Where a call reads and writes.
#[derive(Clone, Copy)]
struct Places {
    arena: *mut f32,
    from: Window,
    mix: Rows,
    add: Option<Rows>,
    to: Rows,
}

/// # Safety
/// [`Conv::run`] has checked that every place is in the arena, packs included; the CPU has the instruction set of `V`.
#[inline(always)]
unsafe fn body<V: Pack>(
    conv: &Conv,
    arena: *mut f32,
    from: Window,
    mix: Rows,
    add: Option<Rows>,
    to: Rows,
    packs: usize,
) {
    let places = Places { arena, from, mix, add, to };
    for tile in &conv.tiles {
        macro_rules! strips {
            ($outs:literal, $ins:literal: $($packs:literal)+) => {{
                let mut p = 0;
                $(while packs - p >= $packs {
                    // SAFETY: this function's promises.
                    unsafe { strip::<V, $outs, $packs, $ins>(conv, tile, places, p * PACK) };
                    p += $packs;
                })+
            }};
        }
        // The widest strips leave each register a use: outputs times packs of accumulators, a frame, a weight.
        match (tile.outs, tile.ins) {
            (1, _) => strips!(1, 0: 8 4 2 1),
            (2, 2) => strips!(2, 2: 4 2 1),
            (2, _) => strips!(2, 0: 4 2 1),
            (3, 3) => strips!(3, 3: 4 2 1),
            (3, _) => strips!(3, 0: 4 2 1),
            (_, 4) => strips!(4, 4: 2 1),
            (_, _) => strips!(4, 0: 2 1),
        }
    }
}

/// `O` outputs of `T` packs of frames.
///
/// # Safety
/// As [`body`]; `O` is the tile's count of outputs.
#[inline(always)]
unsafe fn strip<V: Pack, const O: usize, const T: usize, const INS: usize>(
    conv: &Conv,
    tile: &Tile,
    places: Places,
    frame: usize,
) {
    let Places { arena, from, mix, add, to } = places;
    let s = &conv.shape;
    // SAFETY: the weights of a tile are `O (1 + taps ins + mixes)` elements from here on; reads and writes are at rows and
    // frames whose places `Conv::run` has checked.
    unsafe {
        let mut w = conv.weights.as_ptr().add(tile.weights);
        let mut acc: [[V; T]; O] = core::array::from_fn(|o| [V::splat(*w.add(o)); T]);
        w = w.add(O);
        let x = arena.add(from.rows.at + tile.first_in * from.rows.stride + frame);
        let mut back = s.history();
        for _ in 0..s.taps {
            let place = if from.now >= back { from.now - back } else { from.now + from.size - back };
            w = some_products::<V, O, T, INS>(&mut acc, w, x.add(place), from.rows.stride, tile.ins);
            back = back.wrapping_sub(s.dilation);
        }
        let x = arena.add(mix.at + tile.first_mix * mix.stride + frame);
        some_products::<V, O, T, 0>(&mut acc, w, x, mix.stride, tile.mixes);
        if let Some(add) = add {
            let x = arena.add(add.at + tile.out * add.stride + frame);
            for (o, acc) in acc.iter_mut().enumerate() {
                for (t, acc) in acc.iter_mut().enumerate() {
                    *acc = acc.add(V::load(x.add(o * add.stride + t * PACK)));
                }
            }
        }
        let y = arena.add(to.at + tile.out * to.stride + frame);
        for (o, acc) in acc.iter().enumerate() {
            for (t, acc) in acc.iter().enumerate() {
                acc.store(y.add(o * to.stride + t * PACK));
            }
        }
    }
}

/// [`products`] of `rows` rows, which are `ROWS` unless that is 0: a few rows are worth a loop without a branch.
///
/// # Safety
/// As [`products`].
#[inline(always)]
unsafe fn some_products<V: Pack, const O: usize, const T: usize, const ROWS: usize>(
    acc: &mut [[V; T]; O],
    w: *const f32,
    x: *const f32,
    stride: usize,
    rows: usize,
) -> *const f32 {
    // SAFETY: this function's promises.
    unsafe { products(acc, w, x, stride, if ROWS == 0 { rows } else { ROWS }) }
}

/// Adds the products of `rows` rows at `x` with their weights; returns where the weights after them begin.
///
/// # Safety
/// `rows * O` weights at `w` and `T` packs at each row are valid; the CPU has the instruction set of `V`.
#[inline(always)]
unsafe fn products<V: Pack, const O: usize, const T: usize>(
    acc: &mut [[V; T]; O],
    mut w: *const f32,
    mut x: *const f32,
    stride: usize,
    rows: usize,
) -> *const f32 {
    for _ in 0..rows {
        // SAFETY: this function's promises.
        unsafe {
            let frames: [V; T] = core::array::from_fn(|t| V::load(x.add(t * PACK)));
            for (o, acc) in acc.iter_mut().enumerate() {
                let weight = V::splat(*w.add(o));
                for (acc, &frame) in acc.iter_mut().zip(&frames) {
                    *acc = weight.fma(frame, *acc);
                }
            }
            w = w.add(O);
            x = x.wrapping_add(stride);
        }
    }
    w
}
