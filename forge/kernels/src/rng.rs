//! Randomness as a value: counter-based generators.
//!
//! A [`Key`] is a seed and a stream; every random number is a pure function of (seed, stream, index). So numbers can be
//! drawn in any order and by any number of threads, a mask can be made again instead of stored, and resuming needs no
//! generator state. Every map from (seed, stream, index) to values below is frozen: it uses only integer arithmetic,
//! `+ - * /` and `sqrt` on `f64`, and gives the same bits on every machine.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood, 2014) with its state computed from the counter.

use crate::math::Real;
use crate::team;

/// The step of SplitMix64's state: the golden ratio in 64 bits.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
/// 2^-53.
const ULP53: f64 = f64::EPSILON / 2.0;
/// Elements of one task of the team.
const CHUNK: usize = 8 * 1024;
/// Normal numbers made at a time.
const BLOCK: usize = 128;

/// SplitMix64's finaliser: a bijection of 64-bit numbers whose every output bit depends on every input bit. 0 stays 0.
#[inline(always)]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Number `index` of the SplitMix64 sequence that starts at `seed`.
#[inline(always)]
pub const fn at(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GAMMA)))
}

/// What [`Key::derive`] takes: a name or a number.
pub trait Label {
    /// The label as 64 bits: `mix(n ^ 0x6e75_6d62_6572)` of a number, `mix` of the FNV-1a hash of a name's bytes.
    fn bits(&self) -> u64;
}

impl Label for str {
    fn bits(&self) -> u64 {
        mix(self.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)))
    }
}

impl Label for String {
    fn bits(&self) -> u64 {
        self.as_str().bits()
    }
}

impl Label for u64 {
    fn bits(&self) -> u64 {
        mix(self ^ 0x6e75_6d62_6572)
    }
}

macro_rules! number_label {
    ($($t:ty),*) => {$(
        impl Label for $t {
            fn bits(&self) -> u64 {
                (*self as u64).bits()
            }
        }
    )*};
}
number_label!(u32, usize, i32);

impl<L: Label + ?Sized> Label for &L {
    fn bits(&self) -> u64 {
        (**self).bits()
    }
}

/// Names an endless sequence of random numbers. A cheap value: copy it, store it, send it.
///
/// ```
/// use forge_kernels::rng::Key;
/// let key = Key::new(42).derive("dropout").derive(3);
/// let mut mask = [false; 8];
/// key.fill_bernoulli(0, &mut mask, 0.5);
/// assert_eq!(mask[5], key.bernoulli_at(5, 0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Chosen by the user.
    pub seed: u64,
    /// Which of the seed's sequences; 0 is the SplitMix64 sequence of the seed itself.
    pub stream: u64,
}

