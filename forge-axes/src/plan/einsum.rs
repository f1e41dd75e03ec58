//! Contractions of any number of operands.

use super::{MAX_RANK, NONE, pos};
use crate::Key;

/// Most loop axes (output and summed) of one einsum.
pub const MAX_LOOPS: usize = 2 * MAX_RANK;

/// A contraction of `N` operands: loops run over the output axes, then over the summed axes, which are all axes
/// that are not in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EinsumPlan<const N: usize> {
    /// Number of output axes.
    pub out_rank: u8,
    /// Number of summed axes.
    pub sum_rank: u8,
    /// `at[k][j]`: position of loop axis `j` in operand `k`, or [`NONE`]; the output axes come first.
    pub at: [[u8; MAX_LOOPS]; N],
}

/// How many loop axes an einsum has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EinsumRanks {
    /// Number of output axes.
    pub out_rank: u8,
    /// Number of summed axes.
    pub sum_rank: u8,
}

/// Why an einsum cannot be planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EinsumFault {
    /// The output axis at this position is the same axis as an earlier one.
    OutputTwice(usize),
    /// The output axis at this position is in no operand.
    OutputNowhere(usize),
    /// There are more than [`MAX_LOOPS`] different axes, or the output has more than [`MAX_RANK`].
    TooManyAxes,
}

impl<const N: usize> EinsumPlan<N> {
    /// The plan for operands with the axes `ops` and a result with the axes `out`.
    ///
    /// # Panics
    /// For each [`EinsumFault`].
    pub const fn new(ops: [&[Key<'_>]; N], out: &[Key<'_>]) -> Self {
        let mut at = [[NONE; MAX_LOOPS]; N];
        match einsum(&ops, out, &mut at) {
            Ok(r) => EinsumPlan { out_rank: r.out_rank, sum_rank: r.sum_rank, at },
            Err(EinsumFault::OutputTwice(_)) => panic!("einsum: two output axes are the same axis"),
            Err(EinsumFault::OutputNowhere(_)) => panic!("einsum: an output axis is in no operand"),
            Err(EinsumFault::TooManyAxes) => {
                panic!("einsum: more than 32 different axes, or more than 16 in the output")
            }
        }
    }

    /// Number of loop axes.
    pub const fn loops(&self) -> usize {
        self.out_rank as usize + self.sum_rank as usize
    }

    /// The positions of the loop axes in each operand, as slices of [`Self::loops`] places.
    pub fn rows(&self) -> [&[u8]; N] {
        let n = self.loops();
        core::array::from_fn(|k| &self.at[k][..n])
    }
}

/// Plans a contraction of any number of operands into `at`, one row for each operand.
///
/// # Errors
/// When the output names an axis twice or one that no operand has, or when there are too many axes.
///
/// # Panics
/// When `at` does not have as many rows as there are operands.
pub const fn einsum(
    ops: &[&[Key<'_>]],
    out: &[Key<'_>],
    at: &mut [[u8; MAX_LOOPS]],
) -> Result<EinsumRanks, EinsumFault> {
    assert!(at.len() == ops.len(), "einsum: one row of positions for each operand");
    if out.len() > MAX_RANK {
        return Err(EinsumFault::TooManyAxes);
    }
    let mut k = 0;
    while k < ops.len() {
        at[k] = [NONE; MAX_LOOPS];
        k += 1;
    }
    let mut n = 0;
    while n < out.len() {
        if pos(out, &out[n]) as usize != n {
            return Err(EinsumFault::OutputTwice(n));
        }
        if !place(ops, &out[n], at, n) {
            return Err(EinsumFault::OutputNowhere(n));
        }
        n += 1;
    }
    let mut j = 0;
    while j < ops.len() {
        let mut i = 0;
        while i < ops[j].len() {
            let key = &ops[j][i];
            let mut new = pos(out, key) == NONE;
            let mut k = 0;
            while k < j {
                new &= pos(ops[k], key) == NONE;
                k += 1;
            }
            if new {
                if n == MAX_LOOPS {
                    return Err(EinsumFault::TooManyAxes);
                }
                place(ops, key, at, n);
                n += 1;
            }
            i += 1;
        }
        j += 1;
    }
    Ok(EinsumRanks { out_rank: out.len() as u8, sum_rank: (n - out.len()) as u8 })
}

/// Writes where `key` stands in each operand; is it in any?
const fn place(ops: &[&[Key<'_>]], key: &Key<'_>, at: &mut [[u8; MAX_LOOPS]], loop_axis: usize) -> bool {
    let (mut found, mut k) = (false, 0);
    while k < ops.len() {
        at[k][loop_axis] = pos(ops[k], key);
        found |= at[k][loop_axis] != NONE;
        k += 1;
    }
    found
}
