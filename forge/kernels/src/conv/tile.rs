//! The inner kernels, written once over [`Vector`], and the table of them for each instruction set.
//!
//! A tile is a few rows by a few registers of outputs. Each output is one chain of multiply-adds, over the segments in
//! their order and over the steps of each segment, from the start value on. The chain is the same in a tile of any
//! size, which is why no output depends on how many rows there are.

use crate::gemm::GemmFloat;
use crate::gemm::vector::{Lanes, Vector};
use crate::isa::Isa;
use std::ops::AddAssign;

/// A run of steps of the contracted index: offsets of its first step from the bases of A and B.
#[derive(Clone, Copy, Default)]
pub(super) struct Seg {
    pub a: isize,
    pub b: isize,
    pub len: usize,
}

/// One tile. Row `i`, column `j` of C is the start value plus the sum over all steps of
/// `A[seg.a + i * a_row + step * a_step] * B[seg.b + step * b_step + j]`; in a deep tile A is read at `+ j` too.
pub(super) struct Tile<'s, T> {
    pub segs: &'s [Seg],
    pub a: *const T,
    pub a_row: isize,
    pub a_step: isize,
    pub b: *const T,
    pub b_step: isize,
    pub c: *mut T,
    pub c_row: isize,
    /// Start values, one for each column; null is zero. May be C itself.
    pub init: *const T,
    pub init_row: isize,
    /// Columns in use; only a masked tile may have fewer than its registers hold.
    pub cols: usize,
}

/// A compiled tile.
///
/// # Safety
/// The CPU has the arm's instruction set. All elements of A, B and the start values that the sizes name are valid for
/// reads, those of C for writes, and no other thread touches those of C. `cols` fills the registers, except that a
/// masked tile's may be anything from 1 on.
pub(super) type TileFn<T> = unsafe fn(&Tile<T>);

/// A tile of `rows` rows.
#[derive(Clone, Copy)]
pub(super) struct Rows<T: 'static> {
    pub rows: usize,
    pub run: TileFn<T>,
}

/// Tiles of one width, from the highest; the last has one row.
pub(super) type Column<T> = &'static [Rows<T>];

/// Every tile of one instruction set and dtype.
pub(super) struct Kernel<T: 'static> {
    /// Elements of a register.
    pub lanes: usize,
    /// Two registers wide, one, and part of one: A is one number for a row.
    dense: [Column<T>; 3],
    /// The same widths: A is a number for each column.
    deep: [Column<T>; 3],
    /// One row of four registers: a deep tile for long sums.
    deep_long: Column<T>,
}

impl<T> Kernel<T> {
    /// Width and tiles for the next of `left` columns.
    pub fn dense(&self, left: usize) -> (usize, Column<T>) {
        self.pick(left, &self.dense)
    }

    /// [`Self::dense`] for deep tiles.
    pub fn deep(&self, left: usize) -> (usize, Column<T>) {
        self.pick(left, &self.deep)
    }

    fn pick(&self, left: usize, columns: &[Column<T>; 3]) -> (usize, Column<T>) {
        match left / self.lanes {
            0 => (left, columns[2]),
            1 => (self.lanes, columns[1]),
            _ => (2 * self.lanes, columns[0]),
        }
    }

    /// [`Self::deep`] for sums of many steps over one row.
    pub fn deep_long(&self, left: usize) -> (usize, Column<T>) {
        if left < 4 * self.lanes { self.deep(left) } else { (4 * self.lanes, self.deep_long) }
    }
}

/// See [`TileFn`] for the contract.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize, const N: usize, const MASKED: bool, const DEEP: bool>(t: &Tile<V::Elem>) {
    let zero = V::Elem::default();
    // SAFETY: the contract of `TileFn` covers each access; a partial register is read by a masked load and written
    // element by element from a spill of `LANES <= 16` elements.
    unsafe {
        let mask = V::mask(if MASKED { t.cols } else { V::LANES });
        let mut acc = [[V::splat(zero); N]; R];
        if !t.init.is_null() {
            for (i, row) in acc.iter_mut().enumerate() {
                for (v, x) in row.iter_mut().enumerate() {
                    *x = load::<V, MASKED>(t.init.offset(i as isize * t.init_row).add(v * V::LANES), mask);
                }
            }
        }
        for s in t.segs {
            let (mut a, mut b) = (t.a.wrapping_offset(s.a), t.b.wrapping_offset(s.b));
            for _ in 0..s.len / 4 {
                for _ in 0..4 {
                    step::<V, R, N, MASKED, DEEP>(&mut acc, a, t.a_row, b, mask);
                    a = a.wrapping_offset(t.a_step);
                    b = b.wrapping_offset(t.b_step);
                }
            }
            for _ in 0..s.len % 4 {
                step::<V, R, N, MASKED, DEEP>(&mut acc, a, t.a_row, b, mask);
                a = a.wrapping_offset(t.a_step);
                b = b.wrapping_offset(t.b_step);
            }
        }
        for (i, row) in acc.iter().enumerate() {
            let c = t.c.offset(i as isize * t.c_row);
            if MASKED {
                let mut spill = [zero; 16];
                row[0].store(spill.as_mut_ptr());
                core::ptr::copy_nonoverlapping(spill.as_ptr(), c, t.cols);
            } else {
                for (v, x) in row.iter().enumerate() {
                    x.store(c.add(v * V::LANES));
                }
            }
        }
    }
}

