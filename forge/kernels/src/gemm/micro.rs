//! The inner kernels, written once over [`Vector`]: register tile, skinny products, dot product, transposing pack.
//!
//! All of them compute an element of C by the same chain (see the [module](super) page): within a block of
//! [`KC`] the products are added in order of k to a sum that starts at zero; the sums of the blocks are added in order.

use super::GemmFloat;
use super::vector::{Transpose, Vector};
use std::hint::black_box;
use std::mem::MaybeUninit;

/// Length of a block of the contracted axis. Part of the definition of the result's bits, so one number for every
/// arm and dtype: a 6 x 16 tile's panels of it (6 KiB of A, 16 KiB of B in f32) live in the first-level cache.
pub(super) const KC: usize = 256;

/// One register tile of C over one block of k. `b` has unit column stride.
pub(super) struct Tile<T> {
    pub k: usize,
    pub a: *const T,
    pub ars: isize,
    pub acs: isize,
    pub b: *const T,
    pub brs: isize,
    pub c: *mut T,
    pub crs: isize,
    pub ccs: isize,
    /// Columns in use: the last register of a masked tile is partial.
    pub cols: usize,
    /// `C += A B` instead of `C = A B`.
    pub add: bool,
}

/// A compiled tile: number of rows and registers fixed.
///
/// # Safety
/// The CPU has the arm's instruction set; `a` is valid at `i * ars + p * acs` for each row `i` and `p < k`; `b` at
/// `p * brs + j` for `j < cols`; `c` likewise for writes, not aliased by another thread; `cols` fills all registers
/// but the last, which it fills exactly unless the tile is a masked one.
pub(super) type TileFn<T> = unsafe fn(&Tile<T>);

/// See [`TileFn`] for the contract.
#[inline(always)]
pub(super) unsafe fn tile<V: Vector, const R: usize, const N: usize, const MASKED: bool>(t: &Tile<V::Elem>) {
    // SAFETY: the contract of `TileFn` covers each access: rows `0..R` of A at `p < k`, columns `0..cols` of B and C;
    // the partial register is read by a masked load and written element by element.
    unsafe {
        let mask = V::mask(t.cols - (N - 1) * V::LANES);
        let mut acc = [[V::splat(V::Elem::default()); N]; R];
        // A pointer for each three rows, whose distance the compiler must not know: it would walk from row to row by
        // additions, and that chain, a cycle a row, would be as long as the multiply-adds take.
        let three = if R > 3 { black_box(3 * t.ars) } else { 0 };
        let mut a: [_; BASES] = core::array::from_fn(|g| t.a.wrapping_offset(g as isize * three));
        let mut b = t.b;
        for _ in 0..t.k {
            step::<V, R, N, MASKED>(&mut acc, &a, t.ars, b, mask);
            for a in a.iter_mut().take(R.div_ceil(3)) {
                *a = a.wrapping_offset(t.acs);
            }
            b = b.wrapping_offset(t.brs);
        }
        if t.ccs == 1 && (!MASKED || t.cols == N * V::LANES) {
            for (i, row) in acc.iter().enumerate() {
                put(row, t.c.offset(i as isize * t.crs), t.add);
            }
        } else {
            let mut spill = [const { MaybeUninit::<V::Elem>::uninit() }; SPILL];
            for (i, row) in acc.iter().enumerate() {
                put(row, spill.as_mut_ptr().cast::<V::Elem>().add(i * N * V::LANES), false);
            }
            let cols = if MASKED { t.cols } else { N * V::LANES };
            scatter(spill.as_ptr().cast(), N * V::LANES, R, cols, t.c, t.crs, t.ccs, t.add);
        }
    }
}

/// Pointers to every third row of the tallest tile.
const BASES: usize = 4;
/// Elements of the largest tile: 12 x 2 registers of 16.
const SPILL: usize = 384;

/// One value of k; `a` points to every third row.
///
/// # Safety
/// As for [`tile`], at one value of k.
#[inline(always)]
unsafe fn step<V: Vector, const R: usize, const N: usize, const MASKED: bool>(
    acc: &mut [[V; N]; R],
    a: &[*const V::Elem; BASES],
    ars: isize,
    b: *const V::Elem,
    mask: V::Mask,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let zero = V::splat(V::Elem::default());
        if R < N {
            // The rows' values stay in registers, those of B pass by.
            let mut x = [zero; R];
            for i in 0..R {
                x[i] = V::splat(*a[i / 3].offset((i % 3) as isize * ars));
            }
            for v in 0..N {
                let p = b.add(v * V::LANES);
                let y = if MASKED && v == N - 1 { V::load_masked(p, mask) } else { V::load(p) };
                for i in 0..R {
                    acc[i][v] = x[i].mul_add(y, acc[i][v]);
                }
            }
            return;
        }
        let mut y = [zero; N];
        for v in 0..N {
            let p = b.add(v * V::LANES);
            y[v] = if MASKED && v == N - 1 { V::load_masked(p, mask) } else { V::load(p) };
        }
        for i in 0..R {
            let x = V::splat(*a[i / 3].offset((i % 3) as isize * ars));
            for v in 0..N {
                acc[i][v] = x.mul_add(y[v], acc[i][v]);
            }
        }
    }
}

