//! Codes of the formats as registers, and sums across registers.
//!
//! Every function here is part of a caller that was compiled for AVX2, FMA and F16C, which is the first item of every
//! safety contract.

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
        std::array::from_fn(|p| unsafe { _mm256_loadu_si256(codes.as_ptr().add(32 * p).cast()) })
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

macro_rules! super_lanes {
    ($($name:ty: |$p:ident| $load:expr;)+) => {
        $(impl SuperLanes for $name {
            #[inline(always)]
            unsafe fn load($p: *const u8) -> [__m256i; 8] {
                // SAFETY: every read is inside the block, which the caller says is there.
                unsafe { $load }
            }
        })+
    };
}
super_lanes! {
    Q2_K: |p| pairs(p.add(16));
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
    Q4_K: |p| halves(p.add(16));
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
    };
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
    };
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

/// The sums of eight registers, as one register.
///
/// # Safety
/// AVX2.
#[inline(always)]
pub(super) unsafe fn sums(v: &[__m256i; 8]) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        let a = _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]), _mm256_hadd_epi32(v[2], v[3]));
        let b = _mm256_hadd_epi32(_mm256_hadd_epi32(v[4], v[5]), _mm256_hadd_epi32(v[6], v[7]));
        _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31))
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
        let a: [__m256i; 4] = std::array::from_fn(|i| _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]));
        let b: [__m256i; 4] = std::array::from_fn(|i| _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
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
        std::array::from_fn(|c| {
            if c < 4 {
                _mm256_permute2x128_si256(low[c], high[c], 0x20)
            } else {
                _mm256_permute2x128_si256(low[c - 4], high[c - 4], 0x31)
            }
        })
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