impl Key {
    /// Stream 0 of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { seed, stream: 0 }
    }

    /// An independent key for the part of the work that `label` names.
    ///
    /// The seed stays; the new stream is `mix(mix(stream + gamma) + bits(label))`, so the order of labels counts, and
    /// `derive("7")` is not `derive(7)`.
    #[must_use]
    pub fn derive(self, label: impl Label) -> Self {
        let stream = mix(mix(self.stream.wrapping_add(GAMMA)).wrapping_add(label.bits()));
        Self { seed: self.seed, stream }
    }

    /// The SplitMix64 seed of the sequence: `seed ^ mix(stream)`.
    #[inline(always)]
    const fn base(self) -> u64 {
        self.seed ^ mix(self.stream)
    }

    /// 64 random bits: number `index` of the SplitMix64 sequence of `seed ^ mix(stream)`.
    #[inline(always)]
    pub const fn u64_at(self, index: u64) -> u64 {
        at(self.base(), index)
    }

    /// A number in `0 <= u < 1` with 53 bits: `(x >> 11) * 2^-53`.
    #[inline(always)]
    pub fn unit_at(self, index: u64) -> f64 {
        unit(self.u64_at(index))
    }

    /// A number in `low <= y < high`: `low + (high - low) u`, in `f64`, rounded to `T`, and kept below `high`.
    ///
    /// # Panics
    /// Unless `low <= high` and both are finite. With `low == high` that is the number.
    #[inline(always)]
    pub fn uniform_at<T: Real>(self, index: u64, low: T, high: T) -> T {
        Uniform::new(low, high).map(self.u64_at(index))
    }

    /// A number from the standard normal distribution, by Box and Muller: numbers `2 k` and `2 k + 1` are
    /// `sqrt(-2 ln a) cos(2 pi b)` and `.. sin(2 pi b)`, where `a = 1 - unit(2 k)` and `b = unit(2 k + 1)`.
    #[inline(always)]
    pub fn normal_at(self, index: u64) -> f64 {
        let (even, odd) = normal_pair(self.base(), index / 2);
        if index.is_multiple_of(2) { even } else { odd }
    }

    /// A number from the standard Gumbel distribution: `-ln(-ln u)` with `u = ((x >> 11) + 1/2) * 2^-53`, kept below 1.
    #[inline(always)]
    pub fn gumbel_at(self, index: u64) -> f64 {
        gumbel(self.u64_at(index))
    }

    /// True with probability `p`: whether [`Key::unit_at`] is below `p`.
    #[inline(always)]
    pub fn bernoulli_at(self, index: u64, p: f64) -> bool {
        self.unit_at(index) < p
    }

    /// An integer in `low <= n < high`: `low + ((x * (high - low)) >> 64)`.
    ///
    /// # Panics
    /// Unless `low < high`.
    #[inline(always)]
    pub fn int_at(self, index: u64, low: i64, high: i64) -> i64 {
        assert!(low < high, "no integer in {low}..{high}");
        int(self.u64_at(index), low, high.wrapping_sub(low) as u64)
    }

    /// `out[i] = u64_at(start + i)`.
    pub fn fill_u64(self, start: u64, out: &mut [u64]) {
        fill_bits(self.base(), start, out, |x| x);
    }

    /// `out[i] = uniform_at(start + i, low, high)`.
    ///
    /// # Panics
    /// Unless `low <= high` and both are finite.
    pub fn fill_uniform<T: Real>(self, start: u64, out: &mut [T], low: T, high: T) {
        let u = Uniform::new(low, high);
        fill_bits(self.base(), start, out, move |x| u.map(x));
    }

    /// `out[i] = mean + std * normal_at(start + i)`, in `f64`, rounded to `T`.
    pub fn fill_normal<T: Real>(self, start: u64, out: &mut [T], mean: f64, std: f64) {
        let base = self.base();
        team::for_each_chunk(out, CHUNK, |i, part| {
            fill_normals(base, start.wrapping_add((i * CHUNK) as u64), part, mean, std);
        });
    }

    /// `out[i] = gumbel_at(start + i)`, rounded to `T`.
    pub fn fill_gumbel<T: Real>(self, start: u64, out: &mut [T]) {
        fill_bits(self.base(), start, out, |x| T::from_f64(gumbel(x)));
    }

    /// `out[i] = bernoulli_at(start + i, p)`.
    pub fn fill_bernoulli(self, start: u64, out: &mut [bool], p: f64) {
        fill_bits(self.base(), start, out, move |x| unit(x) < p);
    }

    /// `out[i] = int_at(start + i, low, high)`.
    ///
    /// # Panics
    /// Unless `low < high`.
    pub fn fill_int(self, start: u64, out: &mut [i64], low: i64, high: i64) {
        assert!(low < high, "no integer in {low}..{high}");
        let span = high.wrapping_sub(low) as u64;
        fill_bits(self.base(), start, out, move |x| int(x, low, span));
    }

    /// Puts `items` in random order (Fisher and Yates): for `i` from the last down to 1, item `i` changes places with
    /// item `int_at(n - 1 - i, 0, i + 1)`.
    pub fn shuffle<T>(self, items: &mut [T]) {
        for (draw, i) in (1..items.len()).rev().enumerate() {
            items.swap(i, self.int_at(draw as u64, 0, i as i64 + 1) as usize);
        }
    }

    /// A random order of `0, .., out.len() - 1`: [`Key::shuffle`] of those numbers.
    pub fn fill_permutation(self, out: &mut [i64]) {
        out.iter_mut().enumerate().for_each(|(i, o)| *o = i as i64);
        self.shuffle(out);
    }
}

#[inline(always)]
fn unit(x: u64) -> f64 {
    (x >> 11) as f64 * ULP53
}

#[inline(always)]
fn int(x: u64, low: i64, span: u64) -> i64 {
    low.wrapping_add(((u128::from(x) * u128::from(span)) >> 64) as i64)
}