/// Writes a row of registers to contiguous memory, or adds it.
///
/// # Safety
/// `N * LANES` elements at `c` are valid.
#[inline(always)]
unsafe fn put<V: Vector, const N: usize>(row: &[V; N], c: *mut V::Elem, add: bool) {
    for (v, &x) in row.iter().enumerate() {
        // SAFETY: the caller's contract.
        unsafe {
            let p = c.add(v * V::LANES);
            let x = if add { V::load(p).add(x) } else { x };
            x.store(p);
        }
    }
}

/// Writes a spilled tile (`width` to a row) to its place in C, or adds it. Out of line: one copy serves every tile.
///
/// # Safety
/// `spill` holds `rows` rows of `width >= cols` elements; `c + i * crs + j * ccs` is valid for `i < rows`, `j < cols`.
#[inline(never)]
unsafe fn scatter<T: GemmFloat>(
    spill: *const T,
    width: usize,
    rows: usize,
    cols: usize,
    c: *mut T,
    crs: isize,
    ccs: isize,
    add: bool,
) {
    // SAFETY: the caller's contract.
    let at = |i: usize, j: usize| unsafe { (*spill.add(i * width + j), c.offset(i as isize * crs + j as isize * ccs)) };
    let one = |i: usize, j: usize| {
        let (x, p) = at(i, j);
        // SAFETY: an element of C (the caller's contract).
        unsafe { *p = if add { *p + x } else { x } };
    };
    if ccs.unsigned_abs() <= crs.unsigned_abs() {
        (0..rows).for_each(|i| (0..cols).for_each(|j| one(i, j)));
    } else {
        (0..cols).for_each(|j| (0..rows).for_each(|i| one(i, j)));
    }
}

/// A product of few rows: A is `M x k`, C is `M x n`. What the strides of B are is each kernel's matter.
pub(super) struct Skinny<T> {
    pub n: usize,
    pub k: usize,
    pub a: *const T,
    pub ars: isize,
    pub acs: isize,
    pub b: *const T,
    /// Distance of the runs of B that are contiguous.
    pub ld: isize,
    pub c: *mut T,
    pub crs: isize,
    pub ccs: isize,
    pub add: bool,
    /// `M * SKINNY_COLS` elements, for [`skinny_rows`] alone.
    pub sums: *mut T,
}

/// A compiled skinny kernel.
///
/// # Safety
/// The CPU has the arm's instruction set; A, B, C and `sums` are valid over the stated sizes, C and `sums` for writes
/// and not aliased by another thread.
pub(super) type SkinnyFn<T> = unsafe fn(&Skinny<T>);

/// Columns whose running sums [`skinny_rows`] keeps in the first-level cache.
pub(super) const SKINNY_COLS: usize = 1024;

/// Skinny product with a row-major B: its rows are streamed eight at a time, each as one long run, while the sums of
/// the block wait in cache. A column-tiled walk would read a few lines of every page instead. `n` must be a multiple of `LANES`.
///
/// See [`SkinnyFn`] for the contract.
#[inline(always)]
pub(super) unsafe fn skinny_rows<V: Vector, const M: usize>(s: &Skinny<V::Elem>) {
    const STEP: usize = 8;
    let mut j0 = 0;
    while j0 < s.n {
        let cols = (s.n - j0).min(SKINNY_COLS);
        let mut p0 = 0;
        while p0 < s.k {
            let kc = (s.k - p0).min(KC);
            let mut p = 0;
            while p < kc {
                let rows = (kc - p).min(STEP);
                // SAFETY: rows `p0 + p ..` of `rows` and columns `j0..j0 + cols` lie inside A, B; `sums` holds
                // `SKINNY_COLS >= cols` elements for each of the `M` rows.
                unsafe {
                    let a = s.a.offset((p0 + p) as isize * s.acs);
                    let b = s.b.offset((p0 + p) as isize * s.ld).add(j0);
                    if rows == STEP {
                        stream::<V, M, STEP>(s, a, b, cols, p == 0);
                    } else {
                        for q in 0..rows {
                            let (a, b) = (a.offset(q as isize * s.acs), b.offset(q as isize * s.ld));
                            stream::<V, M, 1>(s, a, b, cols, p + q == 0);
                        }
                    }
                }
                p += rows;
            }
            for i in 0..M {
                for j in 0..cols {
                    // SAFETY: column `j0 + j < n` of C, element `j < SKINNY_COLS` of the sums of row `i`.
                    unsafe {
                        let c = s.c.offset(i as isize * s.crs + (j0 + j) as isize * s.ccs);
                        let x = *s.sums.add(i * SKINNY_COLS + j);
                        *c = if s.add || p0 > 0 { *c + x } else { x };
                    }
                }
            }
            p0 += kc;
        }
        j0 += cols;
    }
}

