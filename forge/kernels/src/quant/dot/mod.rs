//! Integer dot products of quantised weights with quantised activations.
//!
//! The sum over a block is an exact integer, whatever the order; what follows is single precision in one order, so that
//! every instruction set, every number of rows of activations and every number of threads gives the same bits:
//!
//! - short blocks, for each part of 32 in turn: `y = fma(d dx, sum, y)` and then, in a format with minima,
//!   `y = fma(m, dx sum_x, y)`;
//! - blocks of 256 in turn: `y = fma(d dx, sum, y)` and then, in a format with minima, `y = fma(-(dmin dx), sum_m, y)`.
//!
//! `d`, `m` and `dmin` are of the weights, `dx` is the scale of the activations, `sum` the sum of `s (code - zero) x`
//! with the integer scales `s` of the sixteenths, `sum_x` of `x`, `sum_m` of `m x`. Products in front of an `fma` are
//! rounded.

mod formats;
mod scalar;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86;

use super::activation::Activations;
use super::{Format, Matrix};
use crate::disjoint::Disjoint;
use crate::isa::{Isa, isa};
use crate::team;

/// Output rows that a kernel computes side by side.
pub(crate) const GROUP: usize = 8;

/// Rows of activations from which it pays to lay the weights side by side first.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const PANEL_FROM: usize = 4;

/// What a kernel works on: some rows of the weights and all rows of the activations.
pub(crate) struct Work<'a> {
    /// The rows of the weights by their bytes.
    pub(crate) rows: [&'a [u8]; GROUP],
    pub(crate) x: &'a Activations,
}

/// Computes `out[t][r]` for 8 rows and hands `(t, the values of the rows)` to its second argument.
type Kernel = fn(&Work<'_>, &mut dyn FnMut(usize, &[f32; GROUP]));

/// Elements of a block of activations for weights of this format; None when it has no integer kernel.
pub(crate) fn block(format: Format) -> Option<usize> {
    match format {
        Format::Q4_0
        | Format::Q4_1
        | Format::Q5_0
        | Format::Q5_1
        | Format::Q8_0
        | Format::IQ4_NL
        | Format::Q1_0
        | Format::Q2_0 => Some(32),
        Format::Q2_K | Format::Q3_K | Format::Q4_K | Format::Q5_K | Format::Q6_K | Format::IQ4_XS | Format::TQ2_0 => {
            Some(256)
        }
        _ => None,
    }
}

macro_rules! kernel {
    ($arm:ident, $format:expr) => {
        match $format {
            Format::Q4_0 => $arm::short::<formats::Q4_0>,
            Format::Q4_1 => $arm::short::<formats::Q4_1>,
            Format::Q5_0 => $arm::short::<formats::Q5_0>,
            Format::Q5_1 => $arm::short::<formats::Q5_1>,
            Format::Q8_0 => $arm::short::<formats::Q8_0>,
            Format::IQ4_NL => $arm::short::<formats::IQ4_NL>,
            Format::Q1_0 => $arm::short::<formats::Q1_0>,
            Format::Q2_0 => $arm::short::<formats::Q2_0>,
            Format::Q2_K => $arm::super_block::<formats::Q2_K>,
            Format::Q3_K => $arm::super_block::<formats::Q3_K>,
            Format::Q4_K => $arm::super_block::<formats::Q4_K>,
            Format::Q5_K => $arm::super_block::<formats::Q5_K>,
            Format::Q6_K => $arm::super_block::<formats::Q6_K>,
            Format::IQ4_XS => $arm::super_block::<formats::IQ4_XS>,
            Format::TQ2_0 => $arm::super_block::<formats::TQ2_0>,
            _ => unreachable!("the format has no integer kernel"),
        }
    };
}

fn kernel(format: Format) -> Kernel {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if isa() >= Isa::Avx2 {
        return kernel!(x86, format);
    }
    let _ = (isa(), Isa::Avx2);
    kernel!(scalar, format)
}

/// `out[t][r] = w[r] . x[t]`, `[x.rows, w.rows]`; the activations have the blocks that [`block`] names.
pub(crate) fn matmul(w: &Matrix<'_>, x: &Activations, out: &mut [f32]) {
    let (kernel, n) = (kernel(w.format()), w.rows());
    // A task is worth starting from about 2^17 products; more of them balance better.
    let groups = n.div_ceil(GROUP);
    let work = (GROUP * w.cols() * x.rows).max(1);
    let per_task = (1usize << 17).div_ceil(work).clamp(1, groups.div_ceil(8).max(1));
    let out = Disjoint::new(out);
    team::run(groups.div_ceil(per_task), |task| {
        for group in task * per_task..groups.min((task + 1) * per_task) {
            let first = group * GROUP;
            let count = GROUP.min(n - first);
            // The last group may be short; its last row stands for those that are not there.
            let rows: [&[u8]; GROUP] = std::array::from_fn(|r| w.row(first + r.min(count - 1)));
            kernel(&Work { rows, x }, &mut |t, y| {
                // SAFETY: each group of rows belongs to one task, and each `t` has places of its own.
                unsafe { out.range(t * n + first, count) }.copy_from_slice(&y[..count]);
            });
        }
    });
}
