//! [`Side`]: where outputs and taps meet inputs along one axis.

use std::ops::Range;

/// One spatial axis of a convolution: output `o` and tap `k` meet input `o * stride + k * dilation - pad`, and a tap
/// that meets no input contributes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Positions of the input.
    pub input: usize,
    /// Positions of the output.
    pub output: usize,
    /// Taps of the kernel.
    pub taps: usize,
    /// Inputs from one output to the next; at least 1.
    pub stride: usize,
    /// Inputs from one tap to the next; at least 1.
    pub dilation: usize,
    /// Missing inputs before the first one that output 0 asks for. Negative: inputs that are skipped.
    pub pad: isize,
}

/// `a / b` rounded up, for `b > 0`.
fn ceil_div(a: isize, b: isize) -> isize {
    a.div_euclid(b) + isize::from(a.rem_euclid(b) != 0)
}

fn clamped(x: isize, hi: usize) -> usize {
    usize::try_from(x).unwrap_or(0).min(hi)
}

impl Side {
    /// One position, one tap: the side of an axis that is not there.
    pub const POINT: Self = Self { input: 1, output: 1, taps: 1, stride: 1, dilation: 1, pad: 0 };

    /// A valid convolution's side: the number of outputs that see only inputs or the `before + after` padding.
    ///
    /// ```
    /// use forge_kernels::conv::Side;
    /// let s = Side::padded(10, 3, 2, 1, 1, 1);
    /// assert_eq!(s.output, 5);
    /// ```
    pub fn padded(input: usize, taps: usize, stride: usize, dilation: usize, before: usize, after: usize) -> Self {
        let span = taps.saturating_sub(1).saturating_mul(dilation) + 1;
        let room = input.saturating_add(before).saturating_add(after);
        let output = if room < span { 0 } else { (room - span) / stride + 1 };
        Self { input, output, taps, stride, dilation, pad: before as isize }
    }

    /// Whether output `i` is a function of input `i` alone.
    pub(super) fn is_pointwise(&self) -> bool {
        self.taps == 1 && self.stride == 1 && self.pad == 0 && self.input == self.output
    }

    /// Panics where positions would overflow: every number of the arithmetic below stays under 2^62.
    pub(crate) fn check(&self) {
        assert!(self.stride > 0 && self.dilation > 0, "a stride and a dilation are at least 1: {self:?}");
        let small = |a: usize, b: usize| a.checked_mul(b).is_some_and(|p| p < 1 << 60);
        let fits = small(self.input, 1)
            && small(self.output.max(1), self.stride)
            && small(self.taps.max(1), self.dilation)
            && small(self.pad.unsigned_abs(), 1);
        assert!(fits, "convolution positions exceed the address space: {self:?}");
    }

    /// The input position of output `o` and tap `k`, which may lie outside.
    pub(crate) fn at(&self, o: usize, k: usize) -> isize {
        (o * self.stride) as isize + (k * self.dilation) as isize - self.pad
    }

    /// The taps of output `o` that meet inputs.
    pub(crate) fn valid(&self, o: usize) -> Range<usize> {
        let (first, d) = (self.at(o, 0), self.dilation as isize);
        let lo = if first >= 0 { 0 } else { ceil_div(-first, d) };
        let hi = (self.input as isize - 1 - first).div_euclid(d) + 1;
        let lo = clamped(lo, self.taps);
        lo..clamped(hi, self.taps).max(lo)
    }

    /// The first output after `o` whose valid taps may be others than `valid`, those of `o`.
    pub(crate) fn run_end(&self, o: usize, valid: &Range<usize>) -> usize {
        let (d, s) = (self.dilation as isize, self.stride as isize);
        let mut end = self.output as isize;
        if valid.start > 0 {
            // Where one more of the first taps enters.
            end = end.min(ceil_div(self.pad - (valid.start as isize - 1) * d, s));
        }
        if !valid.is_empty() {
            // Where the last tap leaves.
            end = end.min((self.input as isize - 1 + self.pad - (valid.end as isize - 1) * d).div_euclid(s) + 1);
        }
        (end.max(0) as usize).clamp(o + 1, self.output.max(o + 1))
    }

