//! Elements at given positions of each lane, and their adjoint.

use super::offset;
use crate::dtype::Element;
use crate::layout::{Layout, Strided};
use crate::team;

/// Picked elements of one task.
const TASK: usize = 16 * 1024;

/// The kept and the lane axes of a layout.
fn parts(l: &Layout, kept: usize) -> (Layout, Layout) {
    let keep = Layout::new(&l.shape()[..kept], &l.strides()[..kept]).coalesced();
    (keep, Layout::new(&l.shape()[kept..], &l.strides()[kept..]).coalesced())
}

#[inline]
fn within(lane: &Layout, i: i64) -> isize {
    if lane.rank() == 1 { i as isize * lane.strides()[0] } else { offset(lane, i as usize) }
}

/// `out[o, j] = x[o, at[o, j]]`: `k` positions for each lane, counted in row-major order of the axes from `kept` on.
pub fn pick<T: Element>(out: &mut [T], x: &Strided<T>, kept: usize, at: &[i64], k: usize) {
    assert_eq!(out.len(), at.len());
    let (keep, lane) = parts(x.layout(), kept);
    let per = (TASK / k.max(1)).max(1) * k.max(1);
    team::for_each_chunk(out, per, |t, part| {
        let start = t * per;
        for (r, row) in part.chunks_mut(k).enumerate() {
            let base = x.offset() as isize + offset(&keep, start / k + r);
            for (o, &i) in row.iter_mut().zip(&at[start + r * k..]) {
                *o = x.data()[(base + within(&lane, i)) as usize];
            }
        }
    });
}

/// `out[o, at[o, j]] = g[o, j]`: the adjoint of [`pick`] where no position of a lane occurs twice. `layout` says how `out`
/// is seen as kept and lane axes; other elements stay.
pub fn put<T: Element>(out: &mut [T], layout: &Layout, kept: usize, at: &[i64], k: usize, g: &Strided<T>) {
    assert_eq!(g.len(), at.len());
    let (keep, lane) = parts(layout, kept);
    let mut row = vec![T::default(); k];
    for (o, at) in at.chunks(k.max(1)).enumerate() {
        let base = offset(&keep, o);
        g.copy_to(o * k, &mut row);
        for (&v, &i) in row.iter().zip(at) {
            out[(base + within(&lane, i)) as usize] = v;
        }
    }
}
