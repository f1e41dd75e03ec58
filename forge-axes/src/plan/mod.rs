//! Plans: everything an untyped op needs to know about the axes of its operands, as plain positions.
//!
//! Each `new` is a `const fn` of key lists. Typed code evaluates it at compile time
//! (`const { &ContractPlan::new(X::KEYS, R::KEYS, Y::KEYS) }`); the erased tensor calls the same function at run
//! time. A plan is a small `Copy` value without lifetimes.
//!
//! At run time a caller checks its lists first (the names that the user gave may be wrong); a plan that cannot be
//! made panics, which in const evaluation is a compile error.

mod contract;
mod einsum;
mod pointwise;
mod shape;

pub use contract::{ContractPlan, GradPlan};
pub use einsum::{EinsumFault, EinsumPlan, EinsumRanks, MAX_LOOPS, einsum};
pub use pointwise::{OuterPlan, PointwisePlan, ReducePlan};
pub use shape::{MergePlan, check_split, front, inverse, is_identity, permutation};

use crate::Key;

/// Most axes the untyped core handles; typed lists have at most [`MAX_AXES`](crate::MAX_AXES).
pub const MAX_RANK: usize = 16;

/// "Not there", in place of a position.
pub const NONE: u8 = u8::MAX;

/// Positions, one for each axis of a list; unused places hold [`NONE`].
pub type Positions = [u8; MAX_RANK];

/// Do the two keys mean one axis?
///
/// Where both have an id, the ids must be equal. Otherwise (one of them was made from a string) the names must be.
///
/// # Panics
/// When two axes declared at different places have one id (about 2e-8 for 200 axes), instead of taking one for
/// the other. In const evaluation that is a compile error.
pub const fn same(a: &Key<'_>, b: &Key<'_>) -> bool {
    if a.hash == 0 || b.hash == 0 {
        return str_eq(a.name, b.name);
    }
    if a.hash != b.hash {
        return false;
    }
    assert!(str_eq(a.path, b.path), "axis id collision: rename one of the axes");
    true
}

const fn str_eq(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Position of `k` in `xs`, or [`NONE`].
pub const fn pos(xs: &[Key<'_>], k: &Key<'_>) -> u8 {
    let mut i = 0;
    while i < xs.len() {
        if same(&xs[i], k) {
            return i as u8;
        }
        i += 1;
    }
    NONE
}

/// For each axis of `out`, where it stands in `src`, or [`NONE`].
///
/// # Panics
/// When `out` has more than [`MAX_RANK`] axes.
pub const fn map(out: &[Key<'_>], src: &[Key<'_>]) -> Positions {
    check_rank(out);
    let mut m = [NONE; MAX_RANK];
    let mut i = 0;
    while i < out.len() {
        m[i] = pos(src, &out[i]);
        i += 1;
    }
    m
}

/// The positions in `xs` of the axes that are also in `subset`, as bits: bit `i` stands for `xs[i]`.
///
/// # Panics
/// When `xs` has more than [`MAX_RANK`] axes.
pub const fn mask(xs: &[Key<'_>], subset: &[Key<'_>]) -> u16 {
    check_rank(xs);
    let (mut m, mut i) = (0, 0);
    while i < xs.len() {
        if pos(subset, &xs[i]) != NONE {
            m |= 1 << i;
        }
        i += 1;
    }
    m
}

const fn check_rank(xs: &[Key<'_>]) {
    assert!(xs.len() <= MAX_RANK, "more than 16 axes");
}