    /// The outputs whose tap `k` meets an input.
    pub(crate) fn outputs(&self, k: usize) -> Range<usize> {
        let (s, shift) = (self.stride as isize, self.pad - (k * self.dilation) as isize);
        let lo = clamped(ceil_div(shift, s), self.output);
        let hi = clamped((self.input as isize - 1 + shift).div_euclid(s) + 1, self.output);
        lo..hi.max(lo)
    }

    /// The part of the adjoint that makes the inputs `r, r + stride, ..`: again a convolution, of the outputs.
    pub(super) fn phase(&self, r: usize) -> Phase {
        let output = self.input.saturating_sub(r).div_ceil(self.stride);
        let (s, d) = (self.stride as isize, self.dilation as isize);
        // Input `t` gets tap `k` of output `(t + pad - k d) / s` where that is an integer: for one `k` in `step`.
        let step = self.stride / gcd(self.stride, self.dilation);
        let reach = |k: usize| r as isize + self.pad - k as isize * d;
        let first = (0..step.min(self.taps)).find(|&k| reach(k).rem_euclid(s) == 0);
        let (taps, first) = first.map_or((0, 0), |k| ((self.taps - k).div_ceil(step), k));
        let dilation = (d * step as isize / s) as usize;
        // The last of these taps meets the earliest output, so they are walked backwards.
        let pad = (taps as isize - 1) * dilation as isize - reach(first).div_euclid(s);
        let side = Self { input: self.output, output, taps, stride: 1, dilation, pad: if taps == 0 { 0 } else { pad } };
        Phase { side, last: first + taps.saturating_sub(1) * step, step }
    }
}

/// See [`Side::phase`].
pub(super) struct Phase {
    /// The convolution; its tap 0 is tap `last` of the original, tap 1 is `last - step`, and so on.
    pub side: Side,
    pub last: usize,
    pub step: usize,
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every side with small numbers.
    fn each(mut f: impl FnMut(Side)) {
        for input in 0..7 {
            for output in 0..6 {
                for taps in 0..5 {
                    for stride in 1..4 {
                        for dilation in 1..4 {
                            for pad in -3..6 {
                                f(Side { input, output, taps, stride, dilation, pad });
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn ranges_are_those_of_the_definition() {
        each(|s| {
            let inside = |o, k| (0..s.input as isize).contains(&s.at(o, k));
            for o in 0..s.output {
                let v = s.valid(o);
                for k in 0..s.taps {
                    assert_eq!(v.contains(&k), inside(o, k), "{s:?} output {o} tap {k}");
                }
                let end = s.run_end(o, &v);
                assert!(end > o && end <= s.output);
                for p in o..end {
                    assert!(s.valid(p) == v || v.is_empty() && s.valid(p).is_empty(), "{s:?} run {o}..{end} at {p}");
                }
            }
            for k in 0..s.taps {
                for o in 0..s.output {
                    assert_eq!(s.outputs(k).contains(&o), inside(o, k), "{s:?} output {o} tap {k}");
                }
            }
        });
    }

    #[test]
    fn phases_are_the_adjoint() {
        each(|s| {
            // How often each (input, tap, output) meets, by the definition and by the phases.
            let mut want = Vec::new();
            for o in 0..s.output {
                for k in 0..s.taps {
                    if let Ok(t) = usize::try_from(s.at(o, k))
                        && t < s.input
                    {
                        want.push((t, k, o));
                    }
                }
            }
            let mut got = Vec::new();
            for r in 0..s.stride {
                let p = s.phase(r);
                for q in 0..p.side.output {
                    for m in p.side.valid(q) {
                        got.push((r + q * s.stride, p.last - m * p.step, p.side.at(q, m) as usize));
                    }
                }
            }
            want.sort_unstable();
            got.sort_unstable();
            assert_eq!(got, want, "{s:?}");
        });
    }
}
