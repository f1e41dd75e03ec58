//! Codes of the formats as registers, and sums across registers.
//!
//! Every function here is part of a caller that was compiled for AVX2, FMA and F16C, which is the first item of every
//! safety contract.

use crate::quant::bytes::scales6;
use crate::quant::dot::formats::*;
use core::arch::x86_64::*;

/// Loads codes of short blocks.
pub(in crate::quant::dot) trait ShortLanes: Short {
    /// The codes of part `j`.
    ///
    /// # Safety
    /// AVX2; `block` points to a whole block and `j` names a part.
    #[inline(always)]
    unsafe fn load(block: *const u8, j: usize) -> __m256i {
        // SAFETY: the caller says that a block is there.
        let block = unsafe { std::slice::from_raw_parts(block, Self::BYTES) };
        let codes = Self::codes(block, j);
        // SAFETY: 32 bytes.
        unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) }
    }
}

/// Loads codes of blocks of 256.
pub(in crate::quant::dot) trait SuperLanes: Super {
    /// The codes, 32 to a register.
    ///
    /// # Safety
    /// AVX2; `block` points to a whole block.
    #[inline(always)]
    unsafe fn load(block: *const u8) -> [__m256i; 8] {
        // SAFETY: the caller says that a block is there.
        let block = unsafe { std::slice::from_raw_parts(block, Self::BYTES) };
        let codes = Self::codes(block);
        // SAFETY: 32 bytes each, of 256.
        unsafe {
            let mut out = [_mm256_setzero_si256(); 8];
            for p in 0..8 {
                out[p] = load(codes.as_ptr().add(32 * p).cast());
            }
            out
        }
    }

    /// The scales of the sixteenths and their minima, a byte each.
    ///
    /// # Safety
    /// AVX2; `block` points to a whole block.
    #[inline(always)]
    unsafe fn scales_minima(block: *const u8) -> (__m128i, __m128i) {
        // SAFETY: the caller says that a block is there.
        let (s, m) = Self::scales(unsafe { std::slice::from_raw_parts(block, Self::BYTES) });
        // SAFETY: 16 bytes each.
        unsafe { (_mm_loadu_si128(s.as_ptr().cast()), _mm_loadu_si128(m.as_ptr().cast())) }
    }

    /// The scales of the sixteenths (those of even number in the lower half, of odd number in the upper one) and what the
    /// sums of the activations are multiplied by (in order), all in 16 bits.
    ///
    /// # Safety
    /// AVX2; `block` points to a whole block.
    #[inline(always)]
    unsafe fn factors(block: *const u8) -> (__m256i, __m256i) {
        // SAFETY: the caller's.
        unsafe {
            let (s, m) = Self::scales_minima(block);
            let split = _mm_shuffle_epi8(s, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
            let scales = _mm256_cvtepi8_epi16(split);
            let offsets = if Self::MIN {
                _mm256_cvtepu8_epi16(m)
            } else {
                _mm256_mullo_epi16(_mm256_cvtepi8_epi16(s), _mm256_set1_epi16(Self::ZERO as i16))
            };
            (scales, offsets)
        }
    }
}

/// # Safety
/// AVX2; 16 bytes at `p`.
#[inline(always)]
unsafe fn nibbles(p: *const u8) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        let b = _mm_loadu_si128(p.cast());
        let both = _mm256_set_m128i(_mm_srli_epi16(b, 4), b);
        _mm256_and_si256(both, _mm256_set1_epi8(15))
    }
}

/// Bit `i` of `bits` as 16 in byte `i`.
///
/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn fifth(bits: i32) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        let spread = _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0);
        let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(bits), spread);
        let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
        let set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
        _mm256_and_si256(set, _mm256_set1_epi8(16))
    }
}

/// The sixteen uneven levels by nibble.
///
/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn uneven(q: __m256i) -> __m256i {
    // SAFETY: the caller's; the table has 16 bytes.
    unsafe {
        let table = _mm_loadu_si128(crate::quant::levels::UNEVEN.as_ptr().cast());
        _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), q)
    }
}

