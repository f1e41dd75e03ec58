//! Products in single precision: plain number types, and any format after decoding.
//!
//! Element `k` of a row is added to sum `k mod 8` by a fused multiply-add, in the order of `k`; the last step is filled
//! with zeros. The eight sums `a` end as `((a0 + a4) + (a2 + a6)) + ((a1 + a5) + (a3 + a7))`. One order for every number
//! of rows, so a batch gives the bits of its rows one by one, and for every instruction set.

mod scalar;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) mod x86;

use super::{Format, Matrix, decode};
use crate::disjoint::Disjoint;
use crate::isa::{Isa, isa};
use crate::scratch::Scratch;
use crate::team;

/// Sums of a row.
const LANES: usize = 8;
/// Rows of weights that are decoded together, and that a kernel computes side by side.
const ROWS: usize = 8;
/// Rows of activations from which weights of half the size are worth decoding ahead.
const PANEL_FROM: usize = 3;

/// Products of `ROWS` rows of weights, each at `w[r]`, with rows of `cols` activations.
pub(crate) struct Work<'a> {
    w: [&'a [u8]; ROWS],
    x: &'a [f32],
    cols: usize,
}

/// Calls its second argument with `(t, the values of the rows)` for every row of activations.
type Kernel = fn(&Work<'_>, &mut dyn FnMut(usize, &[f32; ROWS]));

/// The kernel that reads weights of `format`, one of `F32`, `F16` and `BF16`.
fn kernel(format: Format) -> Kernel {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if isa() >= Isa::Avx2 {
        return match format {
            Format::F32 => x86::products::<x86::F32>,
            Format::F16 => x86::products::<x86::F16>,
            _ => x86::products::<x86::BF16>,
        };
    }
    let _ = (isa(), Isa::Avx2);
    match format {
        Format::F32 => scalar::products_f32,
        Format::F16 => scalar::products_f16,
        _ => scalar::products_bf16,
    }
}

/// `out[t][r] = w[r] . x[t]`.
pub(crate) fn matmul(w: &Matrix<'_>, x: &[f32], out: &mut [f32]) {
    let (n, cols) = (w.rows(), w.cols());
    let m = x.len() / cols;
    let direct = match w.format() {
        // The decoded form is the one that is stored.
        Format::F32 => cfg!(target_endian = "little"),
        Format::F16 | Format::BF16 => m < PANEL_FROM,
        _ => false,
    };
    let kernel = kernel(if direct { w.format() } else { Format::F32 });
    let decode = decode::rows(w.format());
    let groups = n.div_ceil(ROWS);
    let per_task = (1usize << 16).div_ceil((ROWS * cols * m).max(1)).clamp(1, groups.div_ceil(8).max(1));
    let out = Disjoint::new(out);
    team::run(groups.div_ceil(per_task), |task| {
        let mut panel = Scratch::<f32>::new(if direct { 0 } else { ROWS * cols });
        for group in task * per_task..groups.min((task + 1) * per_task) {
            let first = group * ROWS;
            let count = ROWS.min(n - first);
            // The last group may be short; its last row stands for those that are not there.
            let stored: [&[u8]; ROWS] = std::array::from_fn(|r| w.row(first + r.min(count - 1)));
            let rows = if direct {
                stored
            } else {
                for (row, to) in stored.iter().zip(panel.chunks_exact_mut(cols)) {
                    decode(row, to);
                }
                let bytes = bytes(&panel);
                std::array::from_fn(|r| &bytes[r * 4 * cols..][..4 * cols])
            };
            kernel(&Work { w: rows, x, cols }, &mut |t, y| {
                // SAFETY: each group of rows belongs to one task, and each row of `x` has places of its own.
                unsafe { out.range(t * n + first, count) }.copy_from_slice(&y[..count]);
            });
        }
    });
}

/// Numbers as the bytes that hold them.
fn bytes(x: &[f32]) -> &[u8] {
    // SAFETY: a number is four bytes without padding, bytes have no alignment and any pattern, and the borrow is the same.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), 4 * x.len()) }
}
