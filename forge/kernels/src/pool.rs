//! Pooling over windows of images, and its adjoints.
//!
//! Images are dense `[outer, lines, positions, inner]`: pooled axes stand in the middle, so channels may come before or
//! after. A window holds the taps that meet the image; what lies outside is not part of it.

use crate::conv::Side;
use crate::math::Real;
use crate::{multiversion, team};
use std::ops::Range;

/// Sizes of a pooling: `x` is `[outer, sides[0].input, sides[1].input, inner]`, `y` has the sides' outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Independent images.
    pub outer: usize,
    /// Lines, then positions of a line.
    pub sides: [Side; 2],
    /// Channels that lie side by side.
    pub inner: usize,
}

/// Elements read and written by one task of the team, at least.
const TASK: usize = 32 * 1024;

impl Pool {
    /// Elements of `x`.
    pub fn x_len(&self) -> usize {
        self.outer * self.sides[0].input * self.sides[1].input * self.inner
    }

    /// Elements of `y`.
    pub fn y_len(&self) -> usize {
        self.outer * self.sides[0].output * self.sides[1].output * self.inner
    }

    fn check(&self, x: usize, y: usize) {
        self.sides.iter().for_each(Side::check);
        assert!(x == self.x_len() && y == self.y_len(), "the slices do not have the sizes that {self:?} says");
    }

    fn x_line(&self) -> usize {
        self.sides[1].input * self.inner
    }

    fn y_line(&self) -> usize {
        self.sides[1].output * self.inner
    }

    /// Lines that one task makes.
    fn lines(&self, line: usize) -> usize {
        let taps = self.sides[0].taps * self.sides[1].taps;
        (TASK / (line * taps).max(1)).max(1)
    }

    /// For line `y` of image `b` of the output: each valid tap in order, with the line of the input that it meets, the
    /// outputs that meet one, and the first input position.
    fn taps(&self, y: usize, mut f: impl FnMut(Tap)) {
        let [sy, sx] = &self.sides;
        for ky in sy.valid(y) {
            for kx in 0..sx.taps {
                let outputs = sx.outputs(kx);
                if !outputs.is_empty() {
                    let first = sx.at(outputs.start, kx) as usize;
                    f(Tap { tap: ky * sx.taps + kx, line: sy.at(y, ky) as usize, outputs, first });
                }
            }
        }
    }

    /// For line `y` of the input: each tap in order that meets it, with the line of the output.
    fn back_taps(&self, y: usize, mut f: impl FnMut(Tap)) {
        let [sy, sx] = &self.sides;
        for ky in 0..sy.taps {
            let at = y as isize + sy.pad - (ky * sy.dilation) as isize;
            let Ok(at) = usize::try_from(at) else { continue };
            if at % sy.stride != 0 || at / sy.stride >= sy.output {
                continue;
            }
            for kx in 0..sx.taps {
                let outputs = sx.outputs(kx);
                if !outputs.is_empty() {
                    let first = sx.at(outputs.start, kx) as usize;
                    f(Tap { tap: ky * sx.taps + kx, line: at / sy.stride, outputs, first });
                }
            }
        }
    }
}

/// One tap along a line.
struct Tap {
    /// Its number, in row-major order of the window.
    tap: usize,
    /// The line of the other image.
    line: usize,
    /// The outputs that meet an input with this tap.
    outputs: Range<usize>,
    /// The input position of the first of them.
    first: usize,
}

