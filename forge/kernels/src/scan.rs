//! Scans: running sums and products, linear recurrences, sums of segments.
//!
//! A scan goes element by element along its axis, each lane in one chain of roundings, so a lane that is cut in two and
//! continued gives the same bits. Lanes run side by side: across memory in vectors, along memory a few at a time.

use crate::arith::Num;
use crate::disjoint::Disjoint;
use crate::layout::{Layout, MAX_RANK, Strided};
use crate::reduce::{self, Accumulate};
use crate::{multiversion, team};

/// Elements of one task.
const TASK: usize = 32 * 1024;
/// Lanes side by side across memory.
const WIDTH: usize = 256;
/// Lanes side by side along memory: their chains of additions overlap.
const SIDE: usize = 8;

/// What a scan does at each step with what it has (`h`), the element `x` and, in a recurrence, the decay `a`.
trait Step<T>: 'static {
    /// Whether there are decays to read.
    const DECAYS: bool;
    fn step(h: T, x: T, a: T) -> T;
}
struct Sum;
impl<T: Num> Step<T> for Sum {
    const DECAYS: bool = false;
    #[inline(always)]
    fn step(h: T, x: T, _: T) -> T {
        h.add(x)
    }
}
struct Product;
impl<T: Num> Step<T> for Product {
    const DECAYS: bool = false;
    #[inline(always)]
    fn step(h: T, x: T, _: T) -> T {
        h.mul(x)
    }
}
struct Linear;
impl<T: Num> Step<T> for Linear {
    const DECAYS: bool = true;
    #[inline(always)]
    fn step(h: T, x: T, a: T) -> T {
        a.mul(h).add(x)
    }
}

/// One axis as the input, the decays and the output step along it.
#[derive(Clone, Copy)]
struct Dim {
    n: usize,
    x: isize,
    a: isize,
    o: isize,
}

/// A place in the input, the decays and the output.
#[derive(Clone, Copy)]
struct Place {
    x: isize,
    a: isize,
    o: isize,
}

impl Place {
    fn moved(self, d: &Dim, by: isize) -> Self {
        Self { x: self.x + d.x * by, a: self.a + d.a * by, o: self.o + d.o * by }
    }
}

/// `lanes` scans side by side.
struct Block<'d, T> {
    x: &'d [T],
    a: &'d [T],
    /// Where lane 0 begins.
    at: Place,
    /// From lane to lane.
    lane: Dim,
    /// From step to step.
    time: Dim,
}

/// The options of a scan.
#[derive(Clone, Copy, Default)]
pub struct Direction {
    /// From the end of the axis to its beginning.
    pub reverse: bool,
    /// Each place holds the scan of what comes before it (sums and products only).
    pub exclusive: bool,
    /// A step multiplies by the decay of the place before it (recurrences only): so does the adjoint of a recurrence.
    pub late: bool,
}

/// Running sums along axis `axis`. `out` is dense in `x`'s order of axes.
pub fn cumsum<T: Num>(out: &mut [T], x: &Strided<T>, axis: usize, how: Direction) {
    scan::<T, Sum>(out, x, None, &[], axis, how, T::ZERO);
}

/// Running products along axis `axis`. `out` is dense in `x`'s order of axes.
pub fn cumprod<T: Num>(out: &mut [T], x: &Strided<T>, axis: usize, how: Direction) {
    scan::<T, Product>(out, x, None, &[], axis, how, T::ONE);
}

/// `h[t] = a[t] h[t - 1] + x[t]` along axis `axis`, one multiplication and one addition, each rounded. `h[-1]` is `initial`
/// (dense, the axes without `axis`), or, when that is empty, `h[0] = x[0]`. `a` has `x`'s shape.
pub fn linear<T: Num>(out: &mut [T], x: &Strided<T>, a: &Strided<T>, initial: &[T], axis: usize, how: Direction) {
    assert_eq!(x.shape(), a.shape());
    scan::<T, Linear>(out, x, Some(a), initial, axis, how, T::ZERO);
}

