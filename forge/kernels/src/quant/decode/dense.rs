//! Plain number types.

use super::row_decoder;
use crate::quant::bytes::half_bits;

row_decoder! {
    /// Single precision, as it is.
    f32 = one_f32, 4 => 1;
    /// Double precision, rounded to the nearest.
    f64 = one_f64, 8 => 1;
    /// Half precision in integer arithmetic.
    any_f16 = one_f16, 2 => 1;
    /// The upper half of single precision.
    bf16 = one_bf16, 2 => 1;
}

#[inline(always)]
fn one_f32(b: &[u8; 4], y: &mut [f32; 1]) {
    y[0] = f32::from_le_bytes(*b);
}

#[inline(always)]
fn one_f64(b: &[u8; 8], y: &mut [f32; 1]) {
    y[0] = f64::from_le_bytes(*b) as f32;
}

#[inline(always)]
fn one_f16(b: &[u8; 2], y: &mut [f32; 1]) {
    y[0] = half_bits(u16::from_le_bytes(*b));
}

#[inline(always)]
fn one_bf16(b: &[u8; 2], y: &mut [f32; 1]) {
    y[0] = f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16);
}

/// Half precision.
pub(crate) fn f16(bytes: &[u8], out: &mut [f32]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if crate::isa::isa() >= crate::isa::Isa::Avx2 {
        return crate::quant::dense::x86::decode_f16(bytes, out);
    }
    any_f16(bytes, out);
}
