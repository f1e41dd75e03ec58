//! Arithmetic on two dense slices: floats by IEEE 754, integers wrapping.

use crate::dtype::Element;
use crate::elementwise;
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
multiversion! {
    if T::FLOAT;
    /// `out = O(x, s)`.
    fn with_number<T: Num, O: Binary<T>>(out: &mut [T], x: &[T], s: T) {
        plain_with_number::<T, O>(out, x, s);
    }
}
#[inline(always)]
fn plain_with_number<T: Num, O: Binary<T>>(out: &mut [T], x: &[T], s: T) {
    for (o, &x) in out.iter_mut().zip(x) {
        *o = O::apply(x, s);
    }
}

/// So few elements are not worth choosing an instruction set; every set gives the same bits here.
const FEW: usize = 8;

/// `f(part, copy of the part, its start)` for small parts of `x`: loops that must not alias write in place.
#[inline]
fn in_blocks<T: Num>(x: &mut [T], mut f: impl FnMut(&mut [T], &[T], usize)) {
    const LANES: usize = 128;
    let mut block = [T::ZERO; LANES];
    for (i, x) in x.chunks_mut(LANES).enumerate() {
        let from = &mut block[..x.len()];
        from.copy_from_slice(x);
        f(x, from, i * LANES);
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

/// The loops over tensors, compiled here once for each type.
pub trait ArithKernels: Num {
    /// `out[i] = op(a[i], b[i])` on dense slices of one length.
    fn dense(op: BinaryOp, out: &mut [Self], a: &[Self], b: &[Self]);
    /// `out = op(a, b)` for tensors of one shape and any layout.
    fn binary(op: BinaryOp, out: &mut [Self], a: &Strided<Self>, b: &Strided<Self>);
    /// `a = op(a, b)`.
    fn binary_in_place(op: BinaryOp, a: &mut [Self], b: &Strided<Self>);
    /// `out = op(x, s)`.
    fn scalar(op: BinaryOp, out: &mut [Self], x: &Strided<Self>, s: Self);
    /// `x = op(x, s)`.
    fn scalar_in_place(op: BinaryOp, x: &mut [Self], s: Self);
}

macro_rules! kernels {
    ($loops:ident $number:ident: $($t:ty),*) => {$(
        impl ArithKernels for $t {
            fn dense(op: BinaryOp, out: &mut [Self], a: &[Self], b: &[Self]) {
                assert!(out.len() == a.len() && out.len() == b.len());
                if out.len() <= FEW {
                    by_op!(op, O => plain::<Self, O>(out, a, b));
                    return;
                }
                elementwise::parts(out, |start, part| {
                    let n = start + part.len();
                    by_op!(op, O => $loops::<Self, O>(part, &a[start..n], &b[start..n]));
                });
            }
            fn binary(op: BinaryOp, out: &mut [Self], a: &Strided<Self>, b: &Strided<Self>) {
                elementwise::binary(out, a, b, |o, a, b| by_op!(op, O => $loops::<Self, O>(o, a, b)));
            }
            fn binary_in_place(op: BinaryOp, a: &mut [Self], b: &Strided<Self>) {
                elementwise::binary_in_place(a, b, |a, b| {
                    in_blocks(a, |o, from, at| by_op!(op, O => $loops::<Self, O>(o, from, &b[at..at + from.len()])));
                });
            }
            fn scalar(op: BinaryOp, out: &mut [Self], x: &Strided<Self>, s: Self) {
                elementwise::unary(out, x, |o, x| by_op!(op, O => $number::<Self, O>(o, x, s)));
            }
            fn scalar_in_place(op: BinaryOp, x: &mut [Self], s: Self) {
                elementwise::unary_in_place(x, |x| {
                    in_blocks(x, |o, from, _| by_op!(op, O => $number::<Self, O>(o, from, s)));
                });
            }
        }
    )*};
}
kernels!(slices with_number: f32, f64);
kernels!(plain plain_with_number: i8, i16, i32, i64, u8, u16);