/// One step of the contracted index.
///
/// # Safety
/// As for [`tile`], at one step.
#[inline(always)]
unsafe fn step<V: Vector, const R: usize, const N: usize, const MASKED: bool, const DEEP: bool>(
    acc: &mut [[V; N]; R],
    a: *const V::Elem,
    a_row: isize,
    b: *const V::Elem,
    mask: V::Mask,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut y = [V::splat(V::Elem::default()); N];
        for (v, y) in y.iter_mut().enumerate() {
            *y = load::<V, MASKED>(b.add(v * V::LANES), mask);
        }
        for (i, row) in acc.iter_mut().enumerate() {
            let a = a.offset(i as isize * a_row);
            if DEEP {
                for v in 0..N {
                    row[v] = load::<V, MASKED>(a.add(v * V::LANES), mask).mul_add(y[v], row[v]);
                }
            } else {
                let x = V::splat(*a);
                for v in 0..N {
                    row[v] = x.mul_add(y[v], row[v]);
                }
            }
        }
    }
}

/// # Safety
/// The register's elements at `p` are valid, or those of the mask if `MASKED`.
#[inline(always)]
unsafe fn load<V: Vector, const MASKED: bool>(p: *const V::Elem, mask: V::Mask) -> V {
    // SAFETY: the caller's contract.
    unsafe { if MASKED { V::load_masked(p, mask) } else { V::load(p) } }
}

/// Compiles every tile for one arm.
macro_rules! arm {
    ($name:ident, $t:ty, $v:ty, [$($feature:literal)?]) => {
        pub(super) mod $name {
            use super::*;

            $(#[target_feature(enable = $feature)])?
            unsafe fn one<const R: usize, const N: usize, const MASKED: bool, const DEEP: bool>(t: &Tile<$t>) {
                // SAFETY: same contract.
                unsafe { tile::<$v, R, N, MASKED, DEEP>(t) }
            }

            pub(in crate::conv) static KERNEL: Kernel<$t> = Kernel {
                lanes: <$v>::LANES,
                dense: [
                    &[
                        Rows { rows: 6, run: one::<6, 2, false, false> },
                        Rows { rows: 4, run: one::<4, 2, false, false> },
                        Rows { rows: 2, run: one::<2, 2, false, false> },
                        Rows { rows: 1, run: one::<1, 2, false, false> },
                    ],
                    &[
                        Rows { rows: 8, run: one::<8, 1, false, false> },
                        Rows { rows: 4, run: one::<4, 1, false, false> },
                        Rows { rows: 2, run: one::<2, 1, false, false> },
                        Rows { rows: 1, run: one::<1, 1, false, false> },
                    ],
                    &[
                        Rows { rows: 8, run: one::<8, 1, true, false> },
                        Rows { rows: 2, run: one::<2, 1, true, false> },
                        Rows { rows: 1, run: one::<1, 1, true, false> },
                    ],
                ],
                deep: [
                    &[
                        Rows { rows: 4, run: one::<4, 2, false, true> },
                        Rows { rows: 1, run: one::<1, 2, false, true> },
                    ],
                    &[
                        Rows { rows: 4, run: one::<4, 1, false, true> },
                        Rows { rows: 1, run: one::<1, 1, false, true> },
                    ],
                    &[
                        Rows { rows: 4, run: one::<4, 1, true, true> },
                        Rows { rows: 1, run: one::<1, 1, true, true> },
                    ],
                ],
                deep_long: &[Rows { rows: 1, run: one::<1, 4, false, true> }],
            };
        }
    };
}

arm!(base32, f32, Lanes<f32, 4>, []);
arm!(base64, f64, Lanes<f64, 2>, []);

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86 {
    use super::*;
    use core::arch::x86_64::{__m256, __m256d, __m512};

    arm!(avx2_32, f32, __m256, ["avx2,fma"]);
    arm!(avx2_64, f64, __m256d, ["avx2,fma"]);
    arm!(avx512_32, f32, __m512, ["avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"]);
}

/// The floats that convolutions are computed in: `f32` and `f64`. Sealed.
pub trait ConvFloat: GemmFloat + AddAssign + Table {}
impl ConvFloat for f32 {}
impl ConvFloat for f64 {}

/// The table of `T` on an instruction set.
pub trait Table: Sized + 'static {
    /// `isa` must be one that this CPU has: calling the table's functions relies on it.
    #[doc(hidden)]
    fn table(isa: Isa) -> Handle<Self>;
}

/// A [`Kernel`] that a public trait may name.
#[doc(hidden)]
pub struct Handle<T: 'static>(pub(super) &'static Kernel<T>);

macro_rules! table {
    ($t:ty, $base:ident, $avx2:ident, $avx512:ident) => {
        impl Table for $t {
            #[inline]
            fn table(isa: Isa) -> Handle<Self> {
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                match isa {
                    Isa::Avx512 => return Handle(&x86::$avx512::KERNEL),
                    Isa::Avx2 => return Handle(&x86::$avx2::KERNEL),
                    Isa::Baseline => {}
                }
                let _ = isa;
                Handle(&$base::KERNEL)
            }
        }
    };
}
table!(f32, base32, avx2_32, avx512_32);
// f64 is for checking gradients: registers of 256 bits serve.
table!(f64, base64, avx2_64, avx2_64);