multiversion! {
    /// `y = max(y, x)` where `x` moves `step` elements from one output to the next; the tap of a new maximum is noted.
    fn keep_max<T: Real>(y: &mut [T], taps: &mut [i32], x: &[T], step: usize, inner: usize, tap: i32) {
        let one = |y: &mut T, t: &mut i32, v: T| {
            // The first of equal maxima stays, and the first NaN for ever.
            let take = v > *y || (v.is_nan() && !y.is_nan());
            *y = if take { v } else { *y };
            *t = if take { tap } else { *t };
        };
        if inner == 1 {
            for ((y, t), &v) in y.iter_mut().zip(taps).zip(x.iter().step_by(step)) {
                one(y, t, v);
            }
        } else {
            for ((y, t), x) in y.chunks_mut(inner).zip(taps.chunks_mut(inner)).zip(x.chunks(step)) {
                for ((y, t), &v) in y.iter_mut().zip(t).zip(x) {
                    one(y, t, v);
                }
            }
        }
    }
}
multiversion! {
    /// `y += x`, where `x` moves `step` elements from one output to the next.
    fn add_in<T: Real>(y: &mut [T], x: &[T], step: usize, inner: usize) {
        if inner == 1 {
            for (y, &v) in y.iter_mut().zip(x.iter().step_by(step)) {
                *y += v;
            }
        } else {
            for (y, x) in y.chunks_mut(inner).zip(x.chunks(step)) {
                for (y, &v) in y.iter_mut().zip(x) {
                    *y += v;
                }
            }
        }
    }
}
multiversion! {
    /// `x += y`, where `x` moves `step` elements from one output to the next.
    fn add_out<T: Real>(x: &mut [T], y: &[T], step: usize, inner: usize) {
        if inner == 1 {
            for (x, &v) in x.iter_mut().step_by(step).zip(y) {
                *x += v;
            }
        } else {
            for (x, y) in x.chunks_mut(step).zip(y.chunks(inner)) {
                for (x, &v) in x.iter_mut().zip(y) {
                    *x += v;
                }
            }
        }
    }
}
multiversion! {
    /// [`add_out`] of the outputs whose maximum was at `tap`.
    fn add_picked<T: Real>(x: &mut [T], y: &[T], taps: &[i32], step: usize, inner: usize, tap: i32) {
        for (x, (y, t)) in x.chunks_mut(step).zip(y.chunks(inner).zip(taps.chunks(inner))) {
            for (x, (&v, &t)) in x.iter_mut().zip(y.iter().zip(t)) {
                *x = if t == tap { *x + v } else { *x };
            }
        }
    }
}

/// The largest element of each window, and the number of its tap (the first of equals; the first NaN if there is one).
/// A window that meets nothing gives negative infinity and tap -1.
///
/// # Panics
/// When a slice does not have the size that `p` says.
pub fn max<T: Real>(y: &mut [T], taps: &mut [i32], x: &[T], p: &Pool) {
    p.check(x.len(), y.len());
    assert_eq!(taps.len(), y.len());
    let (xl, yl, inner) = (p.x_line(), p.y_line(), p.inner);
    if y.is_empty() {
        return;
    }
    let lines = p.lines(yl);
    team::for_each_chunk2(y, lines * yl, taps, lines * yl, |i, y, taps| {
        for (l, (y, taps)) in y.chunks_mut(yl).zip(taps.chunks_mut(yl)).enumerate() {
            y.fill(T::NEG_INFINITY);
            taps.fill(-1);
            let (b, line) = ((i * lines + l) / p.sides[0].output, (i * lines + l) % p.sides[0].output);
            p.taps(line, |t| {
                let x = &x[(b * p.sides[0].input + t.line) * xl..][t.first * inner..xl];
                let o = t.outputs.start * inner..t.outputs.end * inner;
                keep_max(&mut y[o.clone()], &mut taps[o], x, p.sides[1].stride * inner, inner, t.tap as i32);
            });
        }
    });
}

/// The adjoint of [`max`] for the taps that it chose: each `y` goes to the element that was its window's largest.
///
/// # Panics
/// When a slice does not have the size that `p` says.
pub fn max_scatter<T: Real>(x: &mut [T], y: &[T], taps: &[i32], p: &Pool) {
    p.check(x.len(), y.len());
    assert_eq!(taps.len(), y.len());
    back(x, p, |x, t, at| {
        let (y, taps) = (&y[at.clone()], &taps[at]);
        add_picked(x, y, taps, p.sides[1].stride * p.inner, p.inner, t.tap as i32);
    });
}

/// Reads the elements that [`max`] chose; 0 for a window that meets nothing.
///
/// # Panics
/// When a slice does not have the size that `p` says, or a tap does not meet the image.
pub fn max_gather<T: Real>(y: &mut [T], x: &[T], taps: &[i32], p: &Pool) {
    p.check(x.len(), y.len());
    assert_eq!(taps.len(), y.len());
    let (yl, inner, [sy, sx]) = (p.y_line(), p.inner, &p.sides);
    if y.is_empty() {
        return;
    }
    let lines = p.lines(yl);
    team::for_each_chunk(y, lines * yl, |i, y| {
        for (e, y) in y.iter_mut().enumerate() {
            let at = i * lines * yl + e;
            let Ok(tap) = usize::try_from(taps[at]) else {
                *y = T::ZERO;
                continue;
            };
            let (pos, c) = (at / inner, at % inner);
            let (line, ox) = (pos / sx.output, pos % sx.output);
            let (b, oy) = (line / sy.output, line % sy.output);
            let (iy, ix) = (sy.at(oy, tap / sx.taps) as usize, sx.at(ox, tap % sx.taps) as usize);
            assert!(iy < sy.input && ix < sx.input, "tap {tap} of output {at} meets nothing");
            *y = x[((b * sy.input + iy) * sx.input + ix) * inner + c];
        }
    });
}

