//! Rotary position embedding of rows of features.

use crate::lanes::LaneAxis;
use crate::math::Real;
use crate::{multiversion, team};

/// Elements of one task of the team, about.
const TASK: usize = 16 * 1024;

/// Which features turn together. `d` is the number of features that turn, `n` that of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Pairing {
    /// `i` with `i + d / 2` (Llama's checkpoints as Hugging Face stores them, Gemma, Qwen).
    #[default]
    Half,
    /// `2 i` with `2 i + 1` (the paper's form).
    Interleaved,
    /// As [`Self::Interleaved`], inside the last `d` features of the row.
    InterleavedTail,
}

/// The angles of every position.
#[derive(Clone, Copy, Debug)]
pub struct Angles<'a, T> {
    /// Cosines, `pairs` for each position.
    pub cos: &'a [T],
    /// Sines, `pairs` for each position.
    pub sin: &'a [T],
    /// Pairs that turn.
    pub pairs: usize,
}

multiversion! {
    /// Turns pairs `(i, i + h)` of one row.
    fn half<T: Real>(out: &mut [T], x: &[T], cos: &[T], sin: &[T]) {
        let h = cos.len();
        let ((oa, ob), (xa, xb)) = (out.split_at_mut(h), x.split_at(h));
        for i in 0..h {
            let (a, b, c, s) = (xa[i], xb[i], cos[i], sin[i]);
            oa[i] = a * c - b * s;
            ob[i] = b * c + a * s;
        }
    }
}
multiversion! {
    /// Turns pairs `(2 i, 2 i + 1)` of one row.
    fn interleaved<T: Real>(out: &mut [T], x: &[T], cos: &[T], sin: &[T]) {
        for ((o, x), (&c, &s)) in out.as_chunks_mut::<2>().0.iter_mut().zip(x.as_chunks::<2>().0).zip(cos.iter().zip(sin)) {
            *o = [x[0] * c - x[1] * s, x[1] * c + x[0] * s];
        }
    }
}

/// Turns the rows of `n` features of `x`; row `r` stands at position `at.of(r)` of the table. Features that do not turn
/// are copied.
///
/// # Panics
/// When more features are to turn than there are, or a position is outside the table.
pub fn rope<T: Real>(out: &mut [T], x: &[T], n: usize, at: LaneAxis, pairing: Pairing, angles: Angles<T>) {
    let (p, d) = (angles.pairs, 2 * angles.pairs);
    assert!(d <= n && out.len() == x.len(), "no more features can turn than there are");
    if x.is_empty() {
        return;
    }
    let rows = (TASK / n).max(1);
    team::for_each_chunk(out, rows * n, |t, out| {
        for (r, out) in out.chunks_exact_mut(n).enumerate() {
            let row = t * rows + r;
            let x = &x[row * n..(row + 1) * n];
            let place = at.of(row) * p;
            let (cos, sin) = (&angles.cos[place..place + p], &angles.sin[place..place + p]);
            let turned = if pairing == Pairing::InterleavedTail { n - d..n } else { 0..d };
            if d < n {
                out[..turned.start].copy_from_slice(&x[..turned.start]);
                out[turned.end..].copy_from_slice(&x[turned.end..]);
            }
            let (out, x) = (&mut out[turned.clone()], &x[turned]);
            match pairing {
                Pairing::Half => half(out, x, cos, sin),
                Pairing::Interleaved | Pairing::InterleavedTail => interleaved(out, x, cos, sin),
            }
        }
    });
}
