//! [`Vector`]: what the micro-kernels need of a SIMD register, and its implementors.
//!
//! The algorithms in [`micro`](super::micro) are written once over this trait; each instruction set only says how to
//! load, multiply-add and transpose. The methods are `unsafe` because the CPU must have the instruction set.

use super::GemmFloat;

/// One register of floats.
///
/// # Safety
/// Every method may be called only where the CPU has the implementor's instruction set, and, for the loads and the
/// store, where [`LANES`](Self::LANES) elements (or the masked ones) behind the pointer are valid.
pub(crate) trait Vector: Copy {
    type Elem: GemmFloat;
    /// Which of the first lanes take part in a masked load.
    type Mask: Copy;
    const LANES: usize;

    unsafe fn splat(x: Self::Elem) -> Self;
    unsafe fn load(p: *const Self::Elem) -> Self;
    unsafe fn store(self, p: *mut Self::Elem);
    unsafe fn add(self, other: Self) -> Self;
    /// `self * b + acc`, rounded once where the arm has a fused multiply-add, else twice.
    unsafe fn mul_add(self, b: Self, acc: Self) -> Self;
    /// [`mul_add`](Self::mul_add) of one element, rounded as its lanes are.
    fn mul_add_one(a: Self::Elem, b: Self::Elem, acc: Self::Elem) -> Self::Elem;
    /// A mask of the first `lanes` lanes.
    unsafe fn mask(lanes: usize) -> Self::Mask;
    /// The masked lanes of memory, zero elsewhere; memory behind the other lanes is not touched.
    unsafe fn load_masked(p: *const Self::Elem, mask: Self::Mask) -> Self;
}

/// A register whose square blocks can be read transposed.
pub(crate) trait Transpose: Vector {
    /// `LANES` registers.
    type Square: Copy + core::ops::Index<usize, Output = Self>;

    /// Reads `LANES` runs of `LANES` contiguous elements, run `i` at `p + i * stride`; register `q` of the result
    /// holds element `q` of every run.
    ///
    /// # Safety
    /// As for the trait; every run must be valid for reads.
    unsafe fn load_transposed(p: *const Self::Elem, stride: isize) -> Self::Square;
}

/// `a * b + c` of one lane, rounded as the baseline arm does.
trait BaselineMulAdd: GemmFloat {
    fn mul_add_baseline(self, b: Self, c: Self) -> Self;
}

macro_rules! baseline_mul_add {
    ($t:ty) => {
        impl BaselineMulAdd for $t {
            #[inline(always)]
            fn mul_add_baseline(self, b: Self, c: Self) -> Self {
                // A fused multiply-add is one instruction on every aarch64; elsewhere it would be a library call.
                if cfg!(target_arch = "aarch64") { self.mul_add(b, c) } else { self * b + c }
            }
        }
    };
}
baseline_mul_add!(f32);
baseline_mul_add!(f64);

/// 128 bits as the compiler vectorises them for the target's guaranteed instruction set.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Lanes<T, const L: usize>([T; L]);

impl<T: BaselineMulAdd, const L: usize> Vector for Lanes<T, L> {
    type Elem = T;
    type Mask = usize;
    const LANES: usize = L;

    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        Self([x; L])
    }
    #[inline(always)]
    unsafe fn load(p: *const T) -> Self {
        // SAFETY: `L` elements at `p` are valid (trait contract); an array has the alignment of its elements.
        Self(unsafe { *p.cast::<[T; L]>() })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut T) {
        // SAFETY: as in `load`, for writes.
        unsafe { *p.cast::<[T; L]>() = self.0 }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] + other.0[i]))
    }
    #[inline(always)]
    unsafe fn mul_add(self, b: Self, acc: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i].mul_add_baseline(b.0[i], acc.0[i])))
    }
    #[inline(always)]
    fn mul_add_one(a: T, b: T, acc: T) -> T {
        a.mul_add_baseline(b, acc)
    }
    #[inline(always)]
    unsafe fn mask(lanes: usize) -> usize {
        lanes
    }
    #[inline(always)]
    unsafe fn load_masked(p: *const T, mask: usize) -> Self {
        let mut out = [T::default(); L];
        for (i, o) in out.iter_mut().enumerate().take(mask) {
            // SAFETY: the first `mask` elements at `p` are valid (trait contract).
            *o = unsafe { *p.add(i) };
        }
        Self(out)
    }
}

impl<T: BaselineMulAdd, const L: usize> Transpose for Lanes<T, L> {
    type Square = [Self; L];

