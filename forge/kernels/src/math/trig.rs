//! `sin` and `cos`: the argument less a multiple of `pi / 2` (in `f64`, two pieces, after Cody and Waite), then one of
//! two polynomials.

use super::{Real, poly};

/// The largest magnitude that the vectorised reduction takes; beyond it the result is that of `f64` arithmetic, one by
/// one.
pub const TRIG_MAX: f32 = 1_048_576.0; // 2^20

/// `pi / 2` in two pieces; the first has 33 bits, so its product with a multiple below 2^20 is exact.
const PIO2_HI: f64 = f64::from_bits(0x3ff9_21fb_5440_0000);
const PIO2_LO: f64 = 6.077_100_506_506_192e-11;
const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// `sin(a + turn * pi / 2)` for `0 <= a <= TRIG_MAX`.
#[inline(always)]
fn quarter(a: f32, turn: u32) -> f32 {
    let a = f64::from(a);
    let t = a * std::f64::consts::FRAC_2_PI + MAGIC;
    let n = t - MAGIC;
    let r = ((a - n * PIO2_HI) - n * PIO2_LO) as f32;
    let q = (t.to_bits() as u32).wrapping_add(turn);
    let z = r * r;
    // (sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4 of r^2, minimax on |r| <= pi / 4.
    let s = r + r * z * poly(z, [-0.166_666_67, 0.008_333_332, -1.984_008_4e-4, 2.724_962e-6]);
    let c = 1.0 - (0.5 * z - z * z * poly(z, [0.041_666_664, -0.001_388_830_1, 2.454_769e-5]));
    let y = if q & 1 == 0 { s } else { c };
    f32::from_bits(y.to_bits() ^ ((q & 2) << 30))
}

/// `sin x` for `|x| <= TRIG_MAX`, at most 1.6 ULP; branch-free. NaN for NaN; of no meaning for larger arguments.
#[inline(always)]
pub fn sin_bounded(x: f32) -> f32 {
    let y = quarter(x.abs(), 0);
    f32::from_bits(y.to_bits() ^ (x.to_bits() & 0x8000_0000))
}

/// `cos x` for `|x| <= TRIG_MAX`, at most 1.6 ULP; branch-free. NaN for NaN; of no meaning for larger arguments.
#[inline(always)]
pub fn cos_bounded(x: f32) -> f32 {
    quarter(x.abs(), 1)
}

/// `sin x` for any `x`, at most 1.6 ULP. Has a branch: loops call [`sin_slice`].
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    if x.abs() <= TRIG_MAX { sin_bounded(x) } else { f64::from(x).sin() as f32 }
}

/// `cos x` for any `x`, at most 1.6 ULP. Has a branch: loops call [`cos_slice`].
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    if x.abs() <= TRIG_MAX { cos_bounded(x) } else { f64::from(x).cos() as f32 }
}

/// Elements that are tested for size together.
const BLOCK: usize = 128;

crate::multiversion! {
    /// `out[i] = sin(x[i])`, vectorised wherever all of 128 neighbours are at most [`TRIG_MAX`] in magnitude. Gives the
    /// bits of [`Real::sin`].
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn sin_slice<T: Real>(out: &mut [T], x: &[T]) {
        assert_eq!(out.len(), x.len(), "one output for each input");
        for (o, x) in out.chunks_mut(BLOCK).zip(x.chunks(BLOCK)) {
            if any_large(x) {
                o.iter_mut().zip(x).for_each(|(o, &x)| *o = x.sin());
            } else {
                o.iter_mut().zip(x).for_each(|(o, &x)| *o = x.sin_bounded());
            }
        }
    }
}

crate::multiversion! {
    /// `out[i] = cos(x[i])`, like [`sin_slice`].
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn cos_slice<T: Real>(out: &mut [T], x: &[T]) {
        assert_eq!(out.len(), x.len(), "one output for each input");
        for (o, x) in out.chunks_mut(BLOCK).zip(x.chunks(BLOCK)) {
            if any_large(x) {
                o.iter_mut().zip(x).for_each(|(o, &x)| *o = x.cos());
            } else {
                o.iter_mut().zip(x).for_each(|(o, &x)| *o = x.cos_bounded());
            }
        }
    }
}

/// Whether an element is larger than [`Real::TRIG_MAX`] in magnitude.
#[inline(always)]
fn any_large<T: Real>(x: &[T]) -> bool {
    // Not `any`: without the early exit the loop vectorises.
    x.iter().fold(false, |large, x| large | (x.abs() > T::TRIG_MAX))
}
