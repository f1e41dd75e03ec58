//! Drivers of element-by-element kernels: operands of any layout in, dense output, cut into cache-sized blocks.
//!
//! The kernels themselves are loops over dense slices. An operand that is not dense (a broadcast, a transpose) is
//! copied block by block into a small scratch array, which stays in the first-level cache.

use crate::dtype::Element;
use crate::layout::{Layout, Strided};
use crate::team;

/// Elements of one block: three operands of it fit the first-level cache.
pub const BLOCK: usize = 512;
/// Elements of one task of the team.
const TASK: usize = 32 * 1024;

/// `f(start, part)` for parts of `out`, on the team when there are several.
#[inline]
fn parts<U: Element>(out: &mut [U], f: impl Fn(usize, &mut [U]) + Sync) {
    if out.len() <= TASK {
        f(0, out);
    } else {
        team::for_each_chunk(out, TASK, |i, part| f(i * TASK, part));
    }
}

/// `out[i] = f(x[i])`, where `f` maps dense blocks.
pub fn unary<T: Element, U: Element>(out: &mut [U], x: &Strided<T>, f: impl Fn(&mut [U], &[T]) + Sync) {
    assert_eq!(out.len(), x.len());
    parts(out, |start, part| {
        if let Some(s) = x.as_slice() {
            f(part, &s[start..start + part.len()]);
            return;
        }
        let mut scratch = [T::default(); BLOCK];
        for (b, o) in part.chunks_mut(BLOCK).enumerate() {
            f(o, x.block(start + b * BLOCK, o.len(), &mut scratch));
        }
    });
}

/// `out[i] = f(a[i], b[i])`, where `f` maps dense blocks. `a` and `b` have one shape.
pub fn binary<A: Element, B: Element, U: Element>(
    out: &mut [U],
    a: &Strided<A>,
    b: &Strided<B>,
    f: impl Fn(&mut [U], &[A], &[B]) + Sync,
) {
    assert!(out.len() == a.len() && out.len() == b.len());
    parts(out, |start, part| {
        if let (Some(x), Some(y)) = (a.as_slice(), b.as_slice()) {
            f(part, &x[start..start + part.len()], &y[start..start + part.len()]);
            return;
        }
        let (mut sa, mut sb) = ([A::default(); BLOCK], [B::default(); BLOCK]);
        for (i, o) in part.chunks_mut(BLOCK).enumerate() {
            let at = start + i * BLOCK;
            let n = o.len();
            f(o, a.block(at, n, &mut sa), b.block(at, n, &mut sb));
        }
    });
}

/// `x[i] = f(x[i], b[i])` in place.
pub fn binary_in_place<A: Element, B: Element>(x: &mut [A], b: &Strided<B>, f: impl Fn(&mut [A], &[B]) + Sync) {
    assert_eq!(x.len(), b.len());
    parts(x, |start, part| {
        let mut sb = [B::default(); BLOCK];
        if let Some(y) = b.as_slice() {
            f(part, &y[start..start + part.len()]);
            return;
        }
        for (i, o) in part.chunks_mut(BLOCK).enumerate() {
            let n = o.len();
            f(o, b.block(start + i * BLOCK, n, &mut sb));
        }
    });
}

/// `x[i] = f(x[i])` in place.
pub fn unary_in_place<A: Element>(x: &mut [A], f: impl Fn(&mut [A]) + Sync) {
    parts(x, |_, part| f(part));
}

/// `out[i] = f(a[i], b[i], c[i])`, where `f` maps dense blocks. All operands have one shape.
pub fn ternary<A: Element, B: Element, C: Element, U: Element>(
    out: &mut [U],
    a: &Strided<A>,
    b: &Strided<B>,
    c: &Strided<C>,
    f: impl Fn(&mut [U], &[A], &[B], &[C]) + Sync,
) {
    assert!(out.len() == a.len() && out.len() == b.len() && out.len() == c.len());
    parts(out, |start, part| {
        let (mut sa, mut sb, mut sc) = ([A::default(); BLOCK], [B::default(); BLOCK], [C::default(); BLOCK]);
        for (i, o) in part.chunks_mut(BLOCK).enumerate() {
            let at = start + i * BLOCK;
            let n = o.len();
            f(o, a.block(at, n, &mut sa), b.block(at, n, &mut sb), c.block(at, n, &mut sc));
        }
    });
}

/// Copies `x` to dense `out`.
pub fn copy<T: Element>(out: &mut [T], x: &Strided<T>) {
    assert_eq!(out.len(), x.len());
    parts(out, |start, part| x.copy_to(start, part));
}

/// Writes `x` to the positions of `out` that `layout` names, the first at `offset`. No two of them may be one place.
pub fn place<T: Element>(out: &mut [T], offset: usize, layout: &Layout, x: &Strided<T>) {
    assert_eq!(layout.shape(), x.shape());
    let n = layout.len();
    if n == 0 {
        return;
    }
    let l = layout.coalesced();
    let inner = if l.rank() == 0 { 1 } else { l.shape()[l.rank() - 1] };
    let step = if l.rank() == 0 { 1 } else { l.strides()[l.rank() - 1] };
    let mut row = vec![T::default(); if step == 1 { 0 } else { inner }];
    for r in 0..n / inner {
        let at = offset as isize + crate::reduce::offset(&l, r * inner);
        if step == 1 {
            x.copy_to(r * inner, &mut out[at as usize..at as usize + inner]);
        } else {
            x.copy_to(r * inner, &mut row);
            for (i, &v) in row.iter().enumerate() {
                out[(at + i as isize * step) as usize] = v;
            }
        }
    }
}
