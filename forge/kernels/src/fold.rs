//! The adjoint of cutting an axis into windows that overlap.

use crate::arith::Num;
use crate::conv::Side;
use crate::{multiversion, team};

/// Elements that one task makes, at least.
const TASK: usize = 16 * 1024;

multiversion! {
    fn add<T: Num>(out: &mut [T], x: &[T]) {
        for (o, &v) in out.iter_mut().zip(x) {
            *o = o.add(v);
        }
    }
}

/// `out[b, i, c] = sum of x[b, w, k, c]` over the windows `w` and taps `k` that meet `i`, taps in order.
///
/// `x` is dense `[outer, side.output, side.taps, inner]`, `out` is `[outer, side.input, inner]`.
///
/// # Panics
/// When a slice does not have the size that the arguments say.
///
/// ```
/// use forge_kernels::{conv::Side, fold::fold};
/// // Windows of two with stride one: inner elements are in two of them.
/// let side = Side::padded(4, 2, 1, 1, 0, 0);
/// let mut out = [0.0f32; 4];
/// fold(&mut out, &[1.0; 6], 1, &side, 1);
/// assert_eq!(out, [1.0, 2.0, 2.0, 1.0]);
/// ```
pub fn fold<T: Num>(out: &mut [T], x: &[T], outer: usize, side: &Side, inner: usize) {
    side.check();
    assert_eq!(out.len(), outer * side.input * inner);
    assert_eq!(x.len(), outer * side.output * side.taps * inner);
    if out.is_empty() {
        return;
    }
    let rows = (TASK / inner).max(1);
    team::for_each_chunk(out, rows * inner, |t, part| {
        part.fill(T::ZERO);
        for (r, o) in part.chunks_mut(inner).enumerate() {
            let (b, i) = ((t * rows + r) / side.input, (t * rows + r) % side.input);
            for k in 0..side.taps {
                let at = i as isize + side.pad - (k * side.dilation) as isize;
                let Ok(at) = usize::try_from(at) else { continue };
                let window = at / side.stride;
                if at % side.stride == 0 && window < side.output {
                    add(o, &x[((b * side.output + window) * side.taps + k) * inner..][..inner]);
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_lands_where_it_came_from() {
        for (n, taps, stride, dilation, pad) in
            [(7, 3, 1, 1, 0), (9, 2, 3, 2, 1), (5, 4, 2, 1, 3), (4, 1, 2, 1, 0), (0, 2, 1, 1, 2)]
        {
            for inner in [1, 5] {
                let side = Side::padded(n, taps, stride, dilation, pad, pad);
                let x: Vec<i64> = (0..2 * side.output * taps * inner).map(|i| 3 * i as i64 % 17).collect();
                let mut want = vec![0; 2 * n * inner];
                for b in 0..2 {
                    for w in 0..side.output {
                        for k in 0..taps {
                            let Ok(i) = usize::try_from(side.at(w, k)) else { continue };
                            for c in 0..if i < n { inner } else { 0 } {
                                want[(b * n + i) * inner + c] += x[((b * side.output + w) * taps + k) * inner + c];
                            }
                        }
                    }
                }
                let mut out = vec![9; want.len()];
                fold(&mut out, &x, 2, &side, inner);
                assert_eq!(out, want, "{side:?}");
            }
        }
    }
}
