//! Arithmetic on two dense slices: floats by IEEE 754, integers wrapping.

use crate::dtype::Element;
use crate::elementwise::{self, BLOCK};
use crate::layout::Strided;
use crate::multiversion;

/// A number type with native arithmetic.
#[allow(missing_docs, reason = "the names are the documentation")]
pub trait Num: Element + PartialOrd {
    const ZERO: Self;
    const ONE: Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    /// Floats: IEEE division. Integers: truncating; the caller has refused zero divisors; `MIN / -1` wraps.
    fn div(self, o: Self) -> Self;
    /// The larger; NaN in either propagates.
    fn maximum(self, o: Self) -> Self;
    /// The smaller; NaN in either propagates.
    fn minimum(self, o: Self) -> Self;
    fn is_nan(self) -> bool;
    fn neg(self) -> Self;
    /// Floats: `powf` with its rules (0^0 = 1, negative base with a fractional exponent is NaN).
    /// Integers: wrapping power; a negative exponent gives 0 (1 for base 1, +-1 for base -1).
    fn pow(self, o: Self) -> Self;
}

macro_rules! num_float {
    ($($t:ty),*) => {$(
        impl Num for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn add(self, o: Self) -> Self { self + o }
            #[inline(always)]
            fn sub(self, o: Self) -> Self { self - o }
            #[inline(always)]
            fn mul(self, o: Self) -> Self { self * o }
            #[inline(always)]
            fn div(self, o: Self) -> Self { self / o }
            #[inline(always)]
            fn maximum(self, o: Self) -> Self {
                // `a > b` is false for NaN, so NaN in `o` is taken; NaN in `self` is taken by the first test.
                if self > o || self != self { self } else { o }
            }
            #[inline(always)]
            fn minimum(self, o: Self) -> Self {
                if self < o || self != self { self } else { o }
            }
            #[inline(always)]
            fn is_nan(self) -> bool { self != self }
            #[inline(always)]
            fn neg(self) -> Self { -self }
            #[inline(always)]
            fn pow(self, o: Self) -> Self { self.powf(o) }
        }
    )*};
}
num_float!(f32, f64);

macro_rules! num_int {
    ($($t:ty),*) => {$(
        impl Num for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline(always)]
            fn add(self, o: Self) -> Self { self.wrapping_add(o) }
            #[inline(always)]
            fn sub(self, o: Self) -> Self { self.wrapping_sub(o) }
            #[inline(always)]
            fn mul(self, o: Self) -> Self { self.wrapping_mul(o) }
            #[inline(always)]
            fn div(self, o: Self) -> Self { self.wrapping_div(o) }
            #[inline(always)]
            fn maximum(self, o: Self) -> Self { if self > o { self } else { o } }
            #[inline(always)]
            fn minimum(self, o: Self) -> Self { if self < o { self } else { o } }
            #[inline(always)]
            fn is_nan(self) -> bool { false }
            #[inline(always)]
            fn neg(self) -> Self { self.wrapping_neg() }
            #[inline(always)]
            fn pow(self, o: Self) -> Self {
                match u32::try_from(o) {
                    Ok(e) => self.wrapping_pow(e),
                    // A negative exponent (or one past u32, where only parity matters).
                    Err(_) if self == 1 => 1,
                    Err(_) if self.wrapping_add(1) == 0 && Self::MIN != 0 => if o % 2 == 0 { 1 } else { self },
                    Err(_) => 0,
                }
            }
        }
    )*};
}
num_int!(i8, i16, i32, i64, u8, u16);

/// Which binary operation.
#[allow(missing_docs, reason = "the names are the documentation")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Maximum,
    Minimum,
    Pow,
}

/// A binary operation as a type, so that loops are compiled for it.
pub trait Binary<T> {
    /// The operation on one pair.
    fn apply(a: T, b: T) -> T;
}

macro_rules! binary {
    ($($name:ident $f:ident),*) => {$(
        struct $name;
        impl<T: Num> Binary<T> for $name {
            #[inline(always)]
            fn apply(a: T, b: T) -> T { a.$f(b) }
        }
    )*};
}
binary!(Add add, Sub sub, Mul mul, Div div, Maximum maximum, Minimum minimum, Pow pow);

multiversion! {
    if T::FLOAT;
    /// `out = O(a, b)`.
    fn slices<T: Num, O: Binary<T>>(out: &mut [T], a: &[T], b: &[T]) {
        plain::<T, O>(out, a, b);
    }
}
#[inline(always)]
fn plain<T: Num, O: Binary<T>>(out: &mut [T], a: &[T], b: &[T]) {
    for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *o = O::apply(a, b);
    }
}

macro_rules! by_op {
    ($op:expr, $O:ident => $body:expr) => {
        match $op {
            BinaryOp::Add => {
                type $O = Add;
                $body
            }
            BinaryOp::Sub => {
                type $O = Sub;
                $body
            }
            BinaryOp::Mul => {
                type $O = Mul;
                $body
            }
            BinaryOp::Div => {
                type $O = Div;
                $body
            }
            BinaryOp::Maximum => {
                type $O = Maximum;
                $body
            }
            BinaryOp::Minimum => {
                type $O = Minimum;
                $body
            }
            BinaryOp::Pow => {
                type $O = Pow;
                $body
            }
        }
    };
}

/// The loops over slices, compiled here once for each type.
pub trait ArithKernels: Num {
    /// `out[i] = op(a[i], b[i])` on dense slices.
    fn slices(op: BinaryOp, out: &mut [Self], a: &[Self], b: &[Self]);

    /// `out = op(a, b)` for tensors of one shape and any layout.
    fn binary(op: BinaryOp, out: &mut [Self], a: &Strided<Self>, b: &Strided<Self>) {
        elementwise::binary(out, a, b, |o, a, b| Self::slices(op, o, a, b));
    }
    /// `a = op(a, b)`.
    fn binary_in_place(op: BinaryOp, a: &mut [Self], b: &Strided<Self>) {
        elementwise::binary_in_place(a, b, |a, b| {
            let mut block = [Self::ZERO; BLOCK];
            for (a, b) in a.chunks_mut(BLOCK).zip(b.chunks(BLOCK)) {
                let from = &mut block[..a.len()];
                from.copy_from_slice(a);
                Self::slices(op, a, from, b);
            }
        });
    }
    /// `out = op(x, s)`.
    fn scalar(op: BinaryOp, out: &mut [Self], x: &Strided<Self>, s: Self) {
        let s = [s; BLOCK];
        elementwise::unary(out, x, |o, x| {
            for (o, x) in o.chunks_mut(BLOCK).zip(x.chunks(BLOCK)) {
                Self::slices(op, o, x, &s[..x.len()]);
            }
        });
    }
    /// `x = op(x, s)`.
    fn scalar_in_place(op: BinaryOp, x: &mut [Self], s: Self) {
        let s = [s; BLOCK];
        elementwise::unary_in_place(x, |x| {
            let mut block = [Self::ZERO; BLOCK];
            for x in x.chunks_mut(BLOCK) {
                let from = &mut block[..x.len()];
                from.copy_from_slice(x);
                Self::slices(op, x, from, &s[..x.len()]);
            }
        });
    }
}

macro_rules! kernels {
    ($loops:ident: $($t:ty),*) => {$(
        impl ArithKernels for $t {
            #[inline]
            fn slices(op: BinaryOp, out: &mut [Self], a: &[Self], b: &[Self]) {
                by_op!(op, O => $loops::<Self, O>(out, a, b));
            }
        }
    )*};
}
kernels!(slices: f32, f64);
kernels!(plain: i8, i16, i32, i64, u8, u16);
