//! What is known about the size of an axis when the program is compiled.

use crate::{Axes, Axis};
use core::marker::PhantomData;
use core::ops::{Add, Mul};
use typenum::{Prod, Sum};

/// How the size of an axis is known: [`Dyn`] or [`Fixed`].
pub trait Size: 'static {
    /// The size, when it is fixed.
    const FIXED: Option<usize>;
    /// What the caller gives for this axis in a shape: a `usize` when dynamic, the axis itself when fixed.
    type Arg<A: Axis>: Copy;
    /// The size that an argument stands for.
    fn get<A: Axis>(arg: Self::Arg<A>) -> usize;
    /// The argument that stands for `n`; a fixed size has one argument only, whatever `n` is.
    fn arg<A: Axis>(n: usize) -> Self::Arg<A>;
}

/// The size is known when the program runs.
pub struct Dyn;
/// The size is `N`, known when the program is compiled.
pub struct Fixed<const N: usize>;

impl Size for Dyn {
    const FIXED: Option<usize> = None;
    type Arg<A: Axis> = usize;
    fn get<A: Axis>(n: usize) -> usize {
        n
    }
    fn arg<A: Axis>(n: usize) -> usize {
        n
    }
}

impl<const N: usize> Size for Fixed<N> {
    const FIXED: Option<usize> = Some(N);
    type Arg<A: Axis> = A;
    fn get<A: Axis>(_: A) -> usize {
        N
    }
    fn arg<A: Axis>(_: usize) -> A {
        A::default()
    }
}

/// How the caller gives the size of `A`: a `usize`, or `A` itself when its size is fixed.
pub type SizeArg<A> = <<A as Axis>::Size as Size>::Arg<A>;

/// Axis `Self` may take the place of axis `B`: their sizes may be equal.
///
/// Two fixed sizes must be the same number. Where one of them is dynamic, the sizes are compared at run time.
pub trait SameSize<B: Axis> {}
impl<A: Axis, B: Axis> SameSize<B> for A where A::Size: SizesMeet<A, B, B::Size> {}

/// What [`SameSize`] asks of the two sizes; it knows the axes too, for the message.
pub trait SizesMeet<A, B, T> {}
impl<A, B, S: Size> SizesMeet<A, B, S> for Dyn {}
impl<A, B, const N: usize> SizesMeet<A, B, Dyn> for Fixed<N> {}
impl<A, B, const N: usize, const M: usize> SizesMeet<A, B, Fixed<M>> for Fixed<N> where (): EqualSizes<A, B, N, M> {}

/// `N` is `M`.
#[diagnostic::on_unimplemented(
    message = "axes `{A}` and `{B}` have different fixed sizes: {N} and {M}",
    label = "these sizes can never be equal"
)]
pub trait EqualSizes<A, B, const N: usize, const M: usize> {}
#[diagnostic::do_not_recommend]
impl<A, B, const N: usize, const M: usize> EqualSizes<A, B, N, M> for () where Fixed<N>: Is<Fixed<M>> {}

/// The two types are one.
#[doc(hidden)]
pub trait Is<T> {}
impl<T> Is<T> for T {}

/// An axis whose size may change (concat, narrow, pad ...): not one of fixed size.
#[diagnostic::on_unimplemented(
    message = "axis `{Self}` has a fixed size, so it cannot be cut or joined",
    label = "`{Self}` has a fixed size",
    note = "rename it to an axis without a fixed size first"
)]
pub trait Resizable: Axis {}
#[diagnostic::do_not_recommend]
impl<A: Axis<Size = Dyn>> Resizable for A {}

// ---- products and sums of fixed sizes --------------------------------------------------------------------------

/// A fixed size as a type-level number `U` of the crate typenum, beside the const of [`Fixed`].
#[doc(hidden)]
pub struct Known<U>(PhantomData<U>);
/// The number of a dynamic size.
#[doc(hidden)]
pub struct Unknown;

/// [`Known`] or [`Unknown`].
#[doc(hidden)]
pub trait Number: 'static {}
impl<U: 'static> Number for Known<U> {}
impl Number for Unknown {}

/// Product of numbers; an unknown factor makes it unknown.
#[doc(hidden)]
pub trait Times<B> {
    type Out;
}
impl<B> Times<B> for Unknown {
    type Out = Unknown;
}
impl<U> Times<Unknown> for Known<U> {
    type Out = Unknown;
}
impl<U: Mul<V>, V> Times<Known<V>> for Known<U> {
    type Out = Known<Prod<U, V>>;
}

/// Sum of numbers; an unknown term makes it unknown.
#[doc(hidden)]
pub trait Plus<B> {
    type Out;
}
impl<B> Plus<B> for Unknown {
    type Out = Unknown;
}
impl<U> Plus<Unknown> for Known<U> {
    type Out = Unknown;
}
impl<U: Add<V>, V> Plus<Known<V>> for Known<U> {
    type Out = Known<Sum<U, V>>;
}

/// The numbers are equal, or one of them is unknown.
#[doc(hidden)]
pub trait Agrees<B> {}
impl<B> Agrees<B> for Unknown {}
impl<U> Agrees<Unknown> for Known<U> {}
impl<U> Agrees<Known<U>> for Known<U> {}

/// Product and sum of the sizes of a list.
#[doc(hidden)]
pub trait Numbers {
    type Product;
    type Sum;
}
impl<A: Axis> Numbers for A {
    type Product = A::Number;
    type Sum = A::Number;
}
macro_rules! numbers {
    ($($h:ident, $($t:ident),+;)+) => {$(
        impl<$h: Axis, $($t: Axis),+> Numbers for ($h, $($t),+)
        where
            crate::list::tail!($($t),+): Numbers,
            $h::Number: Times<<crate::list::tail!($($t),+) as Numbers>::Product>
                + Plus<<crate::list::tail!($($t),+) as Numbers>::Sum>,
        {
            type Product = <$h::Number as Times<<crate::list::tail!($($t),+) as Numbers>::Product>>::Out;
            type Sum = <$h::Number as Plus<<crate::list::tail!($($t),+) as Numbers>::Sum>>::Out;
        }
    )+};
}
numbers! {
    A, B;
    A, B, C;
    A, B, C, D;
    A, B, C, D, E;
    A, B, C, D, E, F;
    A, B, C, D, E, F, G;
    A, B, C, D, E, F, G, H;
}

/// The sizes of the list `Self` multiply to the size of axis `Whole`: what `split` and `merge` need.
///
/// Decided by the compiler when every size in it is fixed; with a dynamic one, checked at run time.
#[diagnostic::on_unimplemented(
    message = "the fixed sizes of `{Self}` do not multiply to the size of `{Whole}`",
    label = "the product of these sizes is not the size of `{Whole}`"
)]
pub trait FactorsOf<Whole: Axis> {}
#[diagnostic::do_not_recommend]
impl<P: Axes + Numbers<Product: Agrees<W::Number>>, W: Axis> FactorsOf<W> for P {}

/// The sizes of the list `Self` add up to the size of axis `Whole`: what `concat` into an axis of fixed size needs.
///
/// Decided by the compiler when every size in it is fixed; with a dynamic one, checked at run time.
#[diagnostic::on_unimplemented(
    message = "the fixed sizes of `{Self}` do not add up to the size of `{Whole}`",
    label = "the sum of these sizes is not the size of `{Whole}`"
)]
pub trait TermsOf<Whole: Axis> {}
#[diagnostic::do_not_recommend]
impl<P: Axes + Numbers<Sum: Agrees<W::Number>>, W: Axis> TermsOf<W> for P {}
