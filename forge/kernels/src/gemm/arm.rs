//! The micro-kernels compiled for each instruction set, and the table ([`Kernel`]) the drivers call them through.

use super::micro::{self, DotFn, PackColumns, PackColumnsFn, Run, Skinny, SkinnyFn, Tile, TileFn};
use super::vector::{Lanes, Vector};
use crate::isa::Isa;

/// Most rows that a skinny kernel takes.
pub(super) const SKINNY_ROWS: usize = 4;

/// Registers of columns that `skinny_cols` computes side by side, to hide the latency of the multiply-add.
const COLUMN_GROUPS: usize = 2;

/// Everything of one instruction set and dtype.
pub struct Kernel<T: 'static> {
    /// Elements of a register.
    pub(super) lanes: usize,
    /// Most rows of a tile that is 1, 2, 4 or 8 registers wide: as many sums as the register file holds.
    pub(super) rows: [usize; 4],
    /// The tile of (rows, log2 of its width in registers, whether the last register is partial). Tiles of 4 and 8
    /// registers are never partial.
    pub(super) tile: fn(usize, usize, bool) -> TileFn<T>,
    /// By number of rows minus one.
    pub(super) skinny_rows: [SkinnyFn<T>; SKINNY_ROWS],
    /// By number of rows minus one; columns in multiples of `column_lanes`.
    pub(super) skinny_cols: [SkinnyFn<T>; SKINNY_ROWS],
    /// Columns that `skinny_cols` takes at a time; those of `skinny_rows` come in multiples of `lanes`.
    pub(super) column_lanes: usize,
    pub(super) dot: DotFn<T>,
    pub(super) pack_columns: PackColumnsFn<T>,
}

/// The tile functions of a list of row counts.
macro_rules! by_rows {
    ($rows:ident, $tile:ident, $n:literal, $masked:literal, [$($r:literal)*]) => {
        match $rows {
            $($r => $tile::<$r, $n, $masked>,)*
            _ => unreachable!(),
        }
    };
}

/// Compiles every kernel for one arm. `$square` is the register of transposed reads. The numbers are the rows of the
/// tiles of 1, 2, 4 and 8 registers; a tile of one register is always a masked one, that of two is both.
macro_rules! arm {
    ($name:ident, $t:ty, $wide:ty, $square:ty, [$($feature:literal)?],
     1: [$($r1:literal)*], 2: [$($r2:literal)*], 4: [$($r4:literal)*], 8: [$($r8:literal)*], max $max:expr) => {
        pub(super) mod $name {
            use super::*;

            pub(in crate::gemm) static KERNEL: Kernel<$t> = Kernel {
                lanes: <$wide>::LANES,
                rows: $max,
                tile: pick,
                skinny_rows: [rows::<1>, rows::<2>, rows::<3>, rows::<4>],
                skinny_cols: [cols::<1>, cols::<2>, cols::<3>, cols::<4>],
                column_lanes: COLUMN_GROUPS * <$square>::LANES,
                dot,
                pack_columns,
            };

            fn pick(rows: usize, width: usize, masked: bool) -> TileFn<$t> {
                match (width, masked) {
                    (0, _) => by_rows!(rows, tile, 1, true, [$($r1)*]),
                    (1, false) => by_rows!(rows, tile, 2, false, [$($r2)*]),
                    (1, true) => by_rows!(rows, tile, 2, true, [$($r2)*]),
                    (2, false) => by_rows!(rows, tile, 4, false, [$($r4)*]),
                    (3, false) => by_rows!(rows, tile, 8, false, [$($r8)*]),
                    _ => unreachable!(),
                }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn tile<const R: usize, const N: usize, const MASKED: bool>(t: &Tile<$t>) {
                // SAFETY: same contract.
                unsafe { micro::tile::<$wide, R, N, MASKED>(t) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn rows<const M: usize>(s: &Skinny<$t>) {
                // SAFETY: same contract.
                unsafe { micro::skinny_rows::<$wide, M>(s) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn cols<const M: usize>(s: &Skinny<$t>) {
                // SAFETY: same contract.
                unsafe { micro::skinny_cols::<$square, M, COLUMN_GROUPS>(s) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn dot(k: usize, a: Run<$t>, b: Run<$t>, start: Option<$t>) -> $t {
                // SAFETY: same contract.
                unsafe { micro::dot::<$square>(k, a, b, start) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn pack_columns(s: &PackColumns<$t>) {
                // SAFETY: same contract.
                unsafe { micro::pack_columns::<$square>(s) }
            }
        }
    };
}

// 16 registers, no fused multiply-add on x86-64: 4 x 2 sums leave room for the products.
arm!(base32, f32, Lanes<f32, 4>, Lanes<f32, 4>, [],
    1: [1 2 3 4], 2: [1 2 3 4], 4: [1 2], 8: [], max [4, 4, 2, 0]);
arm!(base64, f64, Lanes<f64, 2>, Lanes<f64, 2>, [],
    1: [1 2 3 4], 2: [1 2 3 4], 4: [1 2], 8: [], max [4, 4, 2, 0]);

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86 {
    use super::*;
    use core::arch::x86_64::{__m256, __m256d, __m512};

    // 16 registers: 6 x 2 sums, two of B, one of A.
    arm!(avx2_32, f32, __m256, __m256, ["avx2,fma"],
        1: [1 2 3 4 5 6 7 8], 2: [1 2 3 4 5 6], 4: [1 2 3], 8: [1], max [8, 6, 3, 1]);
    arm!(avx2_64, f64, __m256d, __m256d, ["avx2,fma"],
        1: [1 2 3 4 5 6 7 8], 2: [1 2 3 4 5 6], 4: [1 2 3], 8: [1], max [8, 6, 3, 1]);
    // 32 registers: 12 x 2 sums.
    arm!(avx512_32, f32, __m512, __m256, ["avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"],
        1: [1 2 3 4 5 6 7 8 9 10 11 12], 2: [1 2 3 4 5 6 7 8 9 10 11 12], 4: [1 2 3], 8: [1], max [12, 12, 3, 1]);
}

/// The table of `T` on an instruction set.
pub trait Kernels: Sized + 'static {
    /// `isa` must be one that this CPU has: calling the table's functions relies on it.
    fn kernel(isa: Isa) -> &'static Kernel<Self>;
}

macro_rules! kernels {
    ($t:ty, $base:ident, $avx2:ident, $avx512:ident) => {
        impl Kernels for $t {
            #[inline]
            fn kernel(isa: Isa) -> &'static Kernel<Self> {
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                match isa {
                    Isa::Avx512 => return &x86::$avx512::KERNEL,
                    Isa::Avx2 => return &x86::$avx2::KERNEL,
                    Isa::Baseline => {}
                }
                let _ = isa;
                &$base::KERNEL
            }
        }
    };
}
kernels!(f32, base32, avx2_32, avx512_32);
// f64 serves gradient checks, where 256 bits are fast enough.
kernels!(f64, base64, avx2_64, avx2_64);