/// Sum of each window; divided by the number of its elements if `mean` (so a window that meets nothing gives NaN).
///
/// # Panics
/// When a slice does not have the size that `p` says.
pub fn sum<T: Real>(y: &mut [T], x: &[T], mean: bool, p: &Pool) {
    p.check(x.len(), y.len());
    let (xl, yl, inner) = (p.x_line(), p.y_line(), p.inner);
    if y.is_empty() {
        return;
    }
    let lines = p.lines(yl);
    team::for_each_chunk(y, lines * yl, |i, y| {
        for (l, y) in y.chunks_mut(yl).enumerate() {
            y.fill(T::ZERO);
            let (b, line) = ((i * lines + l) / p.sides[0].output, (i * lines + l) % p.sides[0].output);
            p.taps(line, |t| {
                let x = &x[(b * p.sides[0].input + t.line) * xl..][t.first * inner..xl];
                add_in(&mut y[t.outputs.start * inner..t.outputs.end * inner], x, p.sides[1].stride * inner, inner);
            });
            if mean {
                divide(y, line, p);
            }
        }
    });
}

/// Divides a line of outputs by the sizes of their windows.
fn divide<T: Real>(y: &mut [T], line: usize, p: &Pool) {
    let high = p.sides[0].valid(line).len();
    for (x, y) in y.chunks_mut(p.inner).enumerate() {
        let n = T::from_f64((high * p.sides[1].valid(x).len()) as f64);
        y.iter_mut().for_each(|y| *y /= n);
    }
}

/// The adjoint of [`sum`]: each `y` (divided by its window's size if `mean`) goes to every element of its window.
///
/// # Panics
/// When a slice does not have the size that `p` says.
pub fn spread<T: Real>(x: &mut [T], y: &[T], mean: bool, p: &Pool) {
    p.check(x.len(), y.len());
    let yl = p.y_line();
    let mut shares = crate::scratch::Scratch::<T>::new(if mean { y.len() } else { 0 });
    if mean && !y.is_empty() {
        let lines = p.lines(yl);
        team::for_each_chunk(&mut shares, lines * yl, |i, part| {
            part.copy_from_slice(&y[i * lines * yl..][..part.len()]);
            for (l, part) in part.chunks_mut(yl).enumerate() {
                divide(part, (i * lines + l) % p.sides[0].output, p);
            }
        });
    }
    let y = if mean { &shares[..] } else { y };
    back(x, p, |x, _, at| add_out(x, &y[at], p.sides[1].stride * p.inner, p.inner));
}

