//! Streaming kernels against plain loops in `f64`, on every instruction set, and the same bits for every cut.

use forge_kernels::isa::{self, Isa};
use forge_kernels::stream::{
    self, Activation, CHUNK, Conv, ConvShape, Film, Gate, HeadSum, Layout, Lstm, Ring, Rows, activate,
};

/// Numbers in -1..1 that a seed gives.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn value(&mut self) -> f32 {
        (self.next() as f32 / (1u64 << 30) as f32) - 1.0
    }
    fn values(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.value()).collect()
    }
}

fn on_every_arm(mut f: impl FnMut(Isa)) {
    for isa in Isa::ALL.into_iter().filter(|&i| i <= isa::best()) {
        let _held = isa::force(isa);
        f(isa);
    }
}

/// Signals are `[channel][frame]` in the tests.
type Signal = Vec<Vec<f32>>;

fn signal(noise: &mut Noise, channels: usize, frames: usize) -> Signal {
    (0..channels).map(|_| noise.values(frames)).collect()
}

fn put(arena: &mut [f32], rows: Rows, x: &Signal, from: usize, frames: usize) {
    for (c, x) in x.iter().enumerate() {
        arena[rows.from(c).at..][..frames].copy_from_slice(&x[from..from + frames]);
    }
}

fn get(arena: &[f32], rows: Rows, out: &mut Signal, frames: usize) {
    for (c, out) in out.iter_mut().enumerate() {
        out.extend_from_slice(&arena[rows.from(c).at..][..frames]);
    }
}

/// Lengths of calls that sum to `total`, each at most `most`.
fn cuts(noise: &mut Noise, total: usize, most: usize) -> Vec<usize> {
    let mut left = total;
    let mut out = Vec::new();
    while left > 0 {
        let n = (1 + noise.below(most)).min(left);
        out.push(n);
        left -= n;
    }
    out
}

fn same_bits(a: &Signal, b: &Signal) -> bool {
    a.iter().flatten().map(|v| v.to_bits()).eq(b.iter().flatten().map(|v| v.to_bits()))
}

struct ConvCase {
    shape: ConvShape,
    mixes: usize,
    mix_groups: usize,
    add: bool,
    x: Signal,
    mix: Signal,
    added: Signal,
    weights: Vec<f32>,
    bias: Option<Vec<f32>>,
    mix_weights: Vec<f32>,
}

impl ConvCase {
    fn new(noise: &mut Noise, frames: usize) -> Self {
        let groups = [1, 1, 1, 2, 3][noise.below(5)];
        let mix_groups = [1, 1, groups][noise.below(3)];
        let (ins, outs) = (groups * (1 + noise.below(6)), groups * (1 + noise.below(6)));
        let mixes = mix_groups * noise.below(3);
        let mix_groups = if mixes == 0 { 1 } else { mix_groups };
        let shape = ConvShape { ins, outs, taps: 1 + noise.below(7), dilation: 1 + noise.below(70), groups };
        Self {
            shape,
            mixes,
            mix_groups,
            add: noise.below(2) == 0,
            x: signal(noise, ins, frames),
            mix: signal(noise, mixes, frames),
            added: signal(noise, outs, frames),
            weights: noise.values(shape.weights()),
            bias: (noise.below(2) == 0).then(|| noise.values(outs)),
            mix_weights: noise.values(outs * (mixes / mix_groups)),
        }
    }

    fn naive(&self) -> Vec<Vec<f64>> {
        let s = self.shape;
        let (per_in, per_out) = (s.ins / s.groups, s.outs / s.groups);
        let (mix_in, mix_out) = (self.mixes / self.mix_groups, s.outs / self.mix_groups);
        let row = |o: usize| {
            (0..self.x[0].len()).map(move |t| {
                let mut sum = self.bias.as_ref().map_or(0.0, |b| f64::from(b[o]));
                for i in 0..per_in {
                    for k in 0..s.taps {
                        let back = (s.taps - 1 - k) * s.dilation;
                        if back <= t {
                            let x = self.x[o / per_out * per_in + i][t - back];
                            sum += f64::from(self.weights[(o * per_in + i) * s.taps + k]) * f64::from(x);
                        }
                    }
                }
                for m in 0..mix_in {
                    let x = self.mix[o / mix_out * mix_in + m][t];
                    sum += f64::from(self.mix_weights[o * mix_in + m]) * f64::from(x);
                }
                sum + if self.add { f64::from(self.added[o][t]) } else { 0.0 }
            })
        };
        (0..s.outs).map(|o| row(o).collect()).collect()
    }

