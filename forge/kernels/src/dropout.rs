//! Dropout: the mask is a pure function of a key and the place of an element, so it is never stored.

use crate::layout::Strided;
use crate::math::Real;
use crate::rng::Key;
use crate::{elementwise::BLOCK, multiversion, team};

/// Elements of one task of the team.
const TASK: usize = 16 * 1024;

multiversion! {
    /// `out[i] = x[i] * scale` where `key.unit_at(start + i) < keep`, else 0.
    fn block<T: Real>(out: &mut [T], x: &[T], key: Key, start: u64, keep: f64, scale: T) {
        for (i, (o, &x)) in out.iter_mut().zip(x).enumerate() {
            *o = if key.unit_at(start.wrapping_add(i as u64)) < keep { x * scale } else { T::ZERO };
        }
    }
}

/// `out[i] = x[i] / keep` where `key.unit_at(i) < keep`, else 0. A dropped NaN leaves no trace.
pub fn dropout<T: Real>(out: &mut [T], x: &Strided<T>, key: Key, keep: f64) {
    assert_eq!(out.len(), x.len());
    let scale = T::from_f64(1.0 / keep);
    team::for_each_chunk(out, TASK, |c, part| {
        let mut scratch = [T::ZERO; BLOCK];
        for (b, o) in part.chunks_mut(BLOCK).enumerate() {
            let at = c * TASK + b * BLOCK;
            let n = o.len();
            block(o, x.block(at, n, &mut scratch), key, at as u64, keep, scale);
        }
    });
}