/// Adds `P` rows of B to the sums of `cols` columns; `fresh` sums start at zero.
///
/// # Safety
/// `a` is valid for `M` rows and `P` columns, `b` for `P` runs of `cols`, the sums for `M` rows of `cols`; `cols` is a
/// multiple of `LANES`.
#[inline(always)]
unsafe fn stream<V: Vector, const M: usize, const P: usize>(
    s: &Skinny<V::Elem>,
    a: *const V::Elem,
    b: *const V::Elem,
    cols: usize,
    fresh: bool,
) {
    let zero = V::Elem::default();
    // SAFETY: the caller's contract; `cols` is a multiple of `LANES`.
    unsafe {
        let mut x = [[V::splat(zero); P]; M];
        for i in 0..M {
            for q in 0..P {
                x[i][q] = V::splat(*a.offset(i as isize * s.ars + q as isize * s.acs));
            }
        }
        let mut j = 0;
        while j < cols {
            let sums = s.sums.add(j);
            let mut acc = [V::splat(zero); M];
            for i in 0..M {
                acc[i] = if fresh { V::splat(zero) } else { V::load(sums.add(i * SKINNY_COLS)) };
            }
            for q in 0..P {
                let y = V::load(b.offset(q as isize * s.ld).add(j));
                for i in 0..M {
                    acc[i] = x[i][q].mul_add(y, acc[i]);
                }
            }
            for i in 0..M {
                acc[i].store(sums.add(i * SKINNY_COLS));
            }
            j += V::LANES;
        }
    }
}

/// Skinny product with a column-major B (weights stored `[out, in]`): square blocks are transposed in registers, so
/// that each output keeps its own lane and its own chain. `n` must be a multiple of `G * LANES`.
///
/// See [`SkinnyFn`] for the contract.
#[inline(always)]
pub(super) unsafe fn skinny_cols<V: Transpose, const M: usize, const G: usize>(s: &Skinny<V::Elem>) {
    let mut j = 0;
    while j < s.n {
        // SAFETY: `n` is a multiple of `G * LANES`, so columns `j..j + G * LANES` exist.
        unsafe { columns::<V, M, G>(s, j) };
        j += G * V::LANES;
    }
}

/// `G` registers of columns from column `j` on.
///
/// # Safety
/// As for [`skinny_cols`]; columns `j..j + G * LANES` exist.
#[inline(always)]
unsafe fn columns<V: Transpose, const M: usize, const G: usize>(s: &Skinny<V::Elem>, j: usize) {
    let zero = V::Elem::default();
    let mut p0 = 0;
    while p0 < s.k {
        let kc = (s.k - p0).min(KC);
        let whole = kc / V::LANES * V::LANES;
        // SAFETY: columns are the caller's contract; `p0 + p + q < p0 + kc <= k` for the square blocks (`p < whole`)
        // and for the rest.
        unsafe {
            let mut acc = [[V::splat(zero); G]; M];
            let mut p = 0;
            while p < whole {
                let a = s.a.offset((p0 + p) as isize * s.acs);
                for g in 0..G {
                    let y = V::load_transposed(s.b.offset((j + g * V::LANES) as isize * s.ld).add(p0 + p), s.ld);
                    for q in 0..V::LANES {
                        for i in 0..M {
                            let x = V::splat(*a.offset(i as isize * s.ars + q as isize * s.acs));
                            acc[i][g] = x.mul_add(y[q], acc[i][g]);
                        }
                    }
                }
                p += V::LANES;
            }
            while p < kc {
                let a = s.a.offset((p0 + p) as isize * s.acs);
                for g in 0..G {
                    let mut lanes = [zero; 16];
                    for (l, x) in lanes.iter_mut().enumerate().take(V::LANES) {
                        *x = *s.b.offset((j + g * V::LANES + l) as isize * s.ld).add(p0 + p);
                    }
                    let y = V::load(lanes.as_ptr());
                    for i in 0..M {
                        acc[i][g] = V::splat(*a.offset(i as isize * s.ars)).mul_add(y, acc[i][g]);
                    }
                }
                p += 1;
            }
            let mut spill = [const { MaybeUninit::<V::Elem>::uninit() }; SPILL];
            let width = G * V::LANES;
            for (i, row) in acc.iter().enumerate() {
                put(row, spill.as_mut_ptr().cast::<V::Elem>().add(i * width), false);
            }
            let c = s.c.offset(j as isize * s.ccs);
            scatter(spill.as_ptr().cast(), width, M, width, c, s.crs, s.ccs, s.add || p0 > 0);
        }
        p0 += kc;
    }
}

