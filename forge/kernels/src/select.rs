//! Order along the last axis: sorting, the k best, and weighted draws.
//!
//! Elements are compared as integers that carry their position in the low bits. No two are equal, so the order is total:
//! sorting is stable, and the result does not depend on how the work is cut up.

use crate::dtype::{Element, bf16, f16};
use crate::layout::Strided;
use crate::math::Real;
use crate::rng::Key;
use crate::{multiversion, team};
use std::fmt::Debug;

/// Elements of one sorted piece of a long lane, and of one task.
const CHUNK: usize = 32 * 1024;

/// An element type with a total order: numbers by size (-0 equals 0), NaN after all of them whichever way they run;
/// `false` before `true`.
pub trait SortKey: Element {
    /// An unsigned integer that is smaller for what comes earlier.
    type Order: Ord + Copy + Default + Debug + Send + Sync;
    /// The same with the position in the low bits.
    type Packed: Ord + Copy + Default + Debug + Send + Sync;
    /// Comes after everything.
    const LAST: Self::Order;
    /// The place of this element in rising or falling order.
    fn order(self, falling: bool) -> Self::Order;
    /// Joins an order and a position.
    fn pack(order: Self::Order, position: u32) -> Self::Packed;
    /// The two parts of a packed value.
    fn unpack(p: Self::Packed) -> (Self::Order, u32);
}

macro_rules! packing {
    ($order:ty, $packed:ty) => {
        type Order = $order;
        type Packed = $packed;
        const LAST: $order = <$order>::MAX;
        #[inline(always)]
        fn pack(order: $order, position: u32) -> $packed {
            (order as $packed) << 32 | position as $packed
        }
        #[inline(always)]
        fn unpack(p: $packed) -> ($order, u32) {
            ((p >> 32) as $order, p as u32)
        }
    };
}
macro_rules! float_key {
    ($t:ty, $bits:ty, $signed:ty, $packed:ty) => {
        impl SortKey for $t {
            packing!($bits, $packed);
            #[inline(always)]
            fn order(self, falling: bool) -> $bits {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                // Adding 0 turns -0 into 0. Negative numbers are turned over, the others put above them.
                let b = (self + 0.0).to_bits();
                let up = b ^ (((b as $signed) >> (<$bits>::BITS - 1)) as $bits | SIGN);
                let way = if falling { !up } else { up };
                if self != self { <$bits>::MAX } else { way }
            }
        }
    };
}
float_key!(f32, u32, i32, u64);
float_key!(f64, u64, i64, u128);

macro_rules! key {
    ($order:ty, $packed:ty: $($t:ty => |$x:ident| $e:expr),*) => {$(
        impl SortKey for $t {
            packing!($order, $packed);
            #[inline(always)]
            fn order(self, falling: bool) -> $order {
                let $x = self;
                let up: $order = $e;
                if falling { !up } else { up }
            }
        }
    )*};
}
key!(u32, u64: i8 => |x| (x as i32 as u32) ^ (1 << 31), i16 => |x| (x as i32 as u32) ^ (1 << 31), i32 => |x| (x as u32) ^ (1 << 31),
    u8 => |x| x.into(), u16 => |x| x.into(), bool => |x| x.into());
key!(u64, u128: i64 => |x| (x as u64) ^ (1 << 63));

macro_rules! half_key {
    ($($t:ty),*) => {$(
        impl SortKey for $t {
            packing!(u32, u64);
            #[inline(always)]
            fn order(self, falling: bool) -> u32 { f32::from(self).order(falling) }
        }
    )*};
}
half_key!(f16, bf16);

multiversion! {
    if T::FLOAT;
    /// `out[i] =` element `first + i` with its position.
    fn pack_all<T: SortKey>(out: &mut [T::Packed], x: &[T], first: usize, falling: bool) {
        for (i, (o, &x)) in out.iter_mut().zip(x).enumerate() {
            *o = T::pack(x.order(falling), (first + i) as u32);
        }
    }
}

