//! Reductions of strided input to dense output, in one fixed order whatever the number of threads.
//!
//! Every kernel sees its input as *kept* axes followed by *lane* axes: an output element is made of the lane at its
//! place. [`fold`](self) walks memory in the direction in which it is dense, whichever axes are reduced.

mod arg;
mod fold;
mod folds;
mod pick;

pub use arg::{argmax, argmin};
pub use folds::{
    Accumulate, Bounded, all, any, log_sum_exp, max, max_abs, min, prod, squared_deviations, sum, sum_abs, sum_squares,
};
pub use pick::{pick, put};

use crate::layout::{Layout, MAX_RANK};

/// Offset of the element at linear position `i` of a layout.
pub(crate) fn offset(l: &Layout, mut i: usize) -> isize {
    let mut at = 0;
    for a in (0..l.rank()).rev() {
        let d = l.shape()[a];
        at += (i % d) as isize * l.strides()[a];
        i /= d;
    }
    at
}

/// Calls `f(done, offset, stride, count)` for the pieces of the innermost axis that cover elements `start..start + len`
/// of a layout in row-major order; `done` counts the elements before the piece.
///
/// The walk is compiled once: a piece is long enough to pay for the call.
pub(crate) fn runs(l: &Layout, start: usize, len: usize, f: &mut dyn FnMut(usize, isize, isize, usize)) {
    if len == 0 {
        return;
    }
    let r = l.rank();
    if r == 0 {
        return f(0, 0, 1, 1);
    }
    let (inner, step) = (l.shape()[r - 1], l.strides()[r - 1]);
    let mut index = [0usize; MAX_RANK];
    let mut rest = start;
    let mut row = 0isize;
    for a in (0..r).rev() {
        index[a] = rest % l.shape()[a];
        rest /= l.shape()[a];
        if a + 1 < r {
            row += index[a] as isize * l.strides()[a];
        }
    }
    let mut first = index[r - 1];
    let mut done = 0;
    loop {
        let n = (inner - first).min(len - done);
        f(done, row + first as isize * step, step, n);
        done += n;
        first = 0;
        if done == len {
            return;
        }
        let mut a = r - 1;
        loop {
            a -= 1;
            index[a] += 1;
            row += l.strides()[a];
            if index[a] < l.shape()[a] {
                break;
            }
            row -= l.strides()[a] * l.shape()[a] as isize;
            index[a] = 0;
        }
    }
}
