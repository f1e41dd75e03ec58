//! [`Pack`]: eight `f32` side by side, and the functions of networks on them.

use super::PACK;

/// Eight lanes.
///
/// # Safety
/// Every method may be called only where the CPU has the implementor's instruction set; loads and stores only where
/// [`PACK`] elements behind the pointer are valid.
pub(super) trait Pack: Copy {
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(p: *const f32) -> Self;
    unsafe fn store(self, p: *mut f32);
    unsafe fn add(self, o: Self) -> Self;
    unsafe fn sub(self, o: Self) -> Self;
    unsafe fn mul(self, o: Self) -> Self;
    unsafe fn div(self, o: Self) -> Self;
    /// `self * b + c`, rounded once where that is one instruction.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    /// The smaller of each lane; `self` where it is NaN.
    unsafe fn min(self, o: Self) -> Self;
    /// The larger of each lane; `self` where it is NaN.
    unsafe fn max(self, o: Self) -> Self;
    unsafe fn abs(self) -> Self;
    /// To the nearest integers.
    unsafe fn round(self) -> Self;
    /// `2^self` of integers between -126 and 127.
    unsafe fn pow2(self) -> Self;
    /// `a` where `self > 0`, else `b`.
    unsafe fn positive(self, a: Self, b: Self) -> Self;
}

impl Pack for [f32; PACK] {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        [x; PACK]
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: eight elements at `p` are valid (trait contract); an array has the alignment of its elements.
        unsafe { *p.cast::<Self>() }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: as in `load`, for writes.
        unsafe { *p.cast::<Self>() = self }
    }
    #[inline(always)]
    unsafe fn add(self, o: Self) -> Self {
        core::array::from_fn(|i| self[i] + o[i])
    }
    #[inline(always)]
    unsafe fn sub(self, o: Self) -> Self {
        core::array::from_fn(|i| self[i] - o[i])
    }
    #[inline(always)]
    unsafe fn mul(self, o: Self) -> Self {
        core::array::from_fn(|i| self[i] * o[i])
    }
    #[inline(always)]
    unsafe fn div(self, o: Self) -> Self {
        core::array::from_fn(|i| self[i] / o[i])
    }
    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        // A fused multiply-add is one instruction on every aarch64; elsewhere it would be a library call.
        if cfg!(target_arch = "aarch64") {
            core::array::from_fn(|i| self[i].mul_add(b[i], c[i]))
        } else {
            core::array::from_fn(|i| self[i] * b[i] + c[i])
        }
    }
    #[inline(always)]
    unsafe fn min(self, o: Self) -> Self {
        core::array::from_fn(|i| if o[i] < self[i] { o[i] } else { self[i] })
    }
    #[inline(always)]
    unsafe fn max(self, o: Self) -> Self {
        core::array::from_fn(|i| if o[i] > self[i] { o[i] } else { self[i] })
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        self.map(f32::abs)
    }
    #[inline(always)]
    unsafe fn round(self) -> Self {
        self.map(crate::math::round_even)
    }
    #[inline(always)]
    unsafe fn pow2(self) -> Self {
        self.map(|n| f32::from_bits(((n as i32).wrapping_add(127) as u32) << 23))
    }
    #[inline(always)]
    unsafe fn positive(self, a: Self, b: Self) -> Self {
        core::array::from_fn(|i| if self[i] > 0.0 { a[i] } else { b[i] })
    }
}

/// Packs side by side, each step done for all of them before the next: a function is a long chain of steps that wait for
/// each other, and several chains fill the time.
#[derive(Clone, Copy)]
pub(super) struct Abreast<V, const N: usize>(pub(super) [V; N]);

macro_rules! abreast {
    ($($name:ident($($a:ident),*);)*) => {$(
        #[inline(always)]
        unsafe fn $name(self $(, $a: Self)*) -> Self {
            let mut out = self.0;
            for i in 0..N {
                // SAFETY: the trait's contract is that of `V`.
                out[i] = unsafe { out[i].$name($($a.0[i]),*) };
            }
            Self(out)
        }
    )*};
}