/// A vector of `k` elements with a stride.
pub(super) type Run<T> = (*const T, isize);

/// A compiled dot product: `(k, a, b, start)`, the blocks' sums added to `start`, or to nothing.
///
/// # Safety
/// The CPU has the arm's instruction set; both runs are valid for `k` elements.
pub(super) type DotFn<T> = unsafe fn(usize, Run<T>, Run<T>, Option<T>) -> T;

/// A single element of C. Its blocks are independent chains, so a register's worth of them run side by side.
///
/// See [`DotFn`] for the contract.
#[inline(always)]
pub(super) unsafe fn dot<V: Transpose>(k: usize, a: Run<V::Elem>, b: Run<V::Elem>, start: Option<V::Elem>) -> V::Elem {
    let zero = V::Elem::default();
    let mut total = start;
    let mut p0 = 0;
    if a.1 == 1 && b.1 == 1 {
        while p0 + V::LANES * KC <= k {
            let mut sums = [zero; 16];
            // SAFETY: elements `p0..p0 + LANES * KC` exist; block `l` of them starts at `p0 + l * KC`.
            unsafe {
                let mut acc = V::splat(zero);
                for p in (p0..p0 + KC).step_by(V::LANES) {
                    let x = V::load_transposed(a.0.add(p), KC as isize);
                    let y = V::load_transposed(b.0.add(p), KC as isize);
                    for q in 0..V::LANES {
                        acc = x[q].mul_add(y[q], acc);
                    }
                }
                acc.store(sums.as_mut_ptr());
            }
            for &sum in &sums[..V::LANES] {
                total = Some(total.map_or(sum, |t| t + sum));
            }
            p0 += V::LANES * KC;
        }
    }
    while p0 < k {
        let mut sum = zero;
        for at in p0..(p0 + KC).min(k) {
            // SAFETY: `at < k`.
            let (x, y) = unsafe { (*a.0.offset(at as isize * a.1), *b.0.offset(at as isize * b.1)) };
            sum = V::mul_add_one(x, y, sum);
        }
        total = Some(total.map_or(sum, |t| t + sum));
        p0 += KC;
    }
    total.unwrap_or(zero)
}

/// Packs `cols` columns of a column-major B (`p` contiguous) to rows: `dst[p * width + j] = b[j * ld + p]`.
pub(super) struct PackColumns<T> {
    pub k: usize,
    pub cols: usize,
    pub b: *const T,
    pub ld: isize,
    pub dst: *mut T,
    pub width: usize,
}

/// A compiled transposing pack.
///
/// # Safety
/// The CPU has the arm's instruction set; `cols <= width`; B is valid for `cols` runs of `k`, `dst` for `k * width`
/// elements.
pub(super) type PackColumnsFn<T> = unsafe fn(&PackColumns<T>);

/// See [`PackColumnsFn`] for the contract.
#[inline(always)]
pub(super) unsafe fn pack_columns<V: Transpose>(s: &PackColumns<V::Elem>) {
    let whole_k = s.k / V::LANES * V::LANES;
    let whole_cols = s.cols / V::LANES * V::LANES;
    // SAFETY: square blocks lie inside `whole_k x whole_cols`; the other loops cover the rest of `k x cols`, each
    // element inside B and, as `cols <= width`, inside `dst`.
    unsafe {
        for j in (0..whole_cols).step_by(V::LANES) {
            for p in (0..whole_k).step_by(V::LANES) {
                let y = V::load_transposed(s.b.offset(j as isize * s.ld).add(p), s.ld);
                for q in 0..V::LANES {
                    y[q].store(s.dst.add((p + q) * s.width + j));
                }
            }
            for p in whole_k..s.k {
                for l in j..j + V::LANES {
                    *s.dst.add(p * s.width + l) = *s.b.offset(l as isize * s.ld).add(p);
                }
            }
        }
        for j in whole_cols..s.cols {
            for p in 0..s.k {
                *s.dst.add(p * s.width + j) = *s.b.offset(j as isize * s.ld).add(p);
            }
        }
    }
}
