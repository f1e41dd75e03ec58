//! Nonlinear functions over rows, with the gate that may follow and the sum that the head reads.

use super::memory::Rows;
use super::pack::{Abreast, Pack, fast_tanh_pack, sigmoid_pack, silu_pack, tanh_pack};
use super::{CHUNK, PACK};

/// A function of each number by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Activation {
    /// `x`.
    Identity,
    /// `tanh x`, see [`tanh`](super::tanh).
    Tanh,
    /// The rational function near tanh, see [`fast_tanh`](super::fast_tanh).
    FastTanh,
    /// `min(max(x, -1), 1)`.
    HardTanh,
    /// `max(x, 0)`.
    Relu,
    /// `x` above zero, else `slope x`.
    LeakyRelu {
        /// The slope below zero.
        slope: f32,
    },
    /// As [`LeakyRelu`](Self::LeakyRelu) with a slope for each channel.
    PRelu {
        /// The slopes, one a channel.
        slopes: Box<[f32]>,
    },
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// `x / (1 + e^-x)`.
    Silu,
    /// `x min(max(x + 3, 0), 6) / 6`.
    HardSwish,
    /// `x` between the bounds, beyond them a line that leaves the bound with a slope of its own.
    LeakyHardTanh {
        /// The lower bound.
        low: f32,
        /// The upper bound.
        high: f32,
        /// The slope below `low`.
        low_slope: f32,
        /// The slope above `high`.
        high_slope: f32,
    },
    /// `x / (1 + |x|)`.
    Softsign,
}

/// What happens to an activated channel `f(x)` with another channel `g` of the same frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Nothing.
    None,
    /// `f(x) g`.
    Times(Rows),
    /// `g f(x) + (1 - g) x`.
    Blend(Rows),
}

/// A sum over layers that the result joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadSum {
    /// It joins none.
    None,
    /// It is the first of these rows.
    Begin(Rows),
    /// It is added to these rows.
    Add(Rows),
}

/// A function as the loops call it; its parameters are at hand.
trait Function: Copy {
    /// # Safety
    /// The CPU has the instruction set of `V`.
    unsafe fn of<V: Pack>(self, x: V) -> V;
}

#[derive(Clone, Copy)]
struct Leaky {
    slope: f32,
}

impl Function for Leaky {
    #[inline(always)]
    unsafe fn of<V: Pack>(self, x: V) -> V {
        // SAFETY: the CPU has the instruction set of `V` (trait contract).
        unsafe { x.positive(x, x.mul(V::splat(self.slope))) }
    }
}

#[derive(Clone, Copy)]
struct LeakyBounds {
    low: f32,
    high: f32,
    low_slope: f32,
    high_slope: f32,
}

impl Function for LeakyBounds {
    #[inline(always)]
    unsafe fn of<V: Pack>(self, x: V) -> V {
        // SAFETY: the CPU has the instruction set of `V` (trait contract).
        unsafe {
            let (low, high) = (V::splat(self.low), V::splat(self.high));
            let (under, over) = (x.sub(low), x.sub(high));
            let inside = x.max(low).min(high);
            let zero = V::splat(0.0);
            let y = under.min(zero).fma(V::splat(self.low_slope), inside);
            over.max(zero).fma(V::splat(self.high_slope), y)
        }
    }
}

macro_rules! plain {
    ($($name:ident |$x:ident| $e:expr;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name;
        impl Function for $name {
            #[inline(always)]
            unsafe fn of<V: Pack>(self, $x: V) -> V {
                // SAFETY: the CPU has the instruction set of `V` (trait contract).
                #[allow(unused_unsafe, reason = "the identity does nothing")]
                unsafe { $e }
            }
        }
    )*};
}

plain! {
    Identity |x| x;
    Tanh |x| tanh_pack(x);
    FastTanh |x| fast_tanh_pack(x);
    HardTanh |x| x.max(V::splat(-1.0)).min(V::splat(1.0));
    Relu |x| x.max(V::splat(0.0));
    Sigmoid |x| sigmoid_pack(x);
    Silu |x| silu_pack(x);
    HardSwish |x| {
        let ramp = x.add(V::splat(3.0)).max(V::splat(0.0)).min(V::splat(6.0));
        x.mul(ramp).mul(V::splat(1.0 / 6.0))
    };
    Softsign |x| x.div(x.abs().add(V::splat(1.0)));
}

