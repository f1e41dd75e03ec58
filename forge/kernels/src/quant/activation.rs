//! Activations as signed bytes: what the integer dot products multiply the codes of the weights with.
//!
//! A block of 32 or of 256 elements has the scale `d = amax / 127`, where `amax` is the largest magnitude, and the codes
//! `round(x * (127 / amax))`, ties to even. A block with an element that is not finite has the scale NaN, so that what
//! it touches is NaN; a block whose `127 / amax` overflows is zero.

use crate::scratch::Scratch;
use crate::team;

/// Elements that share a sum.
pub(crate) const SUMMED: usize = 16;

/// Rows of activations as signed bytes, with the scale of each block and the sums that offsets of the weights need.
pub(crate) struct Activations {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// `[rows, cols]`, from -127 to 127.
    pub(crate) codes: Scratch<i8>,
    /// `[rows, cols / block]`.
    pub(crate) scales: Scratch<f32>,
    /// `[rows, cols / 16]`: the sums of the codes.
    pub(crate) sums: Scratch<i16>,
}

impl Activations {
    /// Quantises `x`, `[rows, cols]`; `cols` is a whole number of blocks of 32 or 256 elements.
    pub(crate) fn new(x: &[f32], rows: usize, cols: usize, block: usize) -> Self {
        let mut codes = Scratch::new(rows * cols);
        let mut scales = Scratch::new(rows * cols / block);
        let mut sums = Scratch::new(rows * cols / SUMMED);
        let chunk = cols;
        team::for_each_chunk3(
            &mut codes,
            chunk,
            &mut scales,
            chunk / block,
            &mut sums,
            chunk / SUMMED,
            |i, codes, scales, sums| {
                let x = &x[i * chunk..][..codes.len()];
                if block == 32 { quantise32(x, codes, scales, sums) } else { quantise256(x, codes, scales, sums) }
            },
        );
        Self { rows, cols, codes, scales, sums }
    }
}

crate::multiversion! {
    fn quantise32(x: &[f32], codes: &mut [i8], scales: &mut [f32], sums: &mut [i16]) {
        quantise::<32>(x, codes, scales, sums);
    }
}

crate::multiversion! {
    fn quantise256(x: &[f32], codes: &mut [i8], scales: &mut [f32], sums: &mut [i16]) {
        quantise::<256>(x, codes, scales, sums);
    }
}

#[inline(always)]
fn quantise<const N: usize>(x: &[f32], codes: &mut [i8], scales: &mut [f32], sums: &mut [i16]) {
    let (x, codes) = (x.as_chunks::<N>().0, codes.as_chunks_mut::<N>().0);
    for ((x, codes), (scale, sums)) in x.iter().zip(codes).zip(scales.iter_mut().zip(sums.chunks_exact_mut(N / SUMMED)))
    {
        // Magnitudes are ordered as their bits are, and NaN is above all.
        let amax = f32::from_bits(x.iter().fold(0, |m, v| m.max(v.to_bits() & 0x7fff_ffff)));
        let inverse = 127.0 / amax;
        let usable = inverse.is_finite() && amax.is_finite();
        *scale = if usable {
            amax / 127.0
        } else if amax.is_finite() {
            0.0
        } else {
            f32::NAN
        };
        let inverse = if usable { inverse } else { 0.0 };
        for (c, &v) in codes.iter_mut().zip(x) {
            // Adding 1.5 * 2^23 rounds to an integer in the low bits. What is not finite times zero is NaN, whose low
            // bits are zero.
            *c = (v * inverse + 12_582_912.0).to_bits() as i8;
        }
        for (s, c) in sums.iter_mut().zip(codes.as_chunks::<SUMMED>().0) {
            *s = c.iter().map(|&c| i16::from(c)).sum();
        }
    }
}
