//! What the integer dot products know of each format: codes, zero points and scales in the natural order of elements.

use crate::quant::bytes::{half, scales6, scales6_signed, u16_at, u32_at};
use crate::quant::levels::UNEVEN;

/// A format of short blocks with scales in floating point: element = `scale * (code - ZERO) + min`.
pub(crate) trait Short {
    /// Bytes of a block.
    const BYTES: usize;
    /// Parts of 32 elements in a block.
    const PARTS: usize;
    /// Whether codes may be negative; else they are at most `TOP`.
    const SIGNED: bool = false;
    /// The largest code of an unsigned format, at most 127.
    const TOP: u8;
    /// What is subtracted from the codes.
    const ZERO: i32 = 0;
    /// Whether there is a minimum.
    const MIN: bool = false;
    /// The codes of part `j`.
    fn codes(block: &[u8], j: usize) -> [i8; 32];
    /// Scale and minimum, as they stand at the front.
    #[inline(always)]
    fn scale(block: &[u8]) -> (f32, f32) {
        (half(block, 0), if Self::MIN { half(block, 2) } else { 0.0 })
    }
}

/// A format of blocks of 256 whose sixteenths have integer scales: element = `scale * s * (code - ZERO) - scale_min * m`.
pub(crate) trait Super {
    /// Bytes of a block.
    const BYTES: usize;
    /// Whether codes may be negative; else they are at most `TOP`.
    const SIGNED: bool = false;
    /// The largest code of an unsigned format, at most 127.
    const TOP: u8;
    /// What is subtracted from the codes.
    const ZERO: i32 = 0;
    /// Whether there are minima.
    const MIN: bool = false;
    /// Whether the sixteenths share their scales in pairs.
    const PAIRED: bool;
    /// The codes.
    fn codes(block: &[u8]) -> [i8; 256];
    /// The scales and the minima of the sixteenths.
    fn scales(block: &[u8]) -> ([i8; 16], [u8; 16]);
    /// Where the scale of the scales stands, and behind it that of the minima.
    const SCALE: usize;
    /// The scales of the scales and of the minima.
    #[inline(always)]
    fn scale(block: &[u8]) -> (f32, f32) {
        (half(block, Self::SCALE), if Self::MIN { half(block, Self::SCALE + 2) } else { 0.0 })
    }
}

/// Sixteen values, each for two sixteenths.
#[inline(always)]
fn twice<T: Copy>(x: [T; 8]) -> [T; 16] {
    std::array::from_fn(|i| x[i / 2])
}

/// Low nibbles, then high nibbles, of sixteen bytes.
#[inline(always)]
fn nibbles(b: &[u8]) -> [u8; 32] {
    let b = &b[..16];
    let mut q = [0; 32];
    for i in 0..16 {
        q[i] = b[i] & 15;
        q[i + 16] = b[i] >> 4;
    }
    q
}