/// Lines of `x` from zero: `f(line from the first position on, tap, the elements of y)` for each tap that meets it.
fn back<T: Real>(x: &mut [T], p: &Pool, f: impl Fn(&mut [T], &Tap, Range<usize>) + Sync) {
    let (xl, yl, inner) = (p.x_line(), p.y_line(), p.inner);
    if x.is_empty() {
        return;
    }
    let lines = p.lines(xl);
    team::for_each_chunk(x, lines * xl, |i, x| {
        for (l, x) in x.chunks_mut(xl).enumerate() {
            x.fill(T::ZERO);
            let (b, line) = ((i * lines + l) / p.sides[0].input, (i * lines + l) % p.sides[0].input);
            p.back_taps(line, |t| {
                let first = (b * p.sides[0].output + t.line) * yl;
                let at = first + t.outputs.start * inner..first + t.outputs.end * inner;
                f(&mut x[t.first * inner..], &t, at);
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small images of every kind of side.
    fn each(mut f: impl FnMut(Pool, Vec<f64>)) {
        let mut seed = 1u64;
        for (input, taps, stride, dilation, pad) in [
            (5, 2, 2, 1, 0),
            (6, 3, 1, 1, 1),
            (7, 3, 2, 2, 3),
            (4, 2, 3, 1, 2),
            (1, 3, 1, 1, 1),
            (3, 2, 1, 1, 3),
            (0, 1, 1, 1, 1),
        ] {
            for inner in [1, 3, 20] {
                let side = Side::padded(input, taps, stride, dilation, pad, pad);
                let p = Pool { outer: 2, sides: [Side::padded(4, 2, 2, 1, 1, 0), side], inner };
                let x = (0..p.x_len())
                    .map(|_| {
                        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        (seed >> 60) as f64
                    })
                    .collect();
                f(p, x);
            }
        }
    }

    /// Calls `f(x index, y index, tap)` for each meeting, windows and taps in order.
    fn meetings(p: &Pool, mut f: impl FnMut(usize, usize, i32)) {
        let [sy, sx] = p.sides;
        for b in 0..p.outer {
            for oy in 0..sy.output {
                for ox in 0..sx.output {
                    for ky in 0..sy.taps {
                        for kx in 0..sx.taps {
                            let (iy, ix) = (sy.at(oy, ky), sx.at(ox, kx));
                            if !(0..sy.input as isize).contains(&iy) || !(0..sx.input as isize).contains(&ix) {
                                continue;
                            }
                            let x = ((b * sy.input + iy as usize) * sx.input + ix as usize) * p.inner;
                            let y = ((b * sy.output + oy) * sx.output + ox) * p.inner;
                            (0..p.inner).for_each(|c| f(x + c, y + c, (ky * sx.taps + kx) as i32));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn max_is_the_first_largest() {
        each(|p, mut x| {
            if let Some(x) = x.get_mut(3) {
                *x = f64::NAN;
            }
            let (mut want, mut want_taps) = (vec![f64::NEG_INFINITY; p.y_len()], vec![-1; p.y_len()]);
            meetings(&p, |xi, yi, tap| {
                let (v, y) = (x[xi], &mut want[yi]);
                if v > *y || v.is_nan() && !y.is_nan() {
                    (*y, want_taps[yi]) = (v, tap);
                }
            });
            let (mut y, mut taps) = (vec![0.0; p.y_len()], vec![0; p.y_len()]);
            max(&mut y, &mut taps, &x, &p);
            assert_eq!(taps, want_taps, "{p:?}");
            assert!(y.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits()), "{p:?}");
            // Its adjoint and the adjoint of that.
            let g: Vec<f64> = (0..p.y_len()).map(|i| (i % 7) as f64).collect();
            let mut want = vec![0.0; p.x_len()];
            meetings(&p, |xi, yi, tap| want[xi] += if taps[yi] == tap { g[yi] } else { 0.0 });
            let mut dx = vec![9.0; p.x_len()];
            max_scatter(&mut dx, &g, &taps, &p);
            assert_eq!(dx, want, "{p:?}");
            let mut want = vec![0.0; p.y_len()];
            meetings(&p, |xi, yi, tap| want[yi] += if taps[yi] == tap { dx[xi] } else { 0.0 });
            let mut dy = vec![9.0; p.y_len()];
            max_gather(&mut dy, &dx, &taps, &p);
            assert_eq!(dy, want, "{p:?}");
        });
    }

    #[test]
    fn sums_and_means() {
        each(|p, x| {
            let (mut want, mut count) = (vec![0.0; p.y_len()], vec![0.0; p.y_len()]);
            meetings(&p, |xi, yi, _| {
                want[yi] += x[xi];
                count[yi] += 1.0;
            });
            let mut y = vec![9.0; p.y_len()];
            sum(&mut y, &x, false, &p);
            assert_eq!(y, want, "{p:?}");
            let means: Vec<f64> = want.iter().zip(&count).map(|(s, n)| s / n).collect();
            sum(&mut y, &x, true, &p);
            assert!(y.iter().zip(&means).all(|(a, b)| a == b || a.is_nan() && b.is_nan()), "{p:?}");
            let g: Vec<f64> = (0..p.y_len()).map(|i| (i % 7) as f64).collect();
            for mean in [false, true] {
                let mut want = vec![0.0; p.x_len()];
                meetings(&p, |xi, yi, _| want[xi] += if mean { g[yi] / count[yi] } else { g[yi] });
                let mut dx = vec![9.0; p.x_len()];
                spread(&mut dx, &g, mean, &p);
                assert!(dx.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12), "{p:?} {mean}");
            }
        });
    }
}