    fn run(&self, cuts: &[usize]) -> Signal {
        let s = self.shape;
        let mix = (self.mixes > 0).then_some((self.mixes, self.mix_groups, &self.mix_weights[..]));
        let conv = Conv::new(s, &self.weights, self.bias.as_deref(), mix);
        let mut layout = Layout::new();
        let ring: Ring = layout.ring(s.ins, s.history());
        let (mix_rows, add_rows, y) = (layout.rows(self.mixes), layout.rows(s.outs), layout.rows(s.outs));
        let mut arena = layout.arena();
        let mut out = vec![Vec::new(); s.outs];
        let (mut now, mut at) = (0, 0);
        for &n in cuts {
            put(&mut arena, ring.rows(now), &self.x, at, n);
            ring.seal(&mut arena, now, n);
            put(&mut arena, mix_rows, &self.mix, at, n);
            put(&mut arena, add_rows, &self.added, at, n);
            conv.run(&mut arena, ring.window(now), Some(mix_rows), self.add.then_some(add_rows), y, n);
            now = ring.advance(now, n);
            get(&arena, y, &mut out, n);
            at += n;
        }
        out
    }
}

#[test]
fn convolutions_are_the_sums_that_they_say() {
    const FRAMES: usize = 700;
    on_every_arm(|isa| {
        let mut noise = Noise(1);
        for _ in 0..60 {
            let case = ConvCase::new(&mut noise, FRAMES);
            let want = case.naive();
            let whole = case.run(&cuts(&mut Noise(0), FRAMES, 64));
            let s = case.shape;
            // Terms are at most 1; each addition rounds by half a unit in the last place of a sum of at most `terms`.
            let terms = (s.taps * s.ins + case.mixes + 2) as f64;
            for (got, want) in whole.iter().flatten().zip(want.iter().flatten()) {
                let off = (f64::from(*got) - want).abs();
                assert!(off <= terms * terms * 6e-8, "{isa:?} {s:?}: {got} for {want}");
            }
            for most in [1, 7, 64] {
                let cut = case.run(&cuts(&mut noise, FRAMES, most));
                assert!(same_bits(&whole, &cut), "{isa:?} {s:?}: cuts of up to {most} change the bits");
            }
        }
    });
}

#[test]
#[should_panic(expected = "outside the arena")]
fn rows_outside_the_arena_are_refused() {
    let mut layout = Layout::new();
    let (x, y) = (layout.rows(2), layout.rows(2));
    let conv = Conv::new(ConvShape::pointwise(2, 2, 1), &[1.0; 4], None, None);
    let mut arena = layout.arena();
    let end = arena.len();
    conv.run(&mut arena, x.into(), None, None, Rows { at: end - 64, ..y }, CHUNK);
}

#[test]
#[should_panic(expected = "beyond the ring")]
fn a_tap_beyond_the_ring_is_refused() {
    let mut layout = Layout::new();
    let (ring, y) = (layout.ring(1, 1), layout.rows(1));
    let conv = Conv::new(ConvShape { ins: 1, outs: 1, taps: 2, dilation: 1000, groups: 1 }, &[1.0; 2], None, None);
    conv.run(&mut layout.arena(), ring.window(0), None, None, y, 1);
}