macro_rules! short_lanes {
    ($($name:ty: |$p:ident| $load:expr;)+) => {
        $(impl ShortLanes for $name {
            #[inline(always)]
            unsafe fn load($p: *const u8, _: usize) -> __m256i {
                // SAFETY: every read is inside the block, which the caller says is there.
                unsafe { $load }
            }
        })+
    };
}
short_lanes! {
    Q4_0: |p| nibbles(p.add(2));
    Q4_1: |p| nibbles(p.add(4));
    Q5_0: |p| _mm256_or_si256(nibbles(p.add(6)), fifth(p.add(2).cast::<i32>().read_unaligned()));
    Q5_1: |p| _mm256_or_si256(nibbles(p.add(8)), fifth(p.add(4).cast::<i32>().read_unaligned()));
    Q8_0: |p| _mm256_loadu_si256(p.add(2).cast());
    IQ4_NL: |p| uneven(nibbles(p.add(2)));
}
impl ShortLanes for Q1_0 {}
impl ShortLanes for Q2_0 {}

/// # Safety
/// AVX2; 32 bytes at `p`.
#[inline(always)]
unsafe fn load(p: *const u8) -> __m256i {
    // SAFETY: the caller's.
    unsafe { _mm256_loadu_si256(p.cast()) }
}

/// Bits `RIGHT..` of each byte that `mask` keeps. The mask drops what crosses from the neighbouring byte.
///
/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn bits<const RIGHT: i32>(v: __m256i, mask: i8) -> __m256i {
    // SAFETY: the caller's.
    unsafe { _mm256_and_si256(_mm256_srli_epi16(v, RIGHT), _mm256_set1_epi8(mask)) }
}

/// As [`bits`], shifted to the left.
///
/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn bits_left<const LEFT: i32>(v: __m256i, mask: i8) -> __m256i {
    // SAFETY: the caller's.
    unsafe { _mm256_and_si256(_mm256_slli_epi16(v, LEFT), _mm256_set1_epi8(mask)) }
}

/// Scales and minima of `Q4_K` and `Q5_K`, each for two sixteenths.
///
/// # Safety
/// AVX2; the block is there.
#[inline(always)]
unsafe fn six(block: *const u8) -> (__m128i, __m128i) {
    // SAFETY: the caller says that a block is there, which is longer.
    let (s, m) = scales6(unsafe { std::slice::from_raw_parts(block.add(4), 12) });
    let (s, m) = (i64::from_le_bytes(s), i64::from_le_bytes(m));
    // SAFETY: the caller's.
    unsafe {
        let (s, m) = (_mm_cvtsi64_si128(s), _mm_cvtsi64_si128(m));
        (_mm_unpacklo_epi8(s, s), _mm_unpacklo_epi8(m, m))
    }
}