/// `y[c] = gate(f(x[c]))` for `channels` rows of `frames` frames, and the sum of the head with it. `to` may be `from` or
/// the gate's rows.
///
/// # Panics
/// When a place is outside the arena, there are more than [`CHUNK`] frames, or the slopes are not one a channel.
pub fn activate(
    arena: &mut [f32],
    f: &Activation,
    from: Rows,
    gate: Gate,
    to: Rows,
    head: HeadSum,
    channels: usize,
    frames: usize,
) {
    assert!(frames <= CHUNK, "a chunk has at most {CHUNK} frames");
    let gate_end = match gate {
        Gate::None => 0,
        Gate::Times(g) | Gate::Blend(g) => g.end(channels, frames),
    };
    let head_end = match head {
        HeadSum::None => 0,
        HeadSum::Begin(h) | HeadSum::Add(h) => h.end(channels, frames),
    };
    let ends = [from.end(channels, frames), to.end(channels, frames), gate_end, head_end];
    assert!(ends.iter().all(|&end| end <= arena.len()), "rows outside the arena");
    let job = Job { arena: arena.as_mut_ptr(), from, gate, to, head, channels, packs: frames.div_ceil(PACK) };
    match *f {
        Activation::Identity => run(Identity, job),
        Activation::Tanh => run(Tanh, job),
        Activation::FastTanh => run(FastTanh, job),
        Activation::HardTanh => run(HardTanh, job),
        Activation::Relu => run(Relu, job),
        Activation::LeakyRelu { slope } => run(Leaky { slope }, job),
        Activation::PRelu { ref slopes } => {
            assert!(slopes.len() == channels, "PRelu: {} slopes for {channels} channels", slopes.len());
            for (c, &slope) in slopes.iter().enumerate() {
                run(Leaky { slope }, job.channel(c));
            }
        }
        Activation::Sigmoid => run(Sigmoid, job),
        Activation::Silu => run(Silu, job),
        Activation::HardSwish => run(HardSwish, job),
        Activation::LeakyHardTanh { low, high, low_slope, high_slope } => {
            run(LeakyBounds { low, high, low_slope, high_slope }, job)
        }
        Activation::Softsign => run(Softsign, job),
    }
}

#[derive(Clone, Copy)]
struct Job {
    arena: *mut f32,
    from: Rows,
    gate: Gate,
    to: Rows,
    head: HeadSum,
    channels: usize,
    packs: usize,
}

impl Job {
    /// The part of one channel.
    fn channel(self, c: usize) -> Self {
        let gate = match self.gate {
            Gate::None => Gate::None,
            Gate::Times(g) => Gate::Times(g.from(c)),
            Gate::Blend(g) => Gate::Blend(g.from(c)),
        };
        let head = match self.head {
            HeadSum::None => HeadSum::None,
            HeadSum::Begin(h) => HeadSum::Begin(h.from(c)),
            HeadSum::Add(h) => HeadSum::Add(h.from(c)),
        };
        Self { from: self.from.from(c), gate, to: self.to.from(c), head, channels: 1, ..self }
    }
}

fn run<F: Function>(f: F, job: Job) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2<F: Function>(f: F, job: Job) {
            // SAFETY: the caller of `avx2` has the instruction set and checked places.
            unsafe { body::<core::arch::x86_64::__m256, F>(f, job) }
        }
        if crate::isa::isa() >= crate::isa::Isa::Avx2 {
            // SAFETY: `isa()` names an arm only when the CPU has it; `activate` has checked the places.
            return unsafe { avx2(f, job) };
        }
    }
    // SAFETY: the plain lanes need no instruction set; `activate` has checked the places.
    unsafe { body::<[f32; PACK], F>(f, job) }
}

/// Packs that are activated side by side.
const WIDE: usize = 2;

/// # Safety
/// [`activate`] has checked that every place is in the arena, packs included; the CPU has the instruction set of `V`.
#[inline(always)]
unsafe fn body<V: Pack, F: Function>(f: F, job: Job) {
    let Job { arena, from, gate, to, head, channels, packs } = job;
    for c in 0..channels {
        // SAFETY: this function's promises, for the pack `p` of row `c` of each place.
        unsafe {
            let row = |rows: Rows| arena.add(rows.at + c * rows.stride);
            let (x, y) = (row(from), row(to));
            macro_rules! strip {
                ($V:ty, $p:ident) => {{
                    let v = <$V>::load(x.add($p));
                    let out = match gate {
                        Gate::None => f.of(v),
                        Gate::Times(g) => f.of(v).mul(<$V>::load(row(g).add($p))),
                        Gate::Blend(g) => {
                            let m = <$V>::load(row(g).add($p));
                            m.fma(f.of(v), <$V>::splat(1.0).sub(m).mul(v))
                        }
                    };
                    out.store(y.add($p));
                    match head {
                        HeadSum::None => {}
                        HeadSum::Begin(h) => out.store(row(h).add($p)),
                        HeadSum::Add(h) => <$V>::load(row(h).add($p)).add(out).store(row(h).add($p)),
                    }
                }};
            }
            let (mut p, end) = (0, packs * PACK);
            while p + WIDE * PACK <= end {
                strip!(Abreast::<V, WIDE>, p);
                p += WIDE * PACK;
            }
            while p < end {
                strip!(V, p);
                p += PACK;
            }
        }
    }
}