fn functions() -> Vec<(Activation, fn(f64) -> f64)> {
    vec![
        (Activation::Identity, |x| x),
        (Activation::Tanh, f64::tanh),
        (Activation::FastTanh, forge_kernels::math::Real::fast_tanh),
        (Activation::HardTanh, |x| x.clamp(-1.0, 1.0)),
        (Activation::Relu, |x| x.max(0.0)),
        (Activation::LeakyRelu { slope: 0.2 }, |x| if x > 0.0 { x } else { x * f64::from(0.2f32) }),
        (Activation::PRelu { slopes: [0.2; 3].into() }, |x| if x > 0.0 { x } else { x * f64::from(0.2f32) }),
        (Activation::Sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
        (Activation::Silu, |x| x / (1.0 + (-x).exp())),
        (Activation::HardSwish, |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0),
        (Activation::LeakyHardTanh { low: -0.5, high: 1.5, low_slope: 0.25, high_slope: -0.5 }, |x| {
            x.clamp(-0.5, 1.5) + (x + 0.5).min(0.0) * 0.25 + (x - 1.5).max(0.0) * -0.5
        }),
        (Activation::Softsign, |x| x / (1.0 + x.abs())),
    ]
}

#[test]
fn activations_gates_and_head_sums_are_what_they_say() {
    on_every_arm(|isa| {
        for (f, exact) in functions() {
            for frames in [1, 7, 8, 9, 23, 40, 64] {
                let mut noise = Noise(frames as u64);
                let mut layout = Layout::new();
                let rows: [Rows; 4] = core::array::from_fn(|_| layout.rows(3));
                let [x, g, y, h] = rows;
                let mut clean = layout.arena();
                let signals: [Signal; 3] = core::array::from_fn(|_| signal(&mut noise, 3, frames));
                for (rows, signal) in [x, g, h].into_iter().zip(&signals) {
                    put(&mut clean, rows, signal, 0, frames);
                }
                for c in 0..3 {
                    clean[x.from(c).at..][..frames].iter_mut().for_each(|v| *v *= 6.0);
                }
                for gate in [Gate::None, Gate::Times(g), Gate::Blend(g)] {
                    for head in [HeadSum::None, HeadSum::Begin(h), HeadSum::Add(h)] {
                        let mut arena = clean.clone();
                        activate(&mut arena, &f, x, gate, y, head, 3, frames);
                        for c in 0..3 {
                            for t in 0..frames {
                                let at = |arena: &[f32], rows: Rows| f64::from(arena[rows.from(c).at + t]);
                                let (v, m) = (at(&clean, x), at(&clean, g));
                                let want = match gate {
                                    Gate::None => exact(v),
                                    Gate::Times(_) => exact(v) * m,
                                    Gate::Blend(_) => m * exact(v) + (1.0 - m) * v,
                                };
                                let sum = match head {
                                    HeadSum::None => at(&clean, h),
                                    HeadSum::Begin(_) => want,
                                    HeadSum::Add(_) => at(&clean, h) + want,
                                };
                                // A few roundings of numbers below 14.
                                let bound = 4e-6;
                                assert!((at(&arena, y) - want).abs() < bound, "{isa:?} {f:?} {gate:?} at {v}");
                                assert!((at(&arena, h) - sum).abs() < bound, "{isa:?} {f:?} {head:?} at {v}");
                            }
                        }
                    }
                }
            }
        }
    });
}

/// The distance to the exact value in units in the last place of the result.
fn ulps(got: f32, want: f64) -> f64 {
    let unit =
        f64::from((want as f32).abs().max(f32::MIN_POSITIVE).next_up() - (want as f32).abs().max(f32::MIN_POSITIVE));
    (f64::from(got) - want).abs() / unit
}

#[test]
fn elementary_functions_keep_their_bounds() {
    on_every_arm(|isa| {
        let mut worst = [0.0f64; 3];
        for exponent in -60..8 {
            let mut noise = Noise((exponent + 100) as u64);
            for _ in 0..4000 {
                let x = noise.value() * 2f32.powi(exponent);
                let wide = f64::from(x);
                let e = 1.0 + (-wide).exp();
                worst[0] = worst[0].max(ulps(stream::tanh(x), wide.tanh()));
                if x > -87.0 {
                    worst[1] = worst[1].max(ulps(stream::sigmoid(x), 1.0 / e));
                    worst[2] = worst[2].max(ulps(stream::silu(x), wide / e));
                }
            }
        }
        assert!(worst[0] <= 7.0 && worst[1] <= 4.0 && worst[2] <= 4.0, "{isa:?}: {worst:?} ULP");
        for f in [stream::tanh, stream::sigmoid, stream::silu, stream::fast_tanh] {
            assert!(f(f32::NAN).is_nan(), "{isa:?}");
        }
        // The quotient at the end of its range, for all beyond.
        assert!((stream::tanh(1e30) - 1.0).abs() < 2e-7 && stream::tanh(-1e30) == -stream::tanh(1e30), "{isa:?}");
        assert_eq!((stream::sigmoid(1e30), stream::silu(1e30)), (1.0, 1e30), "{isa:?}");
        assert!(stream::sigmoid(-1e30) < 1e-37 && stream::fast_tanh(1e30).is_finite(), "{isa:?}");
    });
}

#[test]
fn films_modulate() {
    on_every_arm(|isa| {
        let mut noise = Noise(5);
        for _ in 0..60 {
            let groups = 1 + noise.below(3);
            let shift = noise.below(2) == 0;
            let (channels, conditions) = (groups * (1 + noise.below(3)), groups * (1 + noise.below(3)));
            let frames = 1 + noise.below(CHUNK);
            let outs = if shift { 2 * channels } else { channels };
            let per_in = conditions / groups;
            let (weights, bias) = (noise.values(outs * per_in), noise.values(outs));
            let film = Film::new(channels, conditions, groups, shift, &weights, &bias);
            let mut layout = Layout::new();
            let (x, c, a, y) =
                (layout.rows(channels), layout.rows(conditions), layout.rows(channels), layout.rows(channels));
            let mut arena = layout.arena();
            for (rows, n) in [(x, channels), (c, conditions), (a, channels)] {
                let s = signal(&mut noise, n, frames);
                put(&mut arena, rows, &s, 0, frames);
            }
            let add = noise.below(2) == 0;
            film.run(&mut arena, c, x, add.then_some(a), y, frames);
            for o in 0..channels {
                for t in 0..frames {
                    let at = |rows: Rows, c: usize| f64::from(arena[rows.from(c).at + t]);
                    let made = |o: usize| {
                        let first = o / (outs / groups) * per_in;
                        let products = (0..per_in).map(|i| f64::from(weights[o * per_in + i]) * at(c, first + i));
                        f64::from(bias[o]) + products.sum::<f64>()
                    };
                    let want = at(x, o) * made(o)
                        + if shift { made(channels + o) } else { 0.0 }
                        + if add { at(a, o) } else { 0.0 };
                    // At most 22 terms of at most 1.
                    assert!((at(y, o) - want).abs() < 22.0 * 22.0 * 6e-8, "{isa:?}: {} for {want}", at(y, o));
                }
            }
        }
    });
}

struct Cells {
    ins: usize,
    hidden: usize,
    matrix: Vec<f32>,
    bias: Vec<f32>,
    h: Vec<f32>,
    c: Vec<f32>,
}

impl Cells {
    fn new(noise: &mut Noise, ins: usize, hidden: usize) -> Self {
        let mut scaled = |n: usize| noise.values(n).into_iter().map(|v| v * 0.4).collect();
        let (matrix, bias, h, c) =
            (scaled(4 * hidden * (ins + hidden)), scaled(4 * hidden), scaled(hidden), scaled(hidden));
        Self { ins, hidden, matrix, bias, h, c }
    }

    fn naive(&self, x: &[Vec<f64>], fast: bool) -> Vec<Vec<f64>> {
        let tanh = |v: f64| if fast { forge_kernels::math::Real::fast_tanh(v) } else { v.tanh() };
        let sigmoid = |v: f64| if fast { (tanh(v * 0.5) + 1.0) * 0.5 } else { 1.0 / (1.0 + (-v).exp()) };
        let mut h: Vec<f64> = self.h.iter().map(|&v| f64::from(v)).collect();
        let mut c: Vec<f64> = self.c.iter().map(|&v| f64::from(v)).collect();
        let step = |x: &Vec<f64>| {
            let width = self.ins + self.hidden;
            let z: Vec<f64> = (0..4 * self.hidden)
                .map(|row| {
                    let weights = &self.matrix[row * width..(row + 1) * width];
                    let products = weights.iter().zip(x.iter().chain(&h)).map(|(&w, v)| f64::from(w) * v);
                    f64::from(self.bias[row]) + products.sum::<f64>()
                })
                .collect();
            for u in 0..self.hidden {
                let gate = |g: usize| z[g * self.hidden + u];
                c[u] = sigmoid(gate(1)) * c[u] + sigmoid(gate(0)) * tanh(gate(2));
                h[u] = sigmoid(gate(3)) * tanh(c[u]);
            }
            h.clone()
        };
        x.iter().map(step).collect()
    }
}

#[test]
fn lstms_step_as_their_equations_and_cuts_change_no_bit() {
    const FRAMES: usize = 200;
    on_every_arm(|isa| {
        let mut noise = Noise(9);
        for (ins, hidden, outs) in [(1, 1, 1), (1, 3, 2), (2, 8, 1), (3, 11, 1), (1, 24, 2)] {
            for fast in [false, true] {
                let (first, second) = (Cells::new(&mut noise, ins, hidden), Cells::new(&mut noise, hidden, hidden));
                let (head, bias) = (noise.values(outs * hidden), noise.values(outs));
                let x = signal(&mut noise, ins, FRAMES);
                let frames: Vec<Vec<f64>> = (0..FRAMES).map(|t| x.iter().map(|c| f64::from(c[t])).collect()).collect();
                let h = second.naive(&first.naive(&frames, fast), fast);
                let run = |cuts: &[usize]| {
                    let mut layout = Layout::new();
                    let (from, to) = (layout.rows(ins), layout.rows(outs));
                    let mut make = |cells: &Cells| {
                        Lstm::new(cells.ins, cells.hidden, &cells.matrix, &cells.bias, fast, &mut layout)
                    };
                    let (one, two) = (make(&first), make(&second));
                    let width = hidden.next_multiple_of(stream::PACK);
                    let mut packed = vec![0.0; outs * width];
                    for (to, from) in packed.chunks_mut(width).zip(head.chunks(hidden)) {
                        to[..hidden].copy_from_slice(from);
                    }
                    let mut arena = layout.arena();
                    one.set(&mut arena, &first.h, &first.c);
                    two.set(&mut arena, &second.h, &second.c);
                    let mut out = vec![Vec::new(); outs];
                    let mut at = 0;
                    for &n in cuts {
                        put(&mut arena, from, &x, at, n);
                        one.run(&mut arena, from, n);
                        two.run_after(&mut arena, &one, n);
                        two.head(&mut arena, &packed, &bias, to, n);
                        get(&arena, to, &mut out, n);
                        at += n;
                    }
                    out
                };
                let whole = run(&cuts(&mut Noise(0), FRAMES, 64));
                for (o, got) in whole.iter().enumerate() {
                    for (t, got) in got.iter().enumerate() {
                        let products = h[t].iter().zip(&head[o * hidden..]).map(|(h, &w)| h * f64::from(w));
                        let want = f64::from(bias[o]) + products.sum::<f64>();
                        // Gates forget, so an error of a step (a few 1e-7) is carried a few steps, times 24 units.
                        assert!((f64::from(*got) - want).abs() < 2e-5, "{isa:?} {ins}->{hidden}: {got} for {want}");
                    }
                }
                for most in [1, 5, 64] {
                    assert!(same_bits(&whole, &run(&cuts(&mut noise, FRAMES, most))), "{isa:?} {ins}->{hidden}");
                }
            }
        }
    });
}

#[test]
fn a_ring_keeps_what_it_says_wherever_it_is() {
    let mut noise = Noise(3);
    for history in [0, 1, 63, 64, 65, 200, 1022] {
        let mut layout = Layout::new();
        let ring = layout.ring(2, history);
        let y = layout.rows(2);
        let mut arena = layout.arena();
        // The tap that reaches furthest, of each channel by itself.
        let shape = ConvShape { ins: 2, outs: 2, taps: 2, dilation: history.max(1), groups: 2 };
        let far = if history == 0 { ConvShape { taps: 1, ..shape } } else { shape };
        let weights = if history == 0 { vec![1.0; 2] } else { vec![1.0, 0.0, 1.0, 0.0] };
        let conv = Conv::new(far, &weights, None, None);
        let x: Signal = (0..2).map(|c| (0..5000).map(|t| (t * 2 + c) as f32).collect()).collect();
        let (mut now, mut at) = (0, 0);
        let mut out = vec![Vec::new(); 2];
        for n in cuts(&mut noise, 5000, CHUNK) {
            put(&mut arena, ring.rows(now), &x, at, n);
            ring.seal(&mut arena, now, n);
            conv.run(&mut arena, ring.window(now), None, None, y, n);
            now = ring.advance(now, n);
            get(&arena, y, &mut out, n);
            at += n;
        }
        for (x, out) in x.iter().zip(&out) {
            assert!((history..5000).all(|t| out[t] == x[t - history]), "history {history}");
            assert!(out[..history].iter().all(|&v| v == 0.0), "history {history}");
        }
    }
}

#[test]
fn the_mode_of_the_cpu_is_restored_after_a_panic() {
    let quarter = || std::hint::black_box(std::hint::black_box(f32::MIN_POSITIVE) * 0.25);
    let caught = std::panic::catch_unwind(|| stream::flushing(|| panic!("inside")));
    assert!(caught.is_err());
    assert!(quarter() > 0.0);
}