#[inline(always)]
fn gumbel(x: u64) -> f64 {
    // The sum rounds up to 1 for the largest draw alone.
    let u = ((x >> 11) as f64 + 0.5) * ULP53;
    let u = if u < 1.0 { u } else { 1.0 - ULP53 };
    -ln(-ln(u))
}

#[derive(Clone, Copy)]
struct Uniform<T> {
    low: f64,
    width: f64,
    high: T,
    /// The largest number below `high`.
    top: T,
}

impl<T: Real> Uniform<T> {
    #[inline(always)]
    fn new(low: T, high: T) -> Self {
        assert!(low.is_finite() && high.is_finite() && low <= high, "no number in {low:?}..{high:?}");
        let top = if low < high { high.next_down() } else { low };
        Self { low: low.to_f64(), width: high.to_f64() - low.to_f64(), high, top }
    }

    #[inline(always)]
    fn map(self, x: u64) -> T {
        let y = T::from_f64(self.low + self.width * unit(x));
        if y < self.high { y } else { self.top }
    }
}

/// `out[i] = f(at(base, start + i))`, on the team.
#[inline]
fn fill_bits<T: Send, F: Fn(u64) -> T + Sync>(base: u64, start: u64, out: &mut [T], f: F) {
    team::for_each_chunk(out, CHUNK, |i, part| {
        fill_part(base, start.wrapping_add((i * CHUNK) as u64), part, &f);
    });
}

crate::multiversion! {
    fn fill_part<T: Send, F: Fn(u64) -> T>(base: u64, start: u64, out: &mut [T], f: &F) {
        for (i, o) in out.iter_mut().enumerate() {
            *o = f(at(base, start.wrapping_add(i as u64)));
        }
    }
}

crate::multiversion! {
    fn fill_normals<T: Real>(base: u64, start: u64, out: &mut [T], mean: f64, std: f64) {
        let mut index = start;
        let mut rest = out;
        while !rest.is_empty() {
            // A block of whole pairs, of which the first number may not be asked for.
            let skip = (index % 2) as usize;
            let n = rest.len().min(BLOCK - skip);
            // The steps of `normal_pair`, each a loop of its own: so they vectorise.
            let (mut even, mut odd) = ([0.0; BLOCK / 2], [0.0; BLOCK / 2]);
            let first = index - skip as u64;
            for i in 0..BLOCK / 2 {
                even[i] = 1.0 - unit(at(base, first.wrapping_add(2 * i as u64)));
                odd[i] = unit(at(base, first.wrapping_add(2 * i as u64 + 1)));
            }
            for e in &mut even {
                *e = radius(*e);
            }
            for (e, o) in even.iter_mut().zip(&mut odd) {
                let (sin, cos) = sin_cos_turns(*o);
                (*e, *o) = (*e * cos, *e * sin);
            }
            let (now, later) = rest.split_at_mut(n);
            for (i, o) in now.iter_mut().enumerate() {
                let at = i + skip;
                let z = if at.is_multiple_of(2) { even[at / 2] } else { odd[at / 2] };
                *o = T::from_f64(mean + std * z);
            }
            rest = later;
            index = index.wrapping_add(n as u64);
        }
    }
}

/// Normal numbers `2 pair` and `2 pair + 1`.
#[inline(always)]
fn normal_pair(base: u64, pair: u64) -> (f64, f64) {
    let first = pair.wrapping_mul(2);
    let r = radius(1.0 - unit(at(base, first)));
    let (sin, cos) = sin_cos_turns(unit(at(base, first.wrapping_add(1))));
    (r * cos, r * sin)
}

#[inline(always)]
fn radius(a: f64) -> f64 {
    (-2.0 * ln(a)).sqrt()
}

#[inline(always)]
fn poly<const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let mut y = c[N - 1];
    for i in (0..N - 1).rev() {
        y = y * x + c[i];
    }
    y
}