/// Positions of each lane's elements (the last axis of `x`, `n` of them) in rising or falling order; equal elements in
/// their own order, NaN last.
///
/// # Panics
/// When a lane has more than 2^32 elements.
pub fn argsort<T: SortKey>(out: &mut [i64], x: &Strided<T>, n: usize, falling: bool) {
    assert_eq!(out.len(), x.len());
    assert!(u32::try_from(n).is_ok(), "at most 2^32 elements are sorted at once");
    if out.is_empty() {
        return;
    }
    if n > CHUNK {
        for (r, lane) in out.chunks_mut(n).enumerate() {
            long_argsort(lane, x, r * n, falling);
        }
        return;
    }
    let rows = (CHUNK / 2 / n).max(1);
    team::for_each_chunk(out, rows * n, |t, part| {
        let mut scratch = vec![T::default(); n];
        let mut packed = vec![T::Packed::default(); n];
        for (r, lane) in part.chunks_mut(n).enumerate() {
            pack_all(&mut packed, x.block((t * rows + r) * n, n, &mut scratch), 0, falling);
            packed.sort_unstable();
            for (o, &p) in lane.iter_mut().zip(&packed) {
                *o = i64::from(T::unpack(p).1);
            }
        }
    });
}

/// Sorts pieces of [`CHUNK`], then joins pairs of them, then pairs of pairs.
fn long_argsort<T: SortKey>(lane: &mut [i64], x: &Strided<T>, start: usize, falling: bool) {
    let n = lane.len();
    let mut from = vec![T::Packed::default(); n];
    let mut to = from.clone();
    team::for_each_chunk(&mut from, CHUNK, |c, part| {
        let mut scratch = vec![T::default(); part.len()];
        pack_all(part, x.block(start + c * CHUNK, part.len(), &mut scratch), c * CHUNK, falling);
        part.sort_unstable();
    });
    let mut width = CHUNK;
    while width < n {
        team::for_each_chunk(&mut to, CHUNK, |c, part| {
            // This part is a stretch of the joined pair that it lies in.
            let first = c * CHUNK / (2 * width) * (2 * width);
            let (mid, end) = ((first + width).min(n), (first + 2 * width).min(n));
            merge_stretch(part, &from[first..mid], &from[mid..end], c * CHUNK - first);
        });
        std::mem::swap(&mut from, &mut to);
        width *= 2;
    }
    for (o, &p) in lane.iter_mut().zip(&from) {
        *o = i64::from(T::unpack(p).1);
    }
}

/// Elements `skip..` of the sorted union of `a` and `b`, as many as `out` holds.
fn merge_stretch<P: Ord + Copy>(out: &mut [P], a: &[P], b: &[P], skip: usize) {
    // How many of the first `skip` come from `a`.
    let (mut low, mut high) = (skip.saturating_sub(b.len()), skip.min(a.len()));
    while low < high {
        let i = low + (high - low) / 2;
        if a[i] < b[skip - i - 1] { low = i + 1 } else { high = i }
    }
    let (mut i, mut j) = (low, skip - low);
    for o in out {
        let left = j == b.len() || (i < a.len() && a[i] < b[j]);
        *o = if left { a[i] } else { b[j] };
        if left { i += 1 } else { j += 1 }
    }
}

/// Positions of the `k` first elements of each lane in rising or falling order: the first `k` of [`argsort`], found by
/// selection.
///
/// # Panics
/// When `k` is more than `n`, or a lane has more than 2^32 elements.
pub fn top_k<T: SortKey>(out: &mut [i64], x: &Strided<T>, n: usize, k: usize, falling: bool) {
    assert!(k <= n && u32::try_from(n).is_ok(), "{k} of {n} elements");
    if out.is_empty() {
        return;
    }
    let lanes = x.len() / n;
    assert_eq!(out.len(), lanes * k);
    if n > 2 * CHUNK && k < CHUNK / 8 {
        // The best of each piece, then the best of those.
        let pieces = n.div_ceil(CHUNK);
        for (r, o) in out.chunks_mut(k).enumerate() {
            let mut best = vec![T::pack(T::LAST, u32::MAX); pieces * k];
            team::for_each_chunk(&mut best, k, |p, part| {
                let first = p * CHUNK;
                let len = CHUNK.min(n - first);
                let mut scratch = vec![T::default(); len];
                let lane = x.block(r * n + first, len, &mut scratch);
                for (b, q) in part.iter_mut().zip(select(lane, first, k.min(len), falling)) {
                    *b = q;
                }
            });
            best.sort_unstable();
            for (o, &p) in o.iter_mut().zip(&best) {
                *o = i64::from(T::unpack(p).1);
            }
        }
        return;
    }
    let rows = (CHUNK / n).max(1);
    team::for_each_chunk(out, rows * k, |t, part| {
        let mut scratch = vec![T::default(); n];
        for (r, o) in part.chunks_mut(k).enumerate() {
            let best = select(x.block((t * rows + r) * n, n, &mut scratch), 0, k, falling);
            for (o, p) in o.iter_mut().zip(best) {
                *o = i64::from(T::unpack(p).1);
            }
        }
    });
}

