//! The checks at the door: they make the pointers of the drivers sound.

use super::{BatchDim, GemmFloat, MatMut, MatRef, Options};

/// Most batch loops of a product.
pub(super) const MAX_BATCH: usize = 16;

/// Panics unless all positions `offset + sum(i_d * stride_d)`, `i_d < size_d`, are below `len`.
#[inline]
fn inside(
    what: &str,
    len: usize,
    offset: usize,
    matrix: [(usize, isize); 2],
    dims: impl Iterator<Item = (usize, isize)>,
) {
    // Lowest and highest position; `None` when it is beyond any slice.
    let mut ends = Some((offset as isize, offset as isize));
    for (size, stride) in matrix.into_iter().chain(dims) {
        if size == 0 {
            return;
        }
        ends = ends.and_then(|(low, high)| {
            let reach = isize::try_from(size - 1).ok()?.checked_mul(stride)?;
            if reach < 0 { Some((low.checked_add(reach)?, high)) } else { Some((low, high.checked_add(reach)?)) }
        });
    }
    match ends {
        Some((low, high)) if low >= 0 && (high as usize) < len => {}
        Some((low, high)) => panic!("matrix product: {what} reaches elements {low}..={high} of a slice of {len}"),
        None => panic!("matrix product: {what} reaches outside of the address space"),
    }
}

/// Panics unless distinct indices of C lie at distinct places. Sufficient, and met by every layout that a dense tensor's
/// axes can take: with the strides sorted, each is larger than all that the smaller ones reach together.
#[inline]
fn distinct(matrix: [(usize, isize); 2], dims: &[BatchDim]) {
    // Reaches are inside a slice (`inside` came first), so their sums do not overflow.
    if dims.is_empty() {
        let [(m, rs), (n, cs)] = matrix.map(|(size, stride)| (size, stride.unsigned_abs()));
        let apart = |size: usize, stride: usize, smaller: usize, reach: usize| {
            size <= 1 || stride > if smaller > 1 { reach * (smaller - 1) } else { 0 }
        };
        let fine = if rs >= cs {
            apart(m, rs, n, cs) && apart(n, cs, 1, 0)
        } else {
            apart(n, cs, m, rs) && apart(m, rs, 1, 0)
        };
        assert!(fine || m == 0 || n == 0, "{COINCIDE}");
        return;
    }
    let mut sorted = [(0, 0); MAX_BATCH + 2];
    let mut count = 0;
    for (size, stride) in matrix.into_iter().chain(dims.iter().map(|d| (d.size, d.c_stride))) {
        if size == 0 {
            return;
        }
        if size > 1 {
            sorted[count] = (stride.unsigned_abs(), size);
            count += 1;
        }
    }
    let sorted = &mut sorted[..count];
    sorted.sort_unstable();
    let mut reach = 0;
    for &mut (stride, size) in sorted {
        assert!(stride > reach, "{COINCIDE}");
        reach += stride * (size - 1);
    }
}

const COINCIDE: &str = "matrix product: the strides of C make elements coincide";

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
    // A message that names what is out of place is the caller's best help, so each operand has its own.
    inside("A", a.data.len(), a.offset, sa, dims.iter().map(|d| (d.size, d.a_stride)));
    inside("B", b.data.len(), b.offset, sb, dims.iter().map(|d| (d.size, d.b_stride)));
    inside("C", c.data.len(), c.offset, sc, dims.iter().map(|d| (d.size, d.c_stride)));
    distinct(sc, dims);
}

/// The door refuses what would read or write out of bounds, or write one place twice.
#[cfg(test)]
mod tests {
    use super::super::{BatchDim, MatMut, MatRef, Options, gemm, gemm_batched, gemm_grouped, gemm_routed};

    const DATA: [f32; 12] = [1.0; 12];

    fn product(a: MatRef<f32>, b: MatRef<f32>, change: impl Fn(&mut MatMut<f32>)) {
        let mut out = [0.0; 12];
        let mut c = MatMut::row_major(&mut out, 3, 4);
        change(&mut c);
        gemm(a, b, c, &Options::default());
    }
    fn a() -> MatRef<'static, f32> {
        MatRef::row_major(&DATA, 3, 2)
    }
    fn b() -> MatRef<'static, f32> {
        MatRef::row_major(&DATA, 2, 4)
    }

    #[test]
    fn the_unchanged_product_is_fine() {
        product(a(), b(), |_| ());
    }
    #[test]
    #[should_panic(expected = "A is 3 x 2, B is 4 x 2")]
    fn sizes_that_differ() {
        product(a(), b().t(), |_| ());
    }
    #[test]
    #[should_panic(expected = "A reaches elements 0..=12 of a slice of 12")]
    fn a_behind_its_end() {
        product(MatRef { row_stride: 4, col_stride: 4, ..a() }, b(), |_| ());
    }
    #[test]
    #[should_panic(expected = "B reaches elements -3..=4")]
    fn b_before_its_start() {
        product(a(), MatRef { col_stride: -1, ..b() }, |_| ());
    }
    #[test]
    #[should_panic(expected = "outside of the address space")]
    fn strides_that_overflow() {
        product(MatRef { row_stride: isize::MAX, ..a() }, b(), |_| ());
    }
    #[test]
    #[should_panic(expected = "C reaches elements 1..=12")]
    fn c_behind_its_end() {
        product(a(), b(), |c| c.offset = 1);
    }
    #[test]
    #[should_panic(expected = "the strides of C make elements coincide")]
    fn rows_of_c_that_overlap() {
        product(a(), b(), |c| c.row_stride = 3);
    }
    #[test]
    #[should_panic(expected = "the strides of C make elements coincide")]
    fn a_broadcast_c() {
        product(a(), b(), |c| c.col_stride = 0);
    }
    #[test]
    #[should_panic(expected = "the strides of C make elements coincide")]
    fn batches_of_c_that_overlap() {
        let mut out = [0.0; 24];
        let dims = [BatchDim { size: 2, a_stride: 0, b_stride: 0, c_stride: 11 }];
        gemm_batched(&dims, a(), b(), MatMut::row_major(&mut out, 3, 4), &Options::default());
    }
    #[test]
    #[should_panic(expected = "4 columns, a bias of 3")]
    fn a_bias_of_another_length() {
        let mut out = [0.0; 12];
        let options = Options { bias: Some(&DATA[..3]), ..Options::default() };
        gemm(a(), b(), MatMut::row_major(&mut out, 3, 4), &options);
    }
    #[test]
    #[should_panic(expected = "the offsets must ascend from 0 to the number of rows, 3")]
    fn groups_that_leave_rows() {
        let mut out = [0.0; 12];
        gemm_grouped(&[0, 2], a(), |_| b(), MatMut::row_major(&mut out, 3, 4), &Options::default());
    }
    #[test]
    #[should_panic(expected = "row 3 of an A of 3 rows")]
    fn a_route_to_no_row() {
        let mut out = [0.0; 12];
        let c = MatMut::row_major(&mut out, 3, 4);
        gemm_routed(&[0, 3], &[0, 3, 1], a(), |_| b(), c, &Options::default());
    }
}