macro_rules! super_lanes {
    ($($name:ty: |$p:ident| $load:expr $(, $scales:expr)?;)+) => {
        $(impl SuperLanes for $name {
            $(#[inline(always)]
            unsafe fn scales_minima($p: *const u8) -> (__m128i, __m128i) {
                // SAFETY: every read is inside the block, which the caller says is there.
                unsafe { $scales }
            })?
            #[inline(always)]
            unsafe fn load($p: *const u8) -> [__m256i; 8] {
                // SAFETY: every read is inside the block, which the caller says is there.
                unsafe { $load }
            }
        })+
    };
}
super_lanes! {
    Q2_K: |p| pairs(p.add(16)), {
        let (both, four) = (_mm_loadu_si128(p.cast()), _mm_set1_epi8(15));
        (_mm_and_si128(both, four), _mm_and_si128(_mm_srli_epi16(both, 4), four))
    };
    TQ2_0: |p| pairs(p);
    Q3_K: |p| {
        let (q, h) = (pairs(p.add(32)), load(p));
        [
            _mm256_or_si256(q[0], bits_left::<2>(h, 4)),
            _mm256_or_si256(q[1], bits_left::<1>(h, 4)),
            _mm256_or_si256(q[2], bits::<0>(h, 4)),
            _mm256_or_si256(q[3], bits::<1>(h, 4)),
            _mm256_or_si256(q[4], bits::<2>(h, 4)),
            _mm256_or_si256(q[5], bits::<3>(h, 4)),
            _mm256_or_si256(q[6], bits::<4>(h, 4)),
            _mm256_or_si256(q[7], bits::<5>(h, 4)),
        ]
    };
    Q4_K: |p| halves(p.add(16)), six(p);
    Q5_K: |p| {
        let (q, h) = (halves(p.add(48)), load(p.add(16)));
        [
            _mm256_or_si256(q[0], bits_left::<4>(h, 16)),
            _mm256_or_si256(q[1], bits_left::<3>(h, 16)),
            _mm256_or_si256(q[2], bits_left::<2>(h, 16)),
            _mm256_or_si256(q[3], bits_left::<1>(h, 16)),
            _mm256_or_si256(q[4], bits::<0>(h, 16)),
            _mm256_or_si256(q[5], bits::<1>(h, 16)),
            _mm256_or_si256(q[6], bits::<2>(h, 16)),
            _mm256_or_si256(q[7], bits::<3>(h, 16)),
        ]
    }, six(p);
    Q6_K: |p| {
        let low = [load(p), load(p.add(32)), load(p.add(64)), load(p.add(96))];
        let high = [load(p.add(128)), load(p.add(160))];
        [
            _mm256_or_si256(bits::<0>(low[0], 15), bits_left::<4>(high[0], 48)),
            _mm256_or_si256(bits::<0>(low[1], 15), bits_left::<2>(high[0], 48)),
            _mm256_or_si256(bits::<4>(low[0], 15), bits::<0>(high[0], 48)),
            _mm256_or_si256(bits::<4>(low[1], 15), bits::<2>(high[0], 48)),
            _mm256_or_si256(bits::<0>(low[2], 15), bits_left::<4>(high[1], 48)),
            _mm256_or_si256(bits::<0>(low[3], 15), bits_left::<2>(high[1], 48)),
            _mm256_or_si256(bits::<4>(low[2], 15), bits::<0>(high[1], 48)),
            _mm256_or_si256(bits::<4>(low[3], 15), bits::<2>(high[1], 48)),
        ]
    }, (_mm_loadu_si128(p.add(192).cast()), _mm_setzero_si128());
    IQ4_XS: |p| [
        uneven(nibbles(p.add(8))),
        uneven(nibbles(p.add(24))),
        uneven(nibbles(p.add(40))),
        uneven(nibbles(p.add(56))),
        uneven(nibbles(p.add(72))),
        uneven(nibbles(p.add(88))),
        uneven(nibbles(p.add(104))),
        uneven(nibbles(p.add(120))),
    ];
}

/// 256 codes of two bits: four to a byte, the bytes in two groups of 32.
///
/// # Safety
/// AVX2; 64 bytes at `p`.
#[inline(always)]
unsafe fn pairs(p: *const u8) -> [__m256i; 8] {
    // SAFETY: the caller's.
    unsafe {
        let (a, b) = (load(p), load(p.add(32)));
        [
            bits::<0>(a, 3),
            bits::<2>(a, 3),
            bits::<4>(a, 3),
            bits::<6>(a, 3),
            bits::<0>(b, 3),
            bits::<2>(b, 3),
            bits::<4>(b, 3),
            bits::<6>(b, 3),
        ]
    }
}

/// 256 codes of four bits: two to a byte, the bytes in four groups of 32.
///
/// # Safety
/// AVX2; 128 bytes at `p`.
#[inline(always)]
unsafe fn halves(p: *const u8) -> [__m256i; 8] {
    // SAFETY: the caller's.
    unsafe {
        let v = [load(p), load(p.add(32)), load(p.add(64)), load(p.add(96))];
        [
            bits::<0>(v[0], 15),
            bits::<4>(v[0], 15),
            bits::<0>(v[1], 15),
            bits::<4>(v[1], 15),
            bits::<0>(v[2], 15),
            bits::<4>(v[2], 15),
            bits::<0>(v[3], 15),
            bits::<4>(v[3], 15),
        ]
    }
}

/// Products of codes with activations, summed in pairs to 16 bits. Unsigned codes are at most 127, so that a pair is at most
/// `2 * 127 * 127`; signed ones have magnitudes of at most 128, and activations of at most 127: neither saturates.
///
/// # Safety
/// AVX2.
#[inline(always)]
pub(super) unsafe fn multiply<const SIGNED: bool>(codes: __m256i, x: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        if SIGNED {
            _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(x, codes))
        } else {
            _mm256_maddubs_epi16(codes, x)
        }
    }
}

/// Adds elements of 16 or of 32 bits.
///
/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn add<const BITS: usize>(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe { if BITS == 16 { _mm256_add_epi16(a, b) } else { _mm256_add_epi32(a, b) } }
}