    #[inline(always)]
    unsafe fn load_transposed(p: *const T, stride: isize) -> [Self; L] {
        // SAFETY: element `q` of run `i` is valid (trait contract).
        core::array::from_fn(|q| Self(core::array::from_fn(|i| unsafe { *p.offset(i as isize * stride).add(q) })))
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86 {
    use super::{Transpose, Vector};
    use core::arch::x86_64::*;

    macro_rules! vector {
        ($v:ty, $t:ty, $lanes:literal, $mask:ty, $splat:ident, $load:ident, $store:ident, $add:ident, $fma:ident,
         |$n:ident| $make:expr, |$p:ident, $m:ident| $load_masked:expr) => {
            impl Vector for $v {
                type Elem = $t;
                type Mask = $mask;
                const LANES: usize = $lanes;

                #[inline(always)]
                unsafe fn splat(x: $t) -> Self {
                    // SAFETY: the CPU has the instruction set (trait contract).
                    unsafe { $splat(x) }
                }
                #[inline(always)]
                unsafe fn load(p: *const $t) -> Self {
                    // SAFETY: trait contract: instruction set, and `LANES` elements at `p`.
                    unsafe { $load(p) }
                }
                #[inline(always)]
                unsafe fn store(self, p: *mut $t) {
                    // SAFETY: trait contract: instruction set, and `LANES` elements at `p`.
                    unsafe { $store(p, self) }
                }
                #[inline(always)]
                unsafe fn add(self, other: Self) -> Self {
                    // SAFETY: the CPU has the instruction set (trait contract).
                    unsafe { $add(self, other) }
                }
                #[inline(always)]
                unsafe fn mul_add(self, b: Self, acc: Self) -> Self {
                    // SAFETY: the CPU has the instruction set (trait contract).
                    unsafe { $fma(self, b, acc) }
                }
                #[inline(always)]
                fn mul_add_one(a: $t, b: $t, acc: $t) -> $t {
                    a.mul_add(b, acc)
                }
                #[inline(always)]
                unsafe fn mask($n: usize) -> $mask {
                    // SAFETY: the CPU has the instruction set (trait contract).
                    unsafe { $make }
                }
                #[inline(always)]
                unsafe fn load_masked($p: *const $t, $m: $mask) -> Self {
                    // SAFETY: trait contract: instruction set; the instruction reads the masked lanes alone.
                    unsafe { $load_masked }
                }
            }
        };
    }

    vector!(
        __m256,
        f32,
        8,
        __m256i,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_fmadd_ps,
        |n| _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
        |p, m| _mm256_maskload_ps(p, m)
    );
    vector!(
        __m256d,
        f64,
        4,
        __m256i,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_add_pd,
        _mm256_fmadd_pd,
        |n| _mm256_cmpgt_epi64(_mm256_set1_epi64x(n as i64), _mm256_setr_epi64x(0, 1, 2, 3)),
        |p, m| _mm256_maskload_pd(p, m)
    );
    vector!(
        __m512,
        f32,
        16,
        __mmask16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_fmadd_ps,
        |n| _cvtu32_mask16((1 << n) - 1),
        |p, m| _mm512_maskz_loadu_ps(m, p)
    );
    // Macros instead of closures: a closure is a function of its own, without the instruction set.
    impl Transpose for __m256 {
        type Square = [Self; 8];

        #[inline(always)]
        unsafe fn load_transposed(p: *const f32, stride: isize) -> [Self; 8] {
            // Runs `i` and `i + 4` side by side, four elements of each.
            macro_rules! pair {
                ($i:literal, $q:ident) => {{
                    let low = _mm_loadu_ps(p.offset($i * stride).add($q));
                    let high = _mm_loadu_ps(p.offset(($i + 4) * stride).add($q));
                    _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high)
                }};
            }
            // SAFETY: the CPU has AVX2 (trait contract).
            let mut out = unsafe { [[_mm256_setzero_ps(); 4]; 2] };
            for (half, out) in out.iter_mut().enumerate() {
                let q = half * 4;
                // SAFETY: eight runs of eight elements are valid and the CPU has AVX2 (trait contract); each load
                // takes four elements at offset 0 or 4 of run `i` or `i + 4`, `i < 4`.
                unsafe {
                    // A 4 x 4 transpose in each half of the registers.
                    let (x0, x1, x2, x3) = (pair!(0, q), pair!(1, q), pair!(2, q), pair!(3, q));
                    let (t0, t1) = (_mm256_unpacklo_ps(x0, x1), _mm256_unpackhi_ps(x0, x1));
                    let (t2, t3) = (_mm256_unpacklo_ps(x2, x3), _mm256_unpackhi_ps(x2, x3));
                    out[0] = _mm256_shuffle_ps::<0x44>(t0, t2);
                    out[1] = _mm256_shuffle_ps::<0xEE>(t0, t2);
                    out[2] = _mm256_shuffle_ps::<0x44>(t1, t3);
                    out[3] = _mm256_shuffle_ps::<0xEE>(t1, t3);
                }
            }
            let [[a, b, c, d], [e, f, g, h]] = out;
            [a, b, c, d, e, f, g, h]
        }
    }

    impl Transpose for __m256d {
        type Square = [Self; 4];

        #[inline(always)]
        unsafe fn load_transposed(p: *const f64, stride: isize) -> [Self; 4] {
            macro_rules! pair {
                ($i:literal, $q:literal) => {{
                    let low = _mm_loadu_pd(p.offset($i * stride).add($q));
                    let high = _mm_loadu_pd(p.offset(($i + 2) * stride).add($q));
                    _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(low), high)
                }};
            }
            // SAFETY: four runs of four elements are valid and the CPU has AVX2 (trait contract); each load takes two
            // elements at offset 0 or 2 of run `i` or `i + 2`, `i < 2`.
            unsafe {
                let (x0, x1, y0, y1) = (pair!(0, 0), pair!(1, 0), pair!(0, 2), pair!(1, 2));
                [
                    _mm256_unpacklo_pd(x0, x1),
                    _mm256_unpackhi_pd(x0, x1),
                    _mm256_unpacklo_pd(y0, y1),
                    _mm256_unpackhi_pd(y0, y1),
                ]
            }
        }
    }
}
