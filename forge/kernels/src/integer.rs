//! Integer division with its two roundings, remainders, and operations on bits.

use crate::arith::Num;
use crate::dtype::Element;

/// Integers. Divisors are not zero: callers have refused those. `MIN / -1` wraps to `MIN` (remainder 0).
pub trait Int: Num {
    /// The quotient rounded towards negative infinity.
    fn floor_quotient(self, o: Self) -> Self;
    /// What is left by the quotient rounded towards zero: it has the sign of `self`.
    fn rem(self, o: Self) -> Self;
    /// What is left by [`Int::floor_quotient`]: it has the sign of `o`.
    fn modulo(self, o: Self) -> Self;
}

macro_rules! int {
    ($($t:ty)*) => {$(
        impl Int for $t {
            #[inline(always)]
            fn floor_quotient(self, o: Self) -> Self {
                let q = self.wrapping_div(o);
                // Rounded towards zero is one too high where something is left and the signs differ.
                let r = self.wrapping_rem(o);
                if r != 0 && (r < 0) != (o < 0) { q.wrapping_sub(1) } else { q }
            }
            #[inline(always)]
            fn rem(self, o: Self) -> Self { self.wrapping_rem(o) }
            #[inline(always)]
            fn modulo(self, o: Self) -> Self {
                let r = self.wrapping_rem(o);
                if r != 0 && (r < 0) != (o < 0) { r.wrapping_add(o) } else { r }
            }
        }
    )*};
}
macro_rules! unsigned {
    ($($t:ty)*) => {$(
        impl Int for $t {
            #[inline(always)]
            fn floor_quotient(self, o: Self) -> Self { self / o }
            #[inline(always)]
            fn rem(self, o: Self) -> Self { self % o }
            #[inline(always)]
            fn modulo(self, o: Self) -> Self { self % o }
        }
    )*};
}
int!(i8 i16 i32 i64);
unsigned!(u8 u16);

/// Integers and bools, as rows of bits.
#[allow(missing_docs, reason = "the names are the documentation")]
pub trait Bits: Element {
    fn and(self, o: Self) -> Self;
    fn or(self, o: Self) -> Self;
    fn xor(self, o: Self) -> Self;
    fn not(self) -> Self;
}

macro_rules! bits {
    ($($t:ty)*) => {$(
        impl Bits for $t {
            #[inline(always)]
            fn and(self, o: Self) -> Self { self & o }
            #[inline(always)]
            fn or(self, o: Self) -> Self { self | o }
            #[inline(always)]
            fn xor(self, o: Self) -> Self { self ^ o }
            #[inline(always)]
            fn not(self) -> Self { !self }
        }
    )*};
}
bits!(i8 i16 i32 i64 u8 u16 bool);

/// Which division.
#[allow(missing_docs, reason = "the names are the documentation")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntOp {
    DivTrunc,
    DivFloor,
    Rem,
    Modulo,
}

/// Which operation on bits.
#[allow(missing_docs, reason = "the names are the documentation")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOp {
    And,
    Or,
    Xor,
}

/// `out[i] = op(a[i], b[i])`.
pub fn binary<T: Int>(op: IntOp, out: &mut [T], a: &[T], b: &[T]) {
    let each = |out: &mut [T], f: fn(T, T) -> T| {
        for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *o = f(a, b);
        }
    };
    match op {
        IntOp::DivTrunc => each(out, T::div),
        IntOp::DivFloor => each(out, T::floor_quotient),
        IntOp::Rem => each(out, T::rem),
        IntOp::Modulo => each(out, T::modulo),
    }
}

/// `out[i] = op(a[i], b[i])`, bit by bit.
pub fn bits<T: Bits>(op: BitOp, out: &mut [T], a: &[T], b: &[T]) {
    let pairs = out.iter_mut().zip(a).zip(b);
    match op {
        BitOp::And => pairs.for_each(|((o, &a), &b)| *o = a.and(b)),
        BitOp::Or => pairs.for_each(|((o, &a), &b)| *o = a.or(b)),
        BitOp::Xor => pairs.for_each(|((o, &a), &b)| *o = a.xor(b)),
    }
}

/// `out[i] = !a[i]`, bit by bit.
pub fn not<T: Bits>(out: &mut [T], a: &[T]) {
    for (o, &a) in out.iter_mut().zip(a) {
        *o = a.not();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_roundings() {
        for a in -7i8..=7 {
            for b in (-3i8..=3).filter(|b| *b != 0) {
                let floor = (f64::from(a) / f64::from(b)).floor() as i8;
                assert_eq!(a.floor_quotient(b), floor, "{a} {b}");
                assert_eq!(a.modulo(b), a - b * floor, "{a} {b}");
                assert_eq!(Int::rem(a, b), a - b * (a / b), "{a} {b}");
            }
        }
        assert_eq!((i8::MIN.floor_quotient(-1), Int::rem(i8::MIN, -1), i8::MIN.modulo(-1)), (i8::MIN, 0, 0));
        assert_eq!((200u8.floor_quotient(7), 200u8.modulo(7)), (28, 4));
    }
}
