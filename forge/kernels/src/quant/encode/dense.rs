//! Plain number types.

use super::row_encoder;
use half::{bf16 as Bf16, f16 as F16};

row_encoder! {
    /// Single precision, as it is.
    f32 = one_f32, 1 => 4;
    /// Double precision, exact.
    f64 = one_f64, 1 => 8;
    /// Half precision, to the nearest, ties to even.
    f16 = one_f16, 1 => 2;
    /// The upper half of single precision, to the nearest, ties to even.
    bf16 = one_bf16, 1 => 2;
}

#[inline(always)]
fn one_f32(x: &[f32; 1], b: &mut [u8; 4], _: Option<(&[f32; 1], f32)>) {
    *b = x[0].to_le_bytes();
}

#[inline(always)]
fn one_f64(x: &[f32; 1], b: &mut [u8; 8], _: Option<(&[f32; 1], f32)>) {
    *b = f64::from(x[0]).to_le_bytes();
}

#[inline(always)]
fn one_f16(x: &[f32; 1], b: &mut [u8; 2], _: Option<(&[f32; 1], f32)>) {
    *b = F16::from_f32_const(x[0]).to_le_bytes();
}

#[inline(always)]
fn one_bf16(x: &[f32; 1], b: &mut [u8; 2], _: Option<(&[f32; 1], f32)>) {
    *b = Bf16::from_f32_const(x[0]).to_le_bytes();
}
