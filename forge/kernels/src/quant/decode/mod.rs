//! Stored elements to single precision, exactly as ggml reads them.
//!
//! Each format multiplies small integers by at most two scales, with the roundings of the formula that its decoder
//! states; no arm fuses them, so every instruction set gives the same bits.

mod codebook;
mod dense;
mod float4;
mod k;
mod simple;
mod ternary;
mod uneven;

use super::{Format, QuantError};

/// Decodes `bytes`, blocks of `format` one after the other, to one single-precision number per element of `out`.
///
/// `F64` is rounded to the nearest; every other format that stands for real numbers is exact in single precision but for
/// the roundings of its own formula.
///
/// # Errors
/// [`QuantError::NotReal`] for a format of integers, [`QuantError::PartialBlock`], [`QuantError::TooLarge`] or
/// [`QuantError::WrongBytes`] when `bytes` are not `out.len()` elements.
///
/// ```
/// use forge_kernels::quant::{Format, decode};
/// // One block of Q8_0: the scale 0.5 in half precision, then 32 signed bytes.
/// let mut block = [0u8; 34];
/// block[..2].copy_from_slice(&0x3800u16.to_le_bytes());
/// block[2] = -3i8 as u8;
/// let mut out = [0.0; 32];
/// decode(Format::Q8_0, &block, &mut out)?;
/// assert_eq!(out[0], -1.5);
/// # Ok::<(), forge_kernels::quant::QuantError>(())
/// ```
pub fn decode(format: Format, bytes: &[u8], out: &mut [f32]) -> Result<(), QuantError> {
    let expected = format.row_bytes(out.len())?;
    if !format.is_real() {
        return Err(QuantError::NotReal { format });
    }
    if bytes.len() != expected {
        return Err(QuantError::WrongBytes { format, len: out.len(), expected, found: bytes.len() });
    }
    rows(format)(bytes, out);
    Ok(())
}

/// The decoder of whole blocks; the lengths must agree.
pub(crate) fn rows(format: Format) -> fn(&[u8], &mut [f32]) {
    match format {
        Format::F32 => dense::f32,
        Format::F64 => dense::f64,
        Format::F16 => dense::f16,
        Format::BF16 => dense::bf16,
        Format::Q1_0 => simple::q1_0,
        Format::Q2_0 => simple::q2_0,
        Format::Q4_0 => simple::q4_0,
        Format::Q4_1 => simple::q4_1,
        Format::Q5_0 => simple::q5_0,
        Format::Q5_1 => simple::q5_1,
        Format::Q8_0 => simple::q8_0,
        Format::Q8_1 => simple::q8_1,
        Format::Q2_K => k::q2_k,
        Format::Q3_K => k::q3_k,
        Format::Q4_K => k::q4_k,
        Format::Q5_K => k::q5_k,
        Format::Q6_K => k::q6_k,
        Format::Q8_K => k::q8_k,
        Format::IQ1_S => codebook::iq1_s,
        Format::IQ1_M => codebook::iq1_m,
        Format::IQ2_XXS => codebook::iq2_xxs,
        Format::IQ2_XS => codebook::iq2_xs,
        Format::IQ2_S => codebook::iq2_s,
        Format::IQ3_XXS => codebook::iq3_xxs,
        Format::IQ3_S => codebook::iq3_s,
        Format::IQ4_NL => uneven::iq4_nl,
        Format::IQ4_XS => uneven::iq4_xs,
        Format::TQ1_0 => ternary::tq1_0,
        Format::TQ2_0 => ternary::tq2_0,
        Format::MXFP4 => float4::mxfp4,
        Format::NVFP4 => float4::nvfp4,
        Format::I8 | Format::I16 | Format::I32 | Format::I64 => unreachable!("integers are refused before"),
    }
}

/// Turns the decoder of one block into the decoder of a row, compiled for each instruction set.
macro_rules! row_decoder {
    ($($(#[$doc:meta])* $name:ident = $block:path, $bytes:literal => $len:literal;)+) => {
        $($crate::multiversion! {
            $(#[$doc])*
            pub(crate) fn $name(bytes: &[u8], out: &mut [f32]) {
                let (blocks, _) = bytes.as_chunks::<$bytes>();
                let (values, _) = out.as_chunks_mut::<$len>();
                for (b, y) in blocks.iter().zip(values) {
                    $block(b, y);
                }
            }
        })+
    };
}
use row_decoder;
