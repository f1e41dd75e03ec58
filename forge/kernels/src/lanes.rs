//! Kernels along one axis: drivers that hand out *lanes*, the elements along that axis at one position of the others.
//!
//! A lane reaches its kernel as a dense slice. Where the axis is not the last one, 16 neighbouring lanes are transposed
//! into scratch memory together, so that memory is still read and written by whole cache lines.

use crate::disjoint::Disjoint;
use crate::dtype::Element;
use crate::scratch::Scratch;
use crate::team;

/// Elements of one task of the team, about.
const TASK: usize = 16 * 1024;
/// Lanes that are transposed together.
const COLUMNS: usize = 16;

/// A dense row-major tensor seen as `[outer, len, inner]`: its lanes run along the middle. Lane `o * inner + i` stands at
/// `[o, .., i]`, so lanes are numbered as the elements of the tensor without that axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Product of the sizes before the axis.
    pub outer: usize,
    /// Size of the axis.
    pub len: usize,
    /// Product of the sizes after the axis.
    pub inner: usize,
}

impl Lanes {
    /// The lanes of a tensor of `shape` along `axis`.
    pub fn new(shape: &[usize], axis: usize) -> Self {
        Self { outer: shape[..axis].iter().product(), len: shape[axis], inner: shape[axis + 1..].iter().product() }
    }

    /// Number of lanes.
    pub fn count(&self) -> usize {
        self.outer * self.inner
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.count() * self.len
    }

    /// Lanes of one task, when a lane is a row.
    fn rows_per_task(&self) -> usize {
        (TASK / self.len.max(1)).max(1)
    }
}

/// Where a lane stands along one of the other axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneAxis {
    /// Product of the sizes of the axes after this one, the lanes' own left out.
    pub stride: usize,
    /// Size of the axis.
    pub size: usize,
}

impl LaneAxis {
    /// Axis `axis` of a tensor of `shape` whose lanes run along `along`.
    ///
    /// # Panics
    /// When both are one axis.
    pub fn new(shape: &[usize], along: usize, axis: usize) -> Self {
        assert!(along != axis, "a lane has no one position along its own axis");
        let after = (axis + 1..shape.len()).filter(|&a| a != along);
        Self { stride: after.map(|a| shape[a]).product(), size: shape[axis] }
    }

    /// The position of lane `lane`.
    #[inline(always)]
    pub fn of(&self, lane: usize) -> usize {
        (lane / self.stride) % self.size
    }
}

/// `out lane = f(lane number, out lane, lanes of the inputs)`; what `f` returns is stored in `stats`, one for each lane.
///
/// # Panics
/// When a slice does not have the size that `lanes` says.
pub fn map_with<T: Element, S: Send, const K: usize>(
    lanes: Lanes,
    out: &mut [T],
    stats: &mut [S],
    ins: [&[T]; K],
    f: impl Fn(usize, &mut [T], [&[T]; K]) -> S + Sync,
) {
    let n = lanes.len;
    assert!(
        out.len() == lanes.elements() && stats.len() == lanes.count(),
        "one element for each, one number for each lane"
    );
    assert!(ins.iter().all(|x| x.len() == out.len()), "inputs have the shape of the output");
    if stats.is_empty() {
        return;
    }
    if n == 0 {
        for (lane, s) in stats.iter_mut().enumerate() {
            *s = f(lane, &mut [], [&[]; K]);
        }
        return;
    }
    if lanes.inner == 1 {
        let rows = lanes.rows_per_task();
        team::for_each_chunk2(out, rows * n, stats, rows, |t, out, stats| {
            for (r, (out, s)) in out.chunks_exact_mut(n).zip(stats).enumerate() {
                let at = (t * rows + r) * n;
                *s = f(t * rows + r, out, ins.map(|x| &x[at..at + n]));
            }
        });
        return;
    }
    let (out, stats) = (Disjoint::new(out), Disjoint::new(stats));
    columns::<T>(lanes, K + 1, |scratch, o, i, w| {
        let first = o * lanes.inner + i;
        // SAFETY: these are the lanes `first..first + w`; `columns` hands out each lane once.
        let stats = unsafe { stats.range(first, w) };
        let (rows, input) = gather(lanes, scratch, ins, o, i, w);
        for (j, s) in stats.iter_mut().enumerate() {
            *s = f(first + j, &mut rows[j * n..(j + 1) * n], input.map(|x| &x[j * n..(j + 1) * n]));
        }
        for k in 0..n {
            // SAFETY: elements `i..i + w` of row `[o, k]` belong to the lanes `first..first + w`, which are ours.
            let to = unsafe { out.range((o * n + k) * lanes.inner + i, w) };
            for (j, v) in to.iter_mut().enumerate() {
                *v = rows[j * n + k];
            }
        }
    });
}

/// [`map_with`] without numbers on the side.
///
/// # Panics
/// As [`map_with`].
pub fn map<T: Element, const K: usize>(
    lanes: Lanes,
    out: &mut [T],
    ins: [&[T]; K],
    f: impl Fn(usize, &mut [T], [&[T]; K]) + Sync,
) {
    // A vector of units takes no memory.
    map_with(lanes, out, &mut vec![(); lanes.count()], ins, f);
}