impl<V: Pack, const N: usize> Pack for Abreast<V, N> {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: the trait's contract is that of `V`.
        Self([unsafe { V::splat(x) }; N])
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: `N` packs at `p` are valid (this type's contract).
        let mut out = [unsafe { V::load(p) }; N];
        for (i, out) in out.iter_mut().enumerate() {
            // SAFETY: as above.
            *out = unsafe { V::load(p.add(i * PACK)) };
        }
        Self(out)
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32) {
        for (i, v) in self.0.into_iter().enumerate() {
            // SAFETY: `N` packs at `p` are valid (this type's contract).
            unsafe { v.store(p.add(i * PACK)) }
        }
    }
    abreast! {
        add(o);
        sub(o);
        mul(o);
        div(o);
        fma(b, c);
        min(o);
        max(o);
        abs();
        round();
        pow2();
        positive(a, b);
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86 {
    use super::Pack;
    use core::arch::x86_64::*;

    macro_rules! methods {
        ($($name:ident($($a:ident : $t:ty),*) -> $r:ty = $e:expr;)*) => {$(
            #[inline(always)]
            unsafe fn $name($($a: $t),*) -> $r {
                // SAFETY: the CPU has AVX2 and FMA, and pointers are valid for eight elements (trait contract).
                unsafe { $e }
            }
        )*};
    }

    impl Pack for __m256 {
        methods! {
            splat(x: f32) -> Self = _mm256_set1_ps(x);
            load(p: *const f32) -> Self = _mm256_loadu_ps(p);
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut f32) {
            // SAFETY: trait contract.
            unsafe { _mm256_storeu_ps(p, self) }
        }
        #[inline(always)]
        unsafe fn add(self, o: Self) -> Self {
            // SAFETY: trait contract.
            unsafe { _mm256_add_ps(self, o) }
        }
        #[inline(always)]
        unsafe fn sub(self, o: Self) -> Self {
            // SAFETY: trait contract.
            unsafe { _mm256_sub_ps(self, o) }
        }
        #[inline(always)]
        unsafe fn mul(self, o: Self) -> Self {
            // SAFETY: trait contract.
            unsafe { _mm256_mul_ps(self, o) }
        }
        #[inline(always)]
        unsafe fn div(self, o: Self) -> Self {
            // SAFETY: trait contract.
            unsafe { _mm256_div_ps(self, o) }
        }
        #[inline(always)]
        unsafe fn fma(self, b: Self, c: Self) -> Self {
            // SAFETY: trait contract.
            unsafe { _mm256_fmadd_ps(self, b, c) }
        }
        // Where either is NaN the instruction gives its second operand.
        #[inline(always)]
        unsafe fn min(self, o: Self) -> Self {
            // SAFETY: trait contract.
            unsafe { _mm256_min_ps(o, self) }
        }
        #[inline(always)]
        unsafe fn max(self, o: Self) -> Self {
            // SAFETY: trait contract.
            unsafe { _mm256_max_ps(o, self) }
        }
        #[inline(always)]
        unsafe fn abs(self) -> Self {
            // SAFETY: trait contract.
            unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), self) }
        }
        #[inline(always)]
        unsafe fn round(self) -> Self {
            // SAFETY: trait contract.
            unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self) }
        }
        #[inline(always)]
        unsafe fn pow2(self) -> Self {
            // SAFETY: trait contract.
            unsafe {
                let n = _mm256_add_epi32(_mm256_cvtps_epi32(self), _mm256_set1_epi32(127));
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(n))
            }
        }
        #[inline(always)]
        unsafe fn positive(self, a: Self, b: Self) -> Self {
            // SAFETY: trait contract.
            unsafe { _mm256_blendv_ps(b, a, _mm256_cmp_ps::<_CMP_GT_OQ>(self, _mm256_setzero_ps())) }
        }
    }
}

/// `tanh x` is `x P(x^2) / Q(x^2)` up to here, and beyond it the quotient here, which is 1 to 2 units in the last place.
const TANH_END: f32 = 9.02;
/// The quotient with the least relative error on `[0, TANH_END]` (2.2e-8), by a weighted fit. All coefficients are
/// positive, so nothing cancels.
const TANH_P: [f32; 5] = [0.999_999_98, 0.133_797_1, 3.494_024e-3, 2.058_324_3e-5, 1.331_862_06e-8];
const TANH_Q: [f32; 5] = [1.0, 0.467_130_26, 2.587_103_76e-2, 3.283_072_9e-4, 7.761_860_4e-7];

/// `c[0] + c[1] z + .. + c[4] z^4`, in few steps.
#[inline(always)]
unsafe fn quartic<V: Pack>(z: V, c: [f32; 5]) -> V {
    // SAFETY: the CPU has the instruction set of `V` (the caller's promise).
    unsafe {
        let zz = z.mul(z);
        let low = V::splat(c[1]).fma(z, V::splat(c[0]));
        let high = V::splat(c[3]).fma(z, V::splat(c[2]));
        V::splat(c[4]).fma(zz, high).fma(zz, low)
    }
}

