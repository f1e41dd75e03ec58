//! Two-operand contractions.

use super::{MAX_RANK, NONE, Positions, check_rank, map, pos};
use crate::Key;

/// A contraction of two operands: loops run over the `out` axes, then over the `sum` axes.
///
/// Contractions are closed under differentiation: [`grad_left`](Self::grad_left) and
/// [`grad_right`](Self::grad_right) are contractions again, computed from the positions alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContractPlan {
    /// Rank of the left operand.
    pub l_rank: u8,
    /// Rank of the right operand.
    pub r_rank: u8,
    /// Number of output axes.
    pub out_rank: u8,
    /// Number of summed axes.
    pub sum_rank: u8,
    /// For each output axis, its position in the left and in the right operand.
    pub out: [Positions; 2],
    /// For each summed axis, its position in the left and in the right operand.
    pub sum: [[u8; 2 * MAX_RANK]; 2],
}

/// A gradient of a contraction: a contraction, and what must be broadcast after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GradPlan {
    /// Contracts the output's gradient (left) with the other operand (right). Its result has the axes of the
    /// differentiated operand in their order, without those of `spread`.
    pub plan: ContractPlan,
    /// Axes of the differentiated operand that were summed away in it alone, as bits: the gradient is constant
    /// along them, so it is broadcast over them.
    pub spread: u16,
}

impl ContractPlan {
    /// `out[..] = sum of l[..] * r[..]` over the axes that are not in `out`.
    ///
    /// # Panics
    /// When an axis of `out` is in neither operand, or a list has more than [`MAX_RANK`] axes.
    pub const fn new(l: &[Key<'_>], r: &[Key<'_>], out: &[Key<'_>]) -> Self {
        check_rank(l);
        check_rank(r);
        let mut p = ContractPlan {
            l_rank: l.len() as u8,
            r_rank: r.len() as u8,
            out_rank: out.len() as u8,
            sum_rank: 0,
            out: [map(out, l), map(out, r)],
            sum: [[NONE; 2 * MAX_RANK]; 2],
        };
        let mut i = 0;
        while i < out.len() {
            assert!(p.out[0][i] != NONE || p.out[1][i] != NONE, "an output axis is in no operand");
            i += 1;
        }
        i = 0;
        while i < l.len() {
            if pos(out, &l[i]) == NONE {
                p.push_sum(i as u8, pos(r, &l[i]));
            }
            i += 1;
        }
        i = 0;
        while i < r.len() {
            if pos(out, &r[i]) == NONE && pos(l, &r[i]) == NONE {
                p.push_sum(NONE, i as u8);
            }
            i += 1;
        }
        p
    }

    /// [`new`](Self::new) for axes that are known by small numbers, as the intermediate results of an einsum are.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub const fn from_labels(l: &[u8], r: &[u8], out: &[u8]) -> Self {
        assert!(l.len() <= MAX_RANK && r.len() <= MAX_RANK && out.len() <= MAX_RANK, "too many axes");
        let mut p = ContractPlan {
            l_rank: l.len() as u8,
            r_rank: r.len() as u8,
            out_rank: out.len() as u8,
            sum_rank: 0,
            out: [[NONE; MAX_RANK]; 2],
            sum: [[NONE; 2 * MAX_RANK]; 2],
        };
        let mut i = 0;
        while i < out.len() {
            p.out[0][i] = label_pos(l, out[i]);
            p.out[1][i] = label_pos(r, out[i]);
            assert!(p.out[0][i] != NONE || p.out[1][i] != NONE, "an output axis is in no operand");
            i += 1;
        }
        i = 0;
        while i < l.len() {
            if label_pos(out, l[i]) == NONE {
                p.push_sum(i as u8, label_pos(r, l[i]));
            }
            i += 1;
        }
        i = 0;
        while i < r.len() {
            if label_pos(out, r[i]) == NONE && label_pos(l, r[i]) == NONE {
                p.push_sum(NONE, i as u8);
            }
            i += 1;
        }
        p
    }

    const fn push_sum(&mut self, l: u8, r: u8) {
        self.sum[0][self.sum_rank as usize] = l;
        self.sum[1][self.sum_rank as usize] = r;
        self.sum_rank += 1;
    }

    /// How the left operand's gradient comes from the output's gradient and the right operand.
    pub const fn grad_left(&self) -> GradPlan {
        self.grad(0)
    }

    /// How the right operand's gradient comes from the output's gradient and the left operand.
    pub const fn grad_right(&self) -> GradPlan {
        self.grad(1)
    }

    const fn grad(&self, side: usize) -> GradPlan {
        let other = 1 - side;
        let (rank, other_rank) = if side == 0 { (self.l_rank, self.r_rank) } else { (self.r_rank, self.l_rank) };
        let mut p = ContractPlan {
            l_rank: self.out_rank,
            r_rank: other_rank,
            out_rank: 0,
            sum_rank: 0,
            out: [[NONE; MAX_RANK]; 2],
            sum: [[NONE; 2 * MAX_RANK]; 2],
        };
        let (mut spread, mut axis) = (0, 0);
        while axis < rank {
            let (mut in_out, mut in_other) = (NONE, NONE);
            let mut i = 0;
            while i < self.out_rank {
                if self.out[side][i as usize] == axis {
                    in_out = i;
                    in_other = self.out[other][i as usize];
                }
                i += 1;
            }
            i = 0;
            while i < self.sum_rank {
                if self.sum[side][i as usize] == axis {
                    in_other = self.sum[other][i as usize];
                }
                i += 1;
            }
            if in_out == NONE && in_other == NONE {
                spread |= 1 << axis;
            } else {
                p.out[0][p.out_rank as usize] = in_out;
                p.out[1][p.out_rank as usize] = in_other;
                p.out_rank += 1;
            }
            axis += 1;
        }
        let mut i = 0;
        while i < self.out_rank {
            if self.out[side][i as usize] == NONE {
                p.push_sum(i, self.out[other][i as usize]);
            }
            i += 1;
        }
        i = 0;
        while i < self.sum_rank {
            if self.sum[side][i as usize] == NONE {
                p.push_sum(NONE, self.sum[other][i as usize]);
            }
            i += 1;
        }
        GradPlan { plan: p, spread }
    }
}

/// Where `x` stands in `xs`, or [`NONE`].
const fn label_pos(xs: &[u8], x: u8) -> u8 {
    let mut i = 0;
    while i < xs.len() {
        if xs[i] == x {
            return i as u8;
        }
        i += 1;
    }
    NONE
}
