//! Conversion between element types.

use crate::dtype::{Element, bf16, f16};
use crate::elementwise;
use crate::layout::Strided;

/// Conversion from `S`: integers wrap, float to integer truncates, saturates and sends NaN to 0, anything to bool is
/// `!= 0`, bool to number is 0 or 1, to 16-bit float rounds to nearest even.
pub trait CastFrom<S>: Element {
    /// The converted value.
    fn cast_from(s: S) -> Self;
}

macro_rules! native {
    ($($s:ty => $($t:ty)*;)*) => {$($(
        impl CastFrom<$s> for $t {
            #[inline(always)]
            fn cast_from(s: $s) -> $t { s as $t }
        }
    )*)*};
}
native! {
    f32 => f32 f64 i8 i16 i32 i64 u8 u16;
    f64 => f32 f64 i8 i16 i32 i64 u8 u16;
    i8 => f32 f64 i8 i16 i32 i64 u8 u16;
    i16 => f32 f64 i8 i16 i32 i64 u8 u16;
    i32 => f32 f64 i8 i16 i32 i64 u8 u16;
    i64 => f32 f64 i8 i16 i32 i64 u8 u16;
    u8 => f32 f64 i8 i16 i32 i64 u8 u16;
    u16 => f32 f64 i8 i16 i32 i64 u8 u16;
}
macro_rules! rest {
    ($($s:ty)*) => {$(
        impl CastFrom<$s> for bool {
            #[inline(always)]
            fn cast_from(s: $s) -> bool { s != <$s>::default() }
        }
        impl CastFrom<bool> for $s {
            #[inline(always)]
            fn cast_from(s: bool) -> $s { <$s as CastFrom<u8>>::cast_from(u8::from(s)) }
        }
    )*};
}
rest!(f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16);
impl CastFrom<bool> for bool {
    #[inline(always)]
    fn cast_from(s: bool) -> bool {
        s
    }
}
macro_rules! half {
    ($($h:ty: $($t:ty)*;)*) => {$(
        $(
            impl CastFrom<$h> for $t {
                #[inline(always)]
                fn cast_from(s: $h) -> $t { f32::from(s) as $t }
            }
            impl CastFrom<$t> for $h {
                #[inline(always)]
                fn cast_from(s: $t) -> $h { <$h>::from_f64(s as f64) }
            }
        )*
        impl CastFrom<$h> for $h {
            #[inline(always)]
            fn cast_from(s: $h) -> $h { s }
        }
        impl CastFrom<f32> for $h {
            #[inline(always)]
            fn cast_from(s: f32) -> $h { <$h>::from_f32(s) }
        }
        impl CastFrom<$h> for f32 {
            #[inline(always)]
            fn cast_from(s: $h) -> f32 { f32::from(s) }
        }
    )*};
}
half! {
    f16: f64 i8 i16 i32 i64 u8 u16;
    bf16: f64 i8 i16 i32 i64 u8 u16;
}
impl CastFrom<f16> for bf16 {
    #[inline(always)]
    fn cast_from(s: f16) -> bf16 {
        bf16::from_f32(f32::from(s))
    }
}
impl CastFrom<bf16> for f16 {
    #[inline(always)]
    fn cast_from(s: bf16) -> f16 {
        f16::from_f32(f32::from(s))
    }
}

/// `out = x` converted, for a tensor of any layout.
pub fn cast<S: Element, T: CastFrom<S>>(out: &mut [T], x: &Strided<S>) {
    elementwise::unary(out, x, |o, x| o.iter_mut().zip(x).for_each(|(o, &x)| *o = T::cast_from(x)));
}