/// `ln x` for positive normal numbers, to about 2 ULP. Our own, as the maps must not depend on a system's library:
/// `x = 2^e m`, `ln m = 2 artanh(s)` with `s = (m - 1) / (m + 1)`, Taylor's series.
#[inline(always)]
fn ln(x: f64) -> f64 {
    const SPLIT: u64 = 0x3fe6_a09e_667f_3bcd; // sqrt(1/2)
    const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000); // 32 bits
    const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;
    let i = x.to_bits().wrapping_sub(SPLIT);
    let m = f64::from_bits((i & 0x000f_ffff_ffff_ffff).wrapping_add(SPLIT));
    // The exponent as a small signed number, by way of 32 bits, which every instruction set converts.
    let e = f64::from((i >> 32) as i32 >> 20);
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let c = [
        2.0 / 3.0,
        2.0 / 5.0,
        2.0 / 7.0,
        2.0 / 9.0,
        2.0 / 11.0,
        2.0 / 13.0,
        2.0 / 15.0,
        2.0 / 17.0,
        2.0 / 19.0,
        2.0 / 21.0,
    ];
    let z = s * s;
    let y = s * z * poly(z, c);
    // 2 s = f - s f
    e * LN2_HI + ((f - (s * f - y)) + e * LN2_LO)
}

/// `sin` and `cos` of `2 pi u` for `0 <= u < 1`: quarter turns, then Taylor's series on at most an eighth.
#[inline(always)]
fn sin_cos_turns(u: f64) -> (f64, f64) {
    const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52: adding it rounds to an integer.
    let t = 4.0 * u;
    let r = t + MAGIC;
    let q = r.to_bits();
    let d = (t - (r - MAGIC)) * std::f64::consts::FRAC_PI_2;
    let z = d * d;
    let s = poly(
        z,
        [
            -1.0 / 6.0,
            1.0 / 120.0,
            -1.0 / 5_040.0,
            1.0 / 362_880.0,
            -1.0 / 39_916_800.0,
            1.0 / 6_227_020_800.0,
            -1.0 / 1_307_674_368_000.0,
            1.0 / 355_687_428_096_000.0,
        ],
    );
    let c = poly(
        z,
        [
            1.0 / 24.0,
            -1.0 / 720.0,
            1.0 / 40_320.0,
            -1.0 / 3_628_800.0,
            1.0 / 479_001_600.0,
            -1.0 / 87_178_291_200.0,
            1.0 / 20_922_789_888_000.0,
        ],
    );
    let s = d + d * z * s;
    let c = 1.0 - (0.5 * z - z * z * c);
    let (a, b) = if q & 1 == 0 { (s, c) } else { (c, s) };
    // The quadrant's signs: sine is negative in the last two, cosine in the middle two.
    let sin = f64::from_bits(a.to_bits() ^ ((q & 2) << 62));
    let cos = f64::from_bits(b.to_bits() ^ ((q.wrapping_add(1) & 2) << 62));
    (sin, cos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_functions_are_accurate() {
        let key = Key::new(1);
        for i in 0..200_000 {
            let u = key.unit_at(i);
            // Small and nearly whole arguments too.
            for x in [1.0 - u, (1.0 - u) * 2f64.powi(-(i as i32 % 50)), 1.0 - u * 2f64.powi(-(i as i32 % 50))] {
                if x < 1.0 {
                    assert!((ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs(), "ln({x:e})");
                }
            }
            let (s, c) = sin_cos_turns(u);
            let (es, ec) = (u * std::f64::consts::TAU).sin_cos();
            assert!((s - es).abs() < 2e-15 && (c - ec).abs() < 2e-15, "{u}");
            assert!((s * s + c * c - 1.0).abs() < 1e-15);
        }
        assert_eq!(ln(1.0), 0.0);
        for (u, sc) in [(0.0, (0.0, 1.0)), (0.25, (1.0, 0.0)), (0.5, (0.0, -1.0)), (0.75, (-1.0, 0.0))] {
            assert_eq!(sin_cos_turns(u), sc);
        }
    }

    #[test]
    fn extreme_draws_are_finite() {
        for x in [0, 1 << 11, u64::MAX, u64::MAX - (1 << 11)] {
            assert!(gumbel(x).is_finite());
            assert!((0.0..1.0).contains(&unit(x)));
            assert!(int(x, i64::MIN, u64::MAX) < i64::MAX);
            assert!((2.0f32..2.000_001).contains(&Uniform::new(2.0f32, 2.000_001).map(x)));
        }
        assert_eq!(int(u64::MAX, -3, 6), 2);
        assert_eq!(int(0, -3, 6), -3);
    }
}