/// `tanh` of each lane: at most 7 ULP; NaN stays.
#[inline(always)]
pub(super) unsafe fn tanh_pack<V: Pack>(x: V) -> V {
    // SAFETY: the CPU has the instruction set of `V` (the caller's promise).
    unsafe {
        let x = x.min(V::splat(TANH_END)).max(V::splat(-TANH_END));
        let z = x.mul(x);
        let (p, q) = (quartic(z, TANH_P), quartic(z, TANH_Q));
        x.mul(p).div(q)
    }
}

/// `e^x` of each lane between -87 and 88; beyond, the value there. NaN stays.
#[inline(always)]
unsafe fn exp_pack<V: Pack>(x: V) -> V {
    const LN2_HI: f32 = 0.693_359_375;
    const LN2_LO: f32 = -2.121_944_4e-4;
    // SAFETY: the CPU has the instruction set of `V` (the caller's promise).
    unsafe {
        let x = x.min(V::splat(88.0)).max(V::splat(-87.0));
        let n = x.mul(V::splat(std::f32::consts::LOG2_E)).round();
        let r = n.fma(V::splat(-LN2_HI), x);
        let r = n.fma(V::splat(-LN2_LO), r);
        // The series of e^r; |r| is at most ln 2 / 2, where the first term left out is 5e-9.
        let mut p = V::splat(1.0 / 5040.0);
        for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            p = p.fma(r, V::splat(c));
        }
        p.mul(n.pow2())
    }
}

/// `1 / (1 + e^-x)` of each lane.
#[inline(always)]
pub(super) unsafe fn sigmoid_pack<V: Pack>(x: V) -> V {
    // SAFETY: the CPU has the instruction set of `V` (the caller's promise).
    unsafe {
        let e = exp_pack(V::splat(0.0).sub(x));
        V::splat(1.0).div(e.add(V::splat(1.0)))
    }
}

/// `x / (1 + e^-x)` of each lane.
#[inline(always)]
pub(super) unsafe fn silu_pack<V: Pack>(x: V) -> V {
    // SAFETY: the CPU has the instruction set of `V` (the caller's promise).
    unsafe {
        let e = exp_pack(V::splat(0.0).sub(x));
        x.div(e.add(V::splat(1.0)))
    }
}

/// The rational function of [`crate::math::fast_tanh`].
#[inline(always)]
pub(super) unsafe fn fast_tanh_pack<V: Pack>(x: V) -> V {
    // SAFETY: the CPU has the instruction set of `V` (the caller's promise).
    unsafe {
        let c = |v: f32| V::splat(v);
        // Past 1e8 the quotient is its limit to the last bit; the bound keeps x^4 finite.
        let x = x.min(c(1e8)).max(c(-1e8));
        let (a, z) = (x.abs(), x.mul(x));
        let near = c(2.455_507_5).fma(a, c(2.455_507_5));
        let p = x.mul(c(0.821_226_67).fma(a, c(0.893_229_85)).fma(z, near));
        let bend = c(0.814_642_73).mul(x).fma(a, x).abs();
        let q = z.add(c(2.445_066_3)).fma(bend, c(2.445_066_3));
        p.div(q)
    }
}

macro_rules! scalars {
    ($($(#[$doc:meta])* $name:ident = $pack:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(x: f32) -> f32 {
            #[inline(always)]
            unsafe fn one<V: Pack>(x: f32, out: &mut f32) {
                let mut lanes = [0.0; PACK];
                // SAFETY: the CPU has the instruction set of `V`; `lanes` has room for a pack.
                unsafe { $pack(V::splat(x)).store(lanes.as_mut_ptr()) }
                *out = lanes[0];
            }
            fn call(x: f32, out: &mut f32) {
                super::arms!(one(x: f32, out: &mut f32))
            }
            let mut out = 0.0;
            call(x, &mut out);
            out
        }
    )*};
}

scalars! {
    /// `tanh x` as the kernels here compute it: at most 7 ULP.
    tanh = tanh_pack;
    /// `1 / (1 + e^-x)` as the kernels here compute it: at most 4 ULP above `x = -87`.
    sigmoid = sigmoid_pack;
    /// `x / (1 + e^-x)` as the kernels here compute it: at most 4 ULP above `x = -87`.
    silu = silu_pack;
    /// The rational function near tanh as the kernels here compute it.
    fast_tanh = fast_tanh_pack;
}
