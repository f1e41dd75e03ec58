//! Weights of -1, 0 and 1 with one scale: `TQ1_0` and `TQ2_0`.

use super::number::{extreme, inverse, put_half};
use super::row_encoder;

row_encoder! {
    /// Five digits to a byte.
    tq1_0 = block_tq1_0, 256 => 54;
    /// Four digits to a byte.
    tq2_0 = block_tq2_0, 256 => 66;
}

/// The largest magnitude, and the digits from 0 to 2.
#[inline(always)]
fn digits(x: &[f32; 256]) -> (f32, [u8; 256]) {
    let d = extreme(x).abs();
    let id = inverse(d);
    // A magnitude whose inverse overflows is zero in half precision, whatever the digits.
    (d, x.map(|v| if id.is_finite() { ((v * id).round() + 1.0) as u8 } else { 1 }))
}

/// Five digits, the first the most significant, as a fraction of 256 in base three, rounded up.
#[inline(always)]
fn fraction(digits: [u8; 5]) -> u8 {
    let q = digits.iter().fold(0, |q: u16, &d| 3 * q + u16::from(d));
    (q * 256).div_ceil(243) as u8
}

#[inline(always)]
fn block_tq1_0(x: &[f32; 256], b: &mut [u8; 54], _: Option<(&[f32; 256], f32)>) {
    let (d, q) = digits(x);
    put_half(b, 52, d);
    for m in 0..32 {
        b[m] = fraction(std::array::from_fn(|n| q[32 * n + m]));
    }
    for m in 0..16 {
        b[32 + m] = fraction(std::array::from_fn(|n| q[160 + 16 * n + m]));
    }
    for m in 0..4 {
        b[48 + m] = fraction(std::array::from_fn(|n| if n < 4 { q[240 + 4 * n + m] } else { 0 }));
    }
}

#[inline(always)]
fn block_tq2_0(x: &[f32; 256], b: &mut [u8; 66], _: Option<(&[f32; 256], f32)>) {
    let (d, q) = digits(x);
    put_half(b, 64, d);
    for (b, q) in b[..64].as_chunks_mut::<32>().0.iter_mut().zip(q.as_chunks::<128>().0) {
        for m in 0..32 {
            b[m] = (0..4).fold(0, |bits, n| bits | q[32 * n + m] << (2 * n));
        }
    }
}