fn scan<T: Num, S: Step<T>>(
    out: &mut [T],
    x: &Strided<T>,
    a: Option<&Strided<T>>,
    initial: &[T],
    axis: usize,
    how: Direction,
    identity: T,
) {
    assert_eq!(out.len(), x.len());
    if out.is_empty() {
        return;
    }
    let dense = Layout::contiguous(x.shape());
    let a_strides = a.map_or([0; MAX_RANK], |a| {
        let mut s = [0; MAX_RANK];
        s[..a.shape().len()].copy_from_slice(a.layout().strides());
        s
    });
    let dim = |i: usize| Dim { n: x.shape()[i], x: x.layout().strides()[i], a: a_strides[i], o: dense.strides()[i] };
    let mut at = Place { x: x.offset() as isize, a: a.map_or(0, |a| a.offset() as isize), o: 0 };
    let mut time = dim(axis);
    if how.reverse {
        at = at.moved(&time, time.n as isize - 1);
        time = Dim { n: time.n, x: -time.x, a: -time.a, o: -time.o };
    }
    if how.late {
        // Step 0 reads no decay, so the place before the first is never looked at.
        at.a -= time.a;
    }
    // The other axes, chained where all three chain.
    let mut dims: Vec<Dim> = Vec::with_capacity(x.shape().len());
    for d in (0..x.shape().len()).filter(|&i| i != axis).map(dim).filter(|d| d.n != 1) {
        match dims.last_mut() {
            Some(l) if l.x == d.x * d.n as isize && l.a == d.a * d.n as isize && l.o == d.o * d.n as isize => {
                *l = Dim { n: l.n * d.n, ..d };
            }
            _ => dims.push(d),
        }
    }
    let lane = dims.pop().unwrap_or(Dim { n: 1, x: 0, a: 0, o: time.n as isize });
    let outer: usize = dims.iter().map(|d| d.n).product();
    let across = lane.o == 1;
    // Lanes of one unit of work, and units of one task.
    let width = if across { WIDTH } else { SIDE };
    let per_row = lane.n.div_ceil(width);
    let units = (TASK / (width * time.n)).max(1);
    let total = outer * per_row;
    let shared = Disjoint::new(out);
    let (xd, ad) = (x.data(), a.map_or(&[][..], Strided::data));
    team::run(total.div_ceil(units), |t| {
        for u in t * units..((t + 1) * units).min(total) {
            let (row, first) = (u / per_row, u % per_row * width);
            let lanes = width.min(lane.n - first);
            let mut place = at;
            let mut rest = row;
            for d in dims.iter().rev() {
                place = place.moved(d, (rest % d.n) as isize);
                rest /= d.n;
            }
            let place = place.moved(&lane, first as isize);
            let block = Block { x: xd, a: ad, at: place, lane: Dim { n: lanes, ..lane }, time };
            let mut h = [identity; WIDTH];
            let begins = if initial.is_empty() {
                false
            } else {
                h[..lanes].copy_from_slice(&initial[row * lane.n + first..][..lanes]);
                true
            };
            if across {
                block_across::<T, S>(&block, &shared, &mut h[..lanes], begins, how.exclusive);
            } else {
                block_along::<T, S>(&block, &shared, &mut h[..lanes], begins, how.exclusive);
            }
        }
    });
}

/// Elements `first, first + step, ..`: borrowed when dense, one repeated or gathered otherwise.
#[inline(always)]
fn fetch<'s, T: Copy>(data: &'s [T], first: isize, step: isize, n: usize, scratch: &'s mut [T]) -> &'s [T] {
    if step == 1 {
        return &data[first as usize..first as usize + n];
    }
    for (i, s) in scratch[..n].iter_mut().enumerate() {
        *s = data[(first + i as isize * step) as usize];
    }
    &scratch[..n]
}