/// `out[lane] = f(lane number, lanes of the inputs)`.
///
/// # Panics
/// When a slice does not have the size that `lanes` says.
pub fn reduce<T: Element, S: Send, const K: usize>(
    lanes: Lanes,
    out: &mut [S],
    ins: [&[T]; K],
    f: impl Fn(usize, [&[T]; K]) -> S + Sync,
) {
    let n = lanes.len;
    assert!(out.len() == lanes.count(), "one number for each lane");
    assert!(ins.iter().all(|x| x.len() == lanes.elements()), "inputs have the size of their lanes");
    if lanes.inner == 1 || n == 0 {
        let rows = lanes.rows_per_task();
        team::for_each_chunk(out, rows, |t, out| {
            for (r, o) in out.iter_mut().enumerate() {
                let at = (t * rows + r) * n;
                *o = f(t * rows + r, ins.map(|x| &x[at..at + n]));
            }
        });
        return;
    }
    let out = Disjoint::new(out);
    columns::<T>(lanes, K + 1, |scratch, o, i, w| {
        let first = o * lanes.inner + i;
        // SAFETY: these are the lanes `first..first + w`; `columns` hands out each lane once.
        let out = unsafe { out.range(first, w) };
        let (_, input) = gather(lanes, scratch, ins, o, i, w);
        for (j, v) in out.iter_mut().enumerate() {
            *v = f(first + j, input.map(|x| &x[j * n..(j + 1) * n]));
        }
    });
}

/// Runs `f(scratch, o, i, w)` for groups of `w <= COLUMNS` lanes `[o, .., i..i + w]`, each lane in exactly one group. The
/// scratch memory holds `copies` such groups.
fn columns<T: Element>(lanes: Lanes, copies: usize, f: impl Fn(&mut [T], usize, usize, usize) + Sync) {
    let per_outer = lanes.inner.div_ceil(COLUMNS);
    let groups = lanes.outer * per_outer;
    let per_task = (TASK / (COLUMNS * lanes.len)).max(1);
    team::run(groups.div_ceil(per_task), |t| {
        let mut scratch = Scratch::new(copies * COLUMNS * lanes.len);
        for g in t * per_task..((t + 1) * per_task).min(groups) {
            let (o, i) = (g / per_outer, g % per_outer * COLUMNS);
            f(&mut scratch, o, i, COLUMNS.min(lanes.inner - i));
        }
    });
}

/// Lanes `[o, .., i..i + w]` of the inputs as rows in `scratch`, and room for as many rows of output before them.
fn gather<'s, T: Element, const K: usize>(
    lanes: Lanes,
    scratch: &'s mut [T],
    ins: [&[T]; K],
    o: usize,
    i: usize,
    w: usize,
) -> (&'s mut [T], [&'s [T]; K]) {
    let (n, size) = (lanes.len, w * lanes.len);
    let (rows, input) = scratch.split_at_mut(size);
    for (x, to) in ins.iter().zip(input.chunks_exact_mut(size)) {
        for k in 0..n {
            let at = (o * n + k) * lanes.inner + i;
            for (j, &v) in x[at..at + w].iter().enumerate() {
                to[j * n + k] = v;
            }
        }
    }
    let input = &*input;
    (rows, std::array::from_fn(|k| &input[k * size..(k + 1) * size]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_reaches_its_kernel_once() {
        for shape in [[3, 5, 1], [1, 7, 40], [4, 3, 17], [2, 1, 5], [3, 0, 4], [0, 2, 3], [2, 300, 33]] {
            let lanes = Lanes::new(&shape, 1);
            let x: Vec<f64> = (0..lanes.elements()).map(|i| i as f64).collect();
            let y: Vec<f64> = x.iter().map(|v| v * 0.5).collect();
            let (mut out, mut stats) = (vec![0.0; x.len()], vec![0.0; lanes.count()]);
            map_with(lanes, &mut out, &mut stats, [&x, &y], |lane, o, [a, b]| {
                for (o, (a, b)) in o.iter_mut().zip(a.iter().zip(b)) {
                    *o = a + b + lane as f64;
                }
                a.iter().sum::<f64>() + lane as f64
            });
            let mut sums = vec![0.0; lanes.count()];
            reduce(lanes, &mut sums, [&x], |lane, [a]| a.iter().sum::<f64>() + lane as f64);
            assert_eq!(sums, stats, "{shape:?}");
            let [o, n, m] = shape;
            for (a, b, c) in (0..o).flat_map(|a| (0..n).flat_map(move |b| (0..m).map(move |c| (a, b, c)))) {
                let at = (a * n + b) * m + c;
                assert_eq!(out[at], 1.5 * x[at] + (a * m + c) as f64, "{shape:?} at {:?}", (a, b, c));
            }
            for (a, c) in (0..o).flat_map(|a| (0..m).map(move |c| (a, c))) {
                let want: f64 = (0..n).map(|b| x[(a * n + b) * m + c]).sum();
                assert_eq!(sums[a * m + c], want + (a * m + c) as f64, "{shape:?} lane {:?}", (a, c));
            }
        }
    }

    #[test]
    fn a_lane_knows_where_it_stands() {
        // [2, 3, 4, 5] without axis 2: lane = (a * 3 + b) * 5 + d.
        let shape = [2, 3, 4, 5];
        let (a, b, d) = (LaneAxis::new(&shape, 2, 0), LaneAxis::new(&shape, 2, 1), LaneAxis::new(&shape, 2, 3));
        for lane in 0..30 {
            assert_eq!((a.of(lane) * 3 + b.of(lane)) * 5 + d.of(lane), lane);
        }
    }
}
