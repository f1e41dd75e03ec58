//! The meaning of the products, on any machine.

use super::{LANES, ROWS, Work};
use crate::quant::bytes::half_bits;

/// Weights in single precision.
pub(super) fn products_f32(work: &Work<'_>, put: &mut dyn FnMut(usize, &[f32; ROWS])) {
    every(work, put, |b: &[u8; 4]| f32::from_ne_bytes(*b));
}

/// Weights in half precision.
pub(super) fn products_f16(work: &Work<'_>, put: &mut dyn FnMut(usize, &[f32; ROWS])) {
    every(work, put, |b: &[u8; 2]| half_bits(u16::from_le_bytes(*b)));
}

/// Weights that are upper halves of single precision.
pub(super) fn products_bf16(work: &Work<'_>, put: &mut dyn FnMut(usize, &[f32; ROWS])) {
    every(work, put, |b: &[u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16));
}

#[inline(always)]
fn every<const N: usize>(work: &Work<'_>, put: &mut dyn FnMut(usize, &[f32; ROWS]), read: impl Fn(&[u8; N]) -> f32) {
    for (t, x) in work.x.chunks_exact(work.cols).enumerate() {
        let mut y = [0.0; ROWS];
        for (y, w) in y.iter_mut().zip(&work.w) {
            let mut a = [0.0f32; LANES];
            for (w, x) in w.as_chunks::<N>().0.chunks(LANES).zip(x.chunks(LANES)) {
                for l in 0..LANES {
                    // Zeros fill the last step.
                    let (w, x) = if l < w.len() { (read(&w[l]), x[l]) } else { (0.0, 0.0) };
                    a[l] = w.mul_add(x, a[l]);
                }
            }
            *y = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
        }
        put(t, &y);
    }
}
