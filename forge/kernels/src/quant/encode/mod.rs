//! Single precision to stored elements, exactly as ggml writes them.
//!
//! Searches for scales add in one order and fuse nothing, so every instruction set and every number of threads gives the
//! same bytes.

mod dense;
mod float4;
mod k;
mod number;
mod search;
mod simple;
mod ternary;
mod uneven;

use super::bytes::u16_at;
use super::{Format, QuantError};
use crate::team;

/// Elements that one task encodes when rows do not matter: a whole number of blocks of every format.
const TASK: usize = 4096;

/// No scale in half precision reaches it with the codes of any format, and sums of cubes below it are finite.
const LARGE: f32 = (1 << 30) as f32;

/// Below it a scale in single precision times the largest code is finite, roundings included.
const LARGE_SINGLE: f32 = 3.4e38;

/// Sums of products of importances up to it and three numbers below [`LARGE`] are finite.
const MOST_IMPORTANT: f32 = (1u64 << 40) as f32;

/// Encodes `x` to `out`, blocks of `format` one after the other: what [`decode()`](super::decode()) reads.
///
/// `importance` says how much the square of an error in each column of a row counts, for the formats whose scales are
/// searched; its length is the length of a row, and `x` holds one or more rows. Formats that do not search ignore it.
/// Without it a block depends on its elements alone.
///
/// `F16` and `BF16` round to the nearest, ties to even, and keep what is not finite. Elements so small that the scale of
/// their block vanishes in half precision become zero; `NVFP4` clips at 2688, and `MXFP4` has no scale below `2^-127`
/// (where ggml's conversion wraps).
///
/// # Errors
/// - [`QuantError::NotReal`] for a format of integers, [`QuantError::NoEncoder`] for one that can only be read.
/// - [`QuantError::PartialBlock`], [`QuantError::TooLarge`] or [`QuantError::WrongBytes`] when `x` or a row is not a whole
///   number of blocks or `out` does not hold them, [`QuantError::WrongLength`] when `x` is not a whole number of rows.
/// - [`QuantError::NotFinite`] when an element of a quantised format is not finite, [`QuantError::ScaleOverflow`] when
///   elements are so large that their scale overflows, [`QuantError::BadImportance`]. `out` is unspecified then.
///
/// ```
/// use forge_kernels::quant::{Format, decode, encode};
/// let x: Vec<f32> = (0..32).map(|i| i as f32 - 16.0).collect();
/// let mut bytes = [0; 34];
/// encode(Format::Q8_0, &x, &mut bytes, None)?;
/// let mut back = [0.0; 32];
/// decode(Format::Q8_0, &bytes, &mut back)?;
/// assert!(x.iter().zip(back).all(|(x, y)| (x - y).abs() <= 0.51 * 16.0 / 127.0));
/// # Ok::<(), forge_kernels::quant::QuantError>(())
/// ```
pub fn encode(format: Format, x: &[f32], out: &mut [u8], importance: Option<&[f32]>) -> Result<(), QuantError> {
    if !format.is_real() {
        return Err(QuantError::NotReal { format });
    }
    let encoder = rows(format).ok_or(QuantError::NoEncoder { format })?;
    let expected = format.row_bytes(x.len())?;
    if out.len() != expected {
        return Err(QuantError::WrongBytes { format, len: x.len(), expected, found: out.len() });
    }
    if let Some(w) = importance {
        format.row_bytes(w.len())?;
        if w.is_empty() && !x.is_empty() {
            return Err(QuantError::WrongLength { what: "importance", expected: x.len(), found: 0 });
        }
        if x.len().checked_rem(w.len()).is_some_and(|rest| rest != 0) {
            let expected = x.len().next_multiple_of(w.len());
            return Err(QuantError::WrongLength { what: "x", expected, found: x.len() });
        }
        if let Some(index) = w.iter().position(|w| !(0.0..=MOST_IMPORTANT).contains(w)) {
            return Err(QuantError::BadImportance { index });
        }
    }
    if !format.is_quantised() {
        team::for_each_chunk(out, TASK * format.block_bytes(), |i, out| {
            let x = &x[i * TASK..];
            encoder(&x[..x.len().min(TASK)], out, None);
        });
        return Ok(());
    }
    if let Some(index) = x.iter().position(|x| !x.is_finite()) {
        return Err(QuantError::NotFinite { index });
    }
    let overflow = |i: usize| QuantError::ScaleOverflow { format, index: i / format.block_len() * format.block_len() };
    let limit = if scales(format).is_empty() { LARGE_SINGLE } else { LARGE };
    if let Some(index) = x.iter().position(|x| x.abs() >= limit) {
        return Err(overflow(index));
    }
    let task = importance.map_or(TASK, <[f32]>::len).max(1);
    team::for_each_chunk(out, (task / format.block_len() * format.block_bytes()).max(1), |i, out| {
        let x = &x[i * task..];
        encoder(&x[..x.len().min(task)], out, importance);
    });
    let infinite = |b: &[u8]| scales(format).iter().any(|&at| u16_at(b, at) & 0x7c00 == 0x7c00);
    match out.chunks_exact(format.block_bytes()).position(infinite) {
        Some(block) => Err(overflow(block * format.block_len())),
        None => Ok(()),
    }
}

/// The encoder of whole blocks, or of one row where there are importances; the lengths must agree.
fn rows(format: Format) -> Option<fn(&[f32], &mut [u8], Option<&[f32]>)> {
    Some(match format {
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
        Format::IQ4_NL => uneven::iq4_nl,
        Format::IQ4_XS => uneven::iq4_xs,
        Format::TQ1_0 => ternary::tq1_0,
        Format::TQ2_0 => ternary::tq2_0,
        Format::MXFP4 => float4::mxfp4,
        Format::NVFP4 => float4::nvfp4,
        _ => return None,
    })
}

/// Where the scales and minima in half precision are in a block.
fn scales(format: Format) -> &'static [usize] {
    match format {
        Format::Q8_K | Format::MXFP4 | Format::NVFP4 => &[],
        Format::Q4_1 | Format::Q5_1 | Format::Q8_1 | Format::Q4_K | Format::Q5_K => &[0, 2],
        Format::Q2_K => &[80, 82],
        Format::Q3_K => &[108],
        Format::Q6_K => &[208],
        Format::TQ1_0 => &[52],
        Format::TQ2_0 => &[64],
        _ => &[0],
    }
}

/// Turns the encoder of one block into the encoder of a row, compiled for each instruction set. The block's encoder gets
/// the importances of its elements and, where there are some, the mean square of the row.
macro_rules! row_encoder {
    ($($(#[$doc:meta])* $name:ident = $block:path, $len:literal => $bytes:literal;)+) => {
        $($crate::multiversion! {
            $(#[$doc])*
            pub(crate) fn $name(x: &[f32], out: &mut [u8], importance: Option<&[f32]>) {
                let (values, _) = x.as_chunks::<$len>();
                let (blocks, _) = out.as_chunks_mut::<$bytes>();
                let weights = importance.map(|w| w.as_chunks::<$len>().0);
                let mean = if weights.is_some() { $crate::quant::encode::search::mean_square(x) } else { 0.0 };
                for (i, (x, b)) in values.iter().zip(blocks).enumerate() {
                    $block(x, b, weights.map(|w| (&w[i], mean)));
                }
            }
        })+
    };
}
use row_encoder;
