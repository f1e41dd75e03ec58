//! Copies of strided blocks into the order that the tiles read.

use super::GemmFloat;

/// `dst[i * width + j] = src[i * rs + j * cs]` for `i < rows`, `j < cols`.
///
/// # Safety
/// The elements of `src` are valid for reads, `rows * width` elements at `dst` for writes, and they do not overlap;
/// `cols <= width`.
pub(super) unsafe fn rows<T: GemmFloat>(
    src: *const T,
    rs: isize,
    cs: isize,
    rows: usize,
    cols: usize,
    dst: *mut T,
    width: usize,
) {
    // SAFETY: `i < rows`, `j < cols <= width`.
    unsafe {
        if cs != 1 {
            for i in 0..rows {
                for j in 0..cols {
                    *dst.add(i * width + j) = *src.offset(i as isize * rs + j as isize * cs);
                }
            }
            return;
        }
        // Constant lengths become a few register moves.
        match cols {
            1 => copy::<T, 1>(src, rs, rows, dst, width),
            2 => copy::<T, 2>(src, rs, rows, dst, width),
            3 => copy::<T, 3>(src, rs, rows, dst, width),
            4 => copy::<T, 4>(src, rs, rows, dst, width),
            5 => copy::<T, 5>(src, rs, rows, dst, width),
            6 => copy::<T, 6>(src, rs, rows, dst, width),
            7 => copy::<T, 7>(src, rs, rows, dst, width),
            8 => copy::<T, 8>(src, rs, rows, dst, width),
            10 => copy::<T, 10>(src, rs, rows, dst, width),
            11 => copy::<T, 11>(src, rs, rows, dst, width),
            12 => copy::<T, 12>(src, rs, rows, dst, width),
            16 => copy::<T, 16>(src, rs, rows, dst, width),
            32 => copy::<T, 32>(src, rs, rows, dst, width),
            _ => {
                for i in 0..rows {
                    core::ptr::copy_nonoverlapping(src.offset(i as isize * rs), dst.add(i * width), cols);
                }
            }
        }
    }
}

/// # Safety
/// As for [`rows`], with `cols == N` and `cs == 1`.
unsafe fn copy<T: GemmFloat, const N: usize>(src: *const T, rs: isize, rows: usize, dst: *mut T, width: usize) {
    for i in 0..rows {
        // SAFETY: row `i` of the caller's block; an array has the alignment of its elements.
        unsafe { *dst.add(i * width).cast::<[T; N]>() = *src.offset(i as isize * rs).cast::<[T; N]>() };
    }
}

/// Rows of a block that [`panels`] copies before it moves on to the next panel.
const STEP: usize = 4;

/// Packs a block whose columns are contiguous, `k` rows `rs` apart, into panels: `(first column, columns, width of a
/// packed row)` each; a panel lies at `dst + k * first column`. The rows are read in long runs.
///
/// # Safety
/// As for [`rows`], for each panel.
pub(super) unsafe fn panels<T: GemmFloat>(
    src: *const T,
    rs: isize,
    k: usize,
    dst: *mut T,
    panels: impl Iterator<Item = (usize, usize, usize)> + Clone,
) {
    for p in (0..k).step_by(STEP) {
        let count = (k - p).min(STEP);
        let src = src.wrapping_offset(p as isize * rs);
        for (j, cols, width) in panels.clone() {
            // SAFETY: rows `p..p + count` of the panel.
            unsafe { rows(src.wrapping_add(j), rs, 1, count, cols, dst.wrapping_add(k * j + p * width), width) };
        }
    }
}