macro_rules! short {
    ($(#[$doc:meta])* $name:ident, $bytes:literal x $parts:literal, $signed:literal $top:literal - $zero:literal, min $min:literal,
     |$b:ident, $j:ident| $codes:expr) => {
        $(#[$doc])*
        #[allow(non_camel_case_types, reason = "the names that the field writes")]
        pub(crate) struct $name;
        impl Short for $name {
            const BYTES: usize = $bytes;
            const PARTS: usize = $parts;
            const SIGNED: bool = $signed;
            const TOP: u8 = $top;
            const ZERO: i32 = $zero;
            const MIN: bool = $min;
            #[inline(always)]
            fn codes($b: &[u8], $j: usize) -> [i8; 32] {
                let _ = $j;
                $codes
            }
        }
    };
}

short!(Q4_0, 18 x 1, false 15 - 8, min false, |b, j| nibbles(&b[2..]).map(|q| q as i8));
short!(Q4_1, 20 x 1, false 15 - 0, min true, |b, j| nibbles(&b[4..]).map(|q| q as i8));
short!(Q5_0, 22 x 1, false 31 - 16, min false, |b, j| fives(&b[6..], u32_at(b, 2)));
short!(Q5_1, 24 x 1, false 31 - 0, min true, |b, j| fives(&b[8..], u32_at(b, 4)));
short!(Q8_0, 34 x 1, true 127 - 0, min false, |b, j| std::array::from_fn(|i| b[2 + i] as i8));
short!(IQ4_NL, 18 x 1, true 127 - 0, min false, |b, j| nibbles(&b[2..]).map(|q| UNEVEN[usize::from(q)]));
short!(Q1_0, 18 x 4, false 2 - 1, min false,
    |b, j| std::array::from_fn(|i| ((b[2 + 4 * j + i / 8] >> (i % 8) & 1) << 1) as i8));
short!(Q2_0, 18 x 2, false 3 - 1, min false,
    |b, j| std::array::from_fn(|i| (b[2 + 8 * j + i / 4] >> (i % 4 * 2) & 3) as i8));

#[inline(always)]
fn fives(b: &[u8], high: u32) -> [i8; 32] {
    let q = nibbles(b);
    std::array::from_fn(|i| (q[i] | ((high >> i & 1) << 4) as u8) as i8)
}

macro_rules! blocks {
    ($(#[$doc:meta])* $name:ident, $bytes:literal, $signed:literal $top:literal - $zero:literal, min $min:literal,
     paired $paired:literal, scale $scale:literal, |$b:ident| $codes:expr, $scales:expr) => {
        $(#[$doc])*
        #[allow(non_camel_case_types, reason = "the names that the field writes")]
        pub(crate) struct $name;
        impl Super for $name {
            const BYTES: usize = $bytes;
            const SIGNED: bool = $signed;
            const TOP: u8 = $top;
            const ZERO: i32 = $zero;
            const MIN: bool = $min;
            const PAIRED: bool = $paired;
            const SCALE: usize = $scale;
            #[inline(always)]
            fn codes($b: &[u8]) -> [i8; 256] {
                $codes
            }
            #[inline(always)]
            fn scales($b: &[u8]) -> ([i8; 16], [u8; 16]) {
                let _ = $b;
                $scales
            }
        }
    };
}

/// 256 codes by a function of the part of 32 elements and the element in it.
#[inline(always)]
fn by_part(f: impl Fn(usize, usize) -> i8) -> [i8; 256] {
    let mut q = [0; 256];
    for (part, q) in q.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        for (l, q) in q.iter_mut().enumerate() {
            *q = f(part, l);
        }
    }
    q
}

blocks!(Q2_K, 84, false 3 - 0, min true, paired false, scale 80,
    |b| by_part(|p, l| (b[16 + p / 4 * 32 + l] >> (p % 4 * 2) & 3) as i8),
    (std::array::from_fn(|s| (b[s] & 15) as i8), std::array::from_fn(|s| b[s] >> 4)));
blocks!(Q3_K, 110, false 7 - 4, min false, paired false, scale 108,
    |b| by_part(|p, l| (b[32 + p / 4 * 32 + l] >> (p % 4 * 2) & 3 | (b[l] >> p & 1) << 2) as i8),
    (scales6_signed(&b[96..108]), [0; 16]));
blocks!(Q4_K, 144, false 15 - 0, min true, paired true, scale 0,
    |b| by_part(|p, l| (b[16 + p / 2 * 32 + l] >> (p % 2 * 4) & 15) as i8),
    six(&b[4..16]));
blocks!(Q5_K, 176, false 31 - 0, min true, paired true, scale 0,
    |b| by_part(|p, l| (b[48 + p / 2 * 32 + l] >> (p % 2 * 4) & 15 | (b[16 + l] >> p & 1) << 4) as i8),
    six(&b[4..16]));
blocks!(Q6_K, 210, false 63 - 32, min false, paired false, scale 208,
    |b| by_part(|p, l| {
        let (side, quarter) = (p / 4, p % 4);
        let low = b[side * 64 + quarter % 2 * 32 + l] >> (quarter / 2 * 4) & 15;
        (low | (b[128 + side * 32 + l] >> (2 * quarter) & 3) << 4) as i8
    }),
    (std::array::from_fn(|s| b[192 + s] as i8), [0; 16]));
blocks!(IQ4_XS, 136, true 127 - 0, min false, paired true, scale 0,
    |b| by_part(|p, l| UNEVEN[usize::from(b[8 + 16 * p + l % 16] >> (l / 16 * 4) & 15)]),
    (twice(std::array::from_fn(|s| {
        let high = (u16_at(b, 2) >> (2 * s) & 3) << 4;
        (b[4 + s / 2] >> (s % 2 * 4) & 15 | high as u8) as i8 - 32
    })), [0; 16]));
blocks!(TQ2_0, 66, false 3 - 1, min false, paired true, scale 64,
    |b| by_part(|p, l| (b[p / 4 * 32 + l] >> (p % 4 * 2) & 3) as i8),
    ([1; 16], [0; 16]));

#[inline(always)]
fn six(b: &[u8]) -> ([i8; 16], [u8; 16]) {
    let (scales, mins) = scales6(b);
    (twice(scales.map(|s| s as i8)), twice(mins))
}
