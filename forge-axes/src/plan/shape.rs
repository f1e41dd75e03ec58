//! Orders for the ops that move, cut and join axes.

use super::{MAX_RANK, NONE, Positions, check_rank, map, pos};
use crate::Key;

/// How several axes become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergePlan {
    /// The permutation that brings the parts together, in their order, at the place of the first of them: for
    /// each place, the position of its axis before.
    pub order: Positions,
    /// Where the parts begin after it.
    pub at: u8,
    /// How many parts there are.
    pub parts: u8,
    /// The order changes nothing.
    pub identity: bool,
}

impl MergePlan {
    /// Brings the axes `parts` of `x` together.
    ///
    /// # Panics
    /// When a part is not in `x`, or a list has more than [`MAX_RANK`] axes.
    pub const fn new(x: &[Key<'_>], parts: &[Key<'_>]) -> Self {
        check_rank(x);
        check_rank(parts);
        let mut p = MergePlan { order: [NONE; MAX_RANK], at: 0, parts: parts.len() as u8, identity: false };
        let (mut i, mut n) = (0, 0);
        while i < x.len() {
            let k = pos(parts, &x[i]);
            if k == NONE {
                p.order[n] = i as u8;
                n += 1;
            } else if k == 0 {
                p.at = n as u8;
                let mut j = 0;
                while j < parts.len() {
                    p.order[n] = pos(x, &parts[j]);
                    assert!(p.order[n] != NONE, "a merged axis is not in the tensor");
                    n += 1;
                    j += 1;
                }
            }
            i += 1;
        }
        assert!(n == x.len(), "a merged axis is not in the tensor");
        p.identity = is_identity(&p.order, n);
        p
    }
}

/// The order that takes a tensor with the axes `from` to the axes `to`: for each axis of `to`, its position in
/// `from`.
///
/// # Panics
/// When the lists do not have the same axes.
pub const fn permutation(from: &[Key<'_>], to: &[Key<'_>]) -> Positions {
    let order = map(to, from);
    assert!(from.len() == to.len(), "a permutation has the same axes on both sides");
    let mut i = 0;
    while i < to.len() {
        assert!(order[i] != NONE && pos(to, &to[i]) as usize == i, "a permutation has the same axes on both sides");
        i += 1;
    }
    order
}

/// The order that puts the axes of `x` outside `last` first, then those of `last` in their order.
///
/// # Panics
/// When an axis of `last` is not in `x`, or a list has more than [`MAX_RANK`] axes.
pub const fn front(x: &[Key<'_>], last: &[Key<'_>]) -> Positions {
    check_rank(x);
    check_rank(last);
    let mut o = [NONE; MAX_RANK];
    let (mut i, mut n) = (0, 0);
    while i < x.len() {
        if pos(last, &x[i]) == NONE {
            o[n] = i as u8;
            n += 1;
        }
        i += 1;
    }
    i = 0;
    while i < last.len() {
        assert!(n < x.len() && pos(x, &last[i]) != NONE, "an axis of the block is not in the tensor");
        o[n] = pos(x, &last[i]);
        n += 1;
        i += 1;
    }
    o
}

/// The order that undoes `order`. Places with [`NONE`] are skipped.
pub const fn inverse(order: &Positions) -> Positions {
    let mut v = [NONE; MAX_RANK];
    let mut i = 0;
    while i < MAX_RANK {
        if order[i] != NONE {
            v[order[i] as usize] = i as u8;
        }
        i += 1;
    }
    v
}

/// Are the first `rank` places 0, 1, 2 ...?
pub const fn is_identity(order: &Positions, rank: usize) -> bool {
    let mut i = 0;
    while i < rank {
        if order[i] as usize != i {
            return false;
        }
        i += 1;
    }
    true
}

/// May the parts multiply to the whole? Only fixed sizes can tell: false when every size is fixed and the product
/// is another number.
pub const fn check_split(whole: &Key<'_>, parts: &[Key<'_>]) -> bool {
    let Some(whole) = whole.fixed else { return true };
    let (mut n, mut i) = (1usize, 0);
    while i < parts.len() {
        let Some(size) = parts[i].fixed else { return true };
        let Some(product) = n.checked_mul(size) else { return false };
        n = product;
        i += 1;
    }
    n == whole
}