multiversion! {
    if T::FLOAT;
    /// Whether any element of `x` comes before `bar`.
    fn any_before<T: SortKey>(x: &[T], bar: T::Order, falling: bool) -> bool {
        let mut any = false;
        for &x in x {
            any |= x.order(falling) < bar;
        }
        any
    }
}

/// The `k` first elements of `lane` in order, whose positions count from `first`.
fn select<T: SortKey>(lane: &[T], first: usize, k: usize, falling: bool) -> Vec<T::Packed> {
    if k == 0 {
        return Vec::new();
    }
    // What may be among the best is gathered; when there is much of it, all but the best `k` goes.
    let room = (2 * k).max(256);
    let mut held: Vec<T::Packed> = Vec::with_capacity(room + 64);
    let mut bar = None;
    for (c, part) in lane.chunks(64).enumerate() {
        if bar.is_some_and(|bar| !any_before(part, bar, falling)) {
            continue;
        }
        for (i, &x) in part.iter().enumerate() {
            let order = x.order(falling);
            // An equal element that comes later loses.
            if bar.is_none_or(|bar| order < bar) {
                held.push(T::pack(order, (first + c * 64 + i) as u32));
            }
        }
        if held.len() >= room {
            let (_, last, _) = held.select_nth_unstable(k - 1);
            bar = Some(T::unpack(*last).0);
            held.truncate(k);
        }
    }
    held.sort_unstable();
    held.truncate(k);
    held
}

/// Why weights cannot be drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadWeights {
    /// One is negative, infinite or NaN.
    NotAWeight,
    /// All are 0.
    AllZero,
    /// Fewer are positive than are to be drawn without replacement.
    TooFew,
}

/// Checks every row (the last axis of `w`, `n` of them); gives the first bad row.
///
/// # Errors
/// The row's number and what is wrong with it.
pub fn check_weights<T: Real>(
    w: &Strided<T>,
    n: usize,
    draws: usize,
    replacement: bool,
) -> Result<(), (usize, BadWeights)> {
    let mut scratch = vec![T::ZERO; n];
    let rows = w.len().checked_div(n).unwrap_or(0);
    for r in 0..rows {
        let row = w.block(r * n, n, &mut scratch);
        if row.iter().any(|&x| !x.is_finite() || x < T::ZERO) {
            return Err((r, BadWeights::NotAWeight));
        }
        let positive = row.iter().filter(|&&x| x > T::ZERO).count();
        if positive == 0 && draws > 0 {
            return Err((r, BadWeights::AllZero));
        }
        if !replacement && positive < draws {
            return Err((r, BadWeights::TooFew));
        }
    }
    Ok(())
}

/// Draws `draws` positions of each row (the last axis of `w`, `n` of them) with probabilities in proportion to the weights,
/// which [`check_weights`] has passed. Draw `s` of row `r` takes number `r * draws + s` of the key's sequence; sums are f64,
/// in order.
pub fn multinomial<T: Real>(out: &mut [i64], w: &Strided<T>, n: usize, draws: usize, replacement: bool, key: Key) {
    if out.is_empty() {
        return;
    }
    let rows = (CHUNK / n).max(1);
    team::for_each_chunk(out, rows * draws, |t, part| {
        let mut scratch = vec![T::ZERO; n];
        let mut weight = vec![0.0f64; n];
        let mut upto = vec![0.0f64; n];
        for (i, o) in part.chunks_mut(draws).enumerate() {
            let r = t * rows + i;
            for (w, &x) in weight.iter_mut().zip(w.block(r * n, n, &mut scratch)) {
                *w = x.to_f64();
            }
            for (s, o) in o.iter_mut().enumerate() {
                if s == 0 || !replacement {
                    let mut sum = 0.0;
                    for (u, &w) in upto.iter_mut().zip(&weight) {
                        sum += w;
                        *u = sum;
                    }
                }
                let at = key.unit_at((r * draws + s) as u64) * upto[n - 1];
                let mut i = upto.partition_point(|&u| u <= at);
                if i == n {
                    // The product was rounded up to the whole sum.
                    i = weight.iter().rposition(|&w| w > 0.0).expect("some weight is positive");
                }
                *o = i as i64;
                if !replacement {
                    weight[i] = 0.0;
                }
            }
        }
    });
}