multiversion! {
    if T::FLOAT;
    /// Lanes side by side in memory: each step takes a row.
    fn block_across<T: Num, S: Step<T>>(b: &Block<T>, out: &Disjoint<T>, h: &mut [T], begins: bool, exclusive: bool) {
        let n = h.len();
        let (mut sx, mut sa) = ([T::ZERO; WIDTH], [T::ZERO; WIDTH]);
        for t in 0..b.time.n {
            let p = b.at.moved(&b.time, t as isize);
            // SAFETY: this block alone writes its lanes, and its steps are distinct rows.
            let o = unsafe { out.range(p.o as usize, n) };
            if exclusive {
                o.copy_from_slice(h);
            }
            let x = fetch(b.x, p.x, b.lane.x, n, &mut sx);
            if t == 0 && !begins {
                h.copy_from_slice(x);
            } else if S::DECAYS && b.lane.a != 0 {
                let a = fetch(b.a, p.a, b.lane.a, n, &mut sa);
                for ((h, &x), &a) in h.iter_mut().zip(x).zip(a) {
                    *h = S::step(*h, x, a);
                }
            } else {
                let a = if S::DECAYS { b.a[p.a as usize] } else { T::ZERO };
                for (h, &x) in h.iter_mut().zip(x) {
                    *h = S::step(*h, x, a);
                }
            }
            if !exclusive {
                o.copy_from_slice(h);
            }
        }
    }
}
multiversion! {
    if T::FLOAT;
    /// Lanes that lie along memory, at most [`SIDE`], a step of each in turn.
    fn block_along<T: Num, S: Step<T>>(b: &Block<T>, out: &Disjoint<T>, h: &mut [T], begins: bool, exclusive: bool) {
        let n = b.time.n;
        let back = b.time.o < 0;
        let mut s = [T::ZERO; SIDE];
        s[..h.len()].copy_from_slice(h);
        let rows: [&mut [T]; SIDE] = std::array::from_fn(|l| {
            if l >= h.len() {
                return &mut [][..];
            }
            let first = b.at.o + l as isize * b.lane.o - if back { n as isize - 1 } else { 0 };
            // SAFETY: this block alone writes its lanes, and the lanes are distinct rows.
            unsafe { out.range(first as usize, n) }
        });
        let place = |l: usize| (b.at.x + l as isize * b.lane.x, b.at.a + l as isize * b.lane.a);
        let from: [(isize, isize); SIDE] = std::array::from_fn(place);
        for t in 0..n {
            let to = if back { n - 1 - t } else { t };
            for l in 0..h.len() {
                let o = &mut rows[l][to];
                if exclusive {
                    *o = s[l];
                }
                let x = b.x[(from[l].0 + t as isize * b.time.x) as usize];
                s[l] = if t == 0 && !begins {
                    x
                } else if !S::DECAYS {
                    S::step(s[l], x, T::ZERO)
                } else {
                    S::step(s[l], x, b.a[(from[l].1 + t as isize * b.time.a) as usize])
                };
                if !exclusive {
                    *o = s[l];
                }
            }
        }
    }
}

/// `out[.., s, ..] =` the sum of `x[.., i, ..]` for `i` in `offsets[s]..offsets[s + 1]`, along axis `axis`. `out` is dense with
/// `offsets.len() - 1` places on that axis; an empty segment sums to 0.
pub fn segment_sum<T: Accumulate>(out: &mut [T::Sum], x: &Strided<T>, axis: usize, offsets: &[usize]) {
    let segments = offsets.len() - 1;
    let inner: usize = x.shape()[axis + 1..].iter().product();
    let outer: usize = x.shape()[..axis].iter().product();
    assert_eq!(out.len(), outer * segments * inner);
    if out.is_empty() {
        return;
    }
    let front = Layout::new(&x.shape()[..axis], &x.layout().strides()[..axis]);
    let step = x.layout().strides()[axis];
    // One task sums segments of about TASK elements; which ones follows from the offsets alone.
    let per = (TASK * segments / (x.shape()[axis].max(1) * inner)).clamp(1, segments * outer);
    team::for_each_chunk(out, per * inner, |t, part| {
        for (i, o) in part.chunks_mut(inner).enumerate() {
            let (f, s) = ((t * per + i) / segments, (t * per + i) % segments);
            let len = offsets[s + 1] - offsets[s];
            if len == 0 {
                o.fill(T::Sum::ZERO);
                continue;
            }
            // The segment alone, its axis last.
            let mut l = Layout::new(&x.shape()[axis + 1..], &x.layout().strides()[axis + 1..]);
            l = l.with(l.rank(), len, step);
            let at = x.offset() as isize + reduce::offset(&front, f) + offsets[s] as isize * step;
            reduce::sum(o, &Strided::new(x.data(), at as usize, l), l.rank() - 1);
        }
    });
}

/// `out[.., i, ..] = g[.., s, ..]` for `i` in `offsets[s]..offsets[s + 1]`: the adjoint of [`segment_sum`]. `out` is dense with
/// `offsets[last]` places on axis `axis`.
pub fn segment_spread<T: Num>(out: &mut [T], g: &Strided<T>, axis: usize, offsets: &[usize]) {
    let inner: usize = g.shape()[axis + 1..].iter().product();
    let n = offsets[offsets.len() - 1];
    if out.is_empty() {
        return;
    }
    let mut row = vec![T::ZERO; inner];
    for (f, lanes) in out.chunks_mut(n * inner).enumerate() {
        for (s, w) in offsets.windows(2).enumerate() {
            if w[0] == w[1] {
                continue;
            }
            g.copy_to((f * (offsets.len() - 1) + s) * inner, &mut row);
            for o in lanes[w[0] * inner..w[1] * inner].chunks_mut(inner) {
                o.copy_from_slice(&row);
            }
        }
    }
}
