//! The checks at the door: they make the pointers of the drivers sound.

use super::{BatchDim, GemmFloat, MatMut, MatRef, Options};

/// Most batch loops of a product.
pub(super) const MAX_BATCH: usize = 16;

/// Panics unless all positions `offset + sum(i_d * stride_d)`, `i_d < size_d`, are below `len`.
fn inside(what: &str, len: usize, offset: usize, dims: impl Iterator<Item = (usize, isize)> + Clone) {
    if dims.clone().any(|(size, _)| size == 0) {
        return;
    }
    // Sizes and strides are below 2^64, sums of at most 18 products below 2^127 / 2: no overflow.
    let (mut low, mut high) = (offset as i128, offset as i128);
    for (size, stride) in dims {
        let reach = (size as i128 - 1) * stride as i128;
        if reach < 0 {
            low += reach;
        } else {
            high += reach;
        }
    }
    assert!(
        low >= 0 && high < len as i128,
        "matrix product: {what} reaches elements {low}..={high} of a slice of {len}"
    );
}

/// Panics unless distinct indices of C lie at distinct places. Sufficient, and met by every layout that a dense tensor's
/// axes can take: with the strides sorted, each is larger than all that the smaller ones reach together.
fn distinct(dims: impl Iterator<Item = (usize, isize)>) {
    let mut sorted = [(0u128, 0u128); MAX_BATCH + 2];
    let mut count = 0;
    for (size, stride) in dims {
        if size == 0 {
            return;
        }
        if size > 1 {
            sorted[count] = (stride.unsigned_abs() as u128, size as u128);
            count += 1;
        }
    }
    let sorted = &mut sorted[..count];
    sorted.sort_unstable();
    let mut reach = 0;
    for &mut (stride, size) in sorted {
        assert!(stride > reach, "matrix product: the strides of C make elements coincide");
        reach += stride * (size - 1);
    }
}

/// Everything that the drivers rely on, for `dims` batch loops; `m` is the number of rows of the product.
pub(super) fn check<T: GemmFloat>(
    dims: &[BatchDim],
    m: usize,
    a: &MatRef<T>,
    b: &MatRef<T>,
    c: &MatMut<T>,
    options: &Options<T>,
) {
    assert!(dims.len() <= MAX_BATCH, "matrix product: {} batch loops, at most {MAX_BATCH}", dims.len());
    assert!(
        a.cols == b.rows && c.rows == m && c.cols == b.cols,
        "matrix product: A is {} x {}, B is {} x {}, C is {} x {}",
        m,
        a.cols,
        b.rows,
        b.cols,
        c.rows,
        c.cols
    );
    if let Some(bias) = options.bias {
        assert!(bias.len() == c.cols, "matrix product: {} columns, a bias of {}", c.cols, bias.len());
    }
    let (sa, sb) = ([(a.rows, a.row_stride), (a.cols, a.col_stride)], [(b.rows, b.row_stride), (b.cols, b.col_stride)]);
    let sc = [(c.rows, c.row_stride), (c.cols, c.col_stride)];
    inside("A", a.data.len(), a.offset, sa.into_iter().chain(dims.iter().map(|d| (d.size, d.a_stride))));
    inside("B", b.data.len(), b.offset, sb.into_iter().chain(dims.iter().map(|d| (d.size, d.b_stride))));
    let dims_c = sc.into_iter().chain(dims.iter().map(|d| (d.size, d.c_stride)));
    inside("C", c.data.len(), c.offset, dims_c.clone());
    distinct(dims_c);
}
