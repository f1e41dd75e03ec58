//! Pointwise ops with broadcasting by name.

use super::{MAX_RANK, NONE, Positions, check_rank, is_identity, map, pos};
use crate::Key;

/// A pointwise op whose right operand is broadcast into the left one by name: the result has the left axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointwisePlan {
    /// Rank of the left operand and of the result.
    pub rank: u8,
    /// Rank of the right operand.
    pub r_rank: u8,
    /// For each left axis, its position in the right operand, or [`NONE`]: broadcast along it.
    pub map: Positions,
    /// The right operand has the same axes in the same order.
    pub identity: bool,
}

/// How a gradient is brought back to an operand that was broadcast: a sum, then a permutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReducePlan {
    /// Axes of the gradient to sum over, as bits.
    pub sum: u16,
    /// Number of axes that are left.
    pub rank: u8,
    /// For each axis of the operand, its position among the axes that the sum leaves.
    pub order: Positions,
    /// The order changes nothing.
    pub identity: bool,
}

impl PointwisePlan {
    /// The plan of two operands with the same `rank` axes in the same order.
    pub const fn same(rank: usize) -> Self {
        let mut map = [NONE; MAX_RANK];
        let mut i = 0;
        while i < rank {
            map[i] = i as u8;
            i += 1;
        }
        PointwisePlan { rank: rank as u8, r_rank: rank as u8, map, identity: true }
    }

    /// The plan for the axes `l` and `r`.
    ///
    /// # Panics
    /// When an axis of `r` is not in `l`, or a list has more than [`MAX_RANK`] axes.
    pub const fn new(l: &[Key<'_>], r: &[Key<'_>]) -> Self {
        let map = map(l, r);
        let mut i = 0;
        while i < r.len() {
            assert!(pos(l, &r[i]) != NONE, "an axis of the right operand is not in the left one");
            i += 1;
        }
        PointwisePlan {
            rank: l.len() as u8,
            r_rank: r.len() as u8,
            map,
            identity: l.len() == r.len() && is_identity(&map, l.len()),
        }
    }

    /// How the right operand's gradient comes from a gradient with the left axes.
    pub const fn grad_right(&self) -> ReducePlan {
        reduce(&self.map, self.rank, self.r_rank)
    }
}

/// A pointwise op over the union of the axes of both operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OuterPlan {
    /// Rank of the left operand.
    pub l_rank: u8,
    /// Rank of the right operand.
    pub r_rank: u8,
    /// Rank of the result.
    pub rank: u8,
    /// For each axis of the result, its position in the left and in the right operand, or [`NONE`].
    pub at: [Positions; 2],
}

impl OuterPlan {
    /// The plan for operands `l` and `r` and a result `out` with the axes of both.
    ///
    /// # Panics
    /// When an axis of `out` is in neither operand or an operand's axis is not in `out`, or a list has more than
    /// [`MAX_RANK`] axes.
    pub const fn new(l: &[Key<'_>], r: &[Key<'_>], out: &[Key<'_>]) -> Self {
        check_rank(l);
        check_rank(r);
        let at = [map(out, l), map(out, r)];
        let (mut i, mut in_l, mut in_r) = (0, 0, 0);
        while i < out.len() {
            assert!(at[0][i] != NONE || at[1][i] != NONE, "an output axis is in no operand");
            in_l += (at[0][i] != NONE) as usize;
            in_r += (at[1][i] != NONE) as usize;
            i += 1;
        }
        assert!(in_l == l.len() && in_r == r.len(), "an operand's axis is not in the output");
        OuterPlan { l_rank: l.len() as u8, r_rank: r.len() as u8, rank: out.len() as u8, at }
    }

    /// How the left operand's gradient comes from the result's.
    pub const fn grad_left(&self) -> ReducePlan {
        reduce(&self.at[0], self.rank, self.l_rank)
    }

    /// How the right operand's gradient comes from the result's.
    pub const fn grad_right(&self) -> ReducePlan {
        reduce(&self.at[1], self.rank, self.r_rank)
    }
}

const fn reduce(map: &Positions, rank: u8, operand_rank: u8) -> ReducePlan {
    let mut p = ReducePlan { sum: 0, rank: operand_rank, order: [NONE; MAX_RANK], identity: false };
    let (mut i, mut kept) = (0, 0);
    while i < rank {
        let at = map[i as usize];
        if at == NONE {
            p.sum |= 1 << i;
        } else {
            p.order[at as usize] = kept;
            kept += 1;
        }
        i += 1;
    }
    p.identity = is_identity(&p.order, operand_rank as usize);
    p
}