/// The sums of four registers, as four elements in each half, of which two belong together.
///
/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn four<const BITS: usize>(a: __m256i, b: __m256i, c: __m256i, d: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        let ab = add::<BITS>(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let cd = add::<BITS>(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
        add::<BITS>(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd))
    }
}

/// Adds the halves of two results of [`four`].
///
/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn join(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe { _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31)) }
}

/// The sums of eight registers of 32-bit elements, as one register.
///
/// # Safety
/// AVX2.
#[inline(always)]
pub(super) unsafe fn sums(v: &[__m256i; 8]) -> __m256i {
    // SAFETY: the caller's.
    unsafe { join(four::<32>(v[0], v[1], v[2], v[3]), four::<32>(v[4], v[5], v[6], v[7])) }
}

/// The products of eight registers of codes with one of activations, summed.
///
/// # Safety
/// AVX2.
#[inline(always)]
pub(super) unsafe fn dots<F: ShortLanes>(w: &[__m256i; 8], x: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        let ones = _mm256_set1_epi16(1);
        let mut p = [_mm256_setzero_si256(); 8];
        for r in 0..8 {
            p[r] = if F::SIGNED { multiply::<true>(w[r], x) } else { multiply::<false>(w[r], x) };
        }
        if additions(F::SIGNED, F::TOP) >= 4 {
            // Sums of four pairs stay in 16 bits.
            let low = _mm256_madd_epi16(four::<16>(p[0], p[1], p[2], p[3]), ones);
            join(low, _mm256_madd_epi16(four::<16>(p[4], p[5], p[6], p[7]), ones))
        } else {
            for r in 0..8 {
                p[r] = _mm256_madd_epi16(p[r], ones);
            }
            sums(&p)
        }
    }
}

/// The half-precision numbers at byte `at` of eight rows.
///
/// # Safety
/// AVX2 and F16C; two bytes at `at` of every row.
#[inline(always)]
pub(super) unsafe fn halves_at(rows: &[&[u8]; 8], at: usize) -> __m256 {
    // SAFETY: the caller's.
    unsafe {
        macro_rules! at {
            ($r:literal) => {
                rows[$r].as_ptr().add(at).cast::<i16>().read_unaligned()
            };
        }
        _mm256_cvtph_ps(_mm_setr_epi16(at!(0), at!(1), at!(2), at!(3), at!(4), at!(5), at!(6), at!(7)))
    }
}

/// The 8 x 8 transpose of 32-bit elements: element `c` of register `r` goes to element `r` of register `c`.
///
/// # Safety
/// AVX2.
#[inline(always)]
pub(super) unsafe fn transpose(v: [__m256i; 8]) -> [__m256i; 8] {
    // SAFETY: the caller's.
    unsafe {
        let mut a = [_mm256_setzero_si256(); 4];
        let mut b = [_mm256_setzero_si256(); 4];
        for i in 0..4 {
            a[i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
            b[i] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
        }
        // Columns 0, 1, 2, 3 (and 4 to 7 in the upper halves) of rows 0 to 3, then of rows 4 to 7.
        let low = [
            _mm256_unpacklo_epi64(a[0], a[1]),
            _mm256_unpackhi_epi64(a[0], a[1]),
            _mm256_unpacklo_epi64(b[0], b[1]),
            _mm256_unpackhi_epi64(b[0], b[1]),
        ];
        let high = [
            _mm256_unpacklo_epi64(a[2], a[3]),
            _mm256_unpackhi_epi64(a[2], a[3]),
            _mm256_unpacklo_epi64(b[2], b[3]),
            _mm256_unpackhi_epi64(b[2], b[3]),
        ];
        let mut out = [_mm256_setzero_si256(); 8];
        for c in 0..4 {
            out[c] = _mm256_permute2x128_si256(low[c], high[c], 0x20);
            out[c + 4] = _mm256_permute2x128_si256(low[c], high[c], 0x31);
        }
        out
    }
}

/// How many registers of 16-bit pairs may be added before they leave 16 bits.
pub(super) const fn additions(signed: bool, top: u8) -> usize {
    match top {
        _ if signed => 1,
        0..=15 => 8,
        16..=31 => 4,
        32..=63 => 2,
        _ => 1,
    }
}
