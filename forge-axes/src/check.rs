//! The bounds that operations carry, each with a message in the user's words.
//!
//! None has `Axes` as a supertrait: a `where (I, O): Distinct` would then bring `(I, O): Axes` into scope, which
//! shadows the impl and makes `Dims`, `Remove` and the rest of `(I, O)` opaque.
//!
//! Some ask their question of `[L]` instead of `L`: when the types of an inner and an outer bound are equal, rustc
//! drops the message of the inner one.

use crate::{Axes, Axis, False, Minus, True};

/// `Self` contains axis `A`.
#[diagnostic::on_unimplemented(
    message = "no axis `{A}` in `{Self}`",
    label = "needs axis `{A}`, but the tensor's axes are `{Self}`"
)]
pub trait Has<A: Axis> {}
#[diagnostic::do_not_recommend]
impl<X: Axes<Contains<A> = True>, A: Axis> Has<A> for X {}

/// `Self` does not contain axis `A`.
#[diagnostic::on_unimplemented(message = "axis `{A}` is already in `{Self}`", label = "`{A}` would appear twice")]
pub trait Lacks<A: Axis> {}
#[diagnostic::do_not_recommend]
impl<X: Axes<Contains<A> = False>, A: Axis> Lacks<A> for X {}

/// Every axis of the list `Self` is in `L`.
///
/// In generic code `L: Has<A>` is enough for `A: SubsetOf<L>`, and `L: Has<A> + Has<B>` for `(A, B): SubsetOf<L>`.
pub trait SubsetOf<L: Axes> {}

/// No axis of the list `Self` is in `L`.
///
/// In generic code `L: Lacks<A>` is enough for `A: NoneIn<L>`, and `L: Lacks<A> + Lacks<B>` for `(A, B): NoneIn<L>`.
pub trait NoneIn<L: Axes> {}

impl<L: Axes> SubsetOf<L> for () {}
impl<L: Axes> NoneIn<L> for () {}
impl<L: Axes, A: Axis> SubsetOf<L> for A where L: Has<A> {}
impl<L: Axes, A: Axis> NoneIn<L> for A where L: Lacks<A> {}
macro_rules! each {
    ($($($t:ident),+;)+) => {$(
        impl<L: Axes, $($t: Axis),+> SubsetOf<L> for ($($t),+) where L: $(Has<$t> +)+ {}
        impl<L: Axes, $($t: Axis),+> NoneIn<L> for ($($t),+) where L: $(Lacks<$t> +)+ {}
    )+};
}
each! {
    A, B;
    A, B, C;
    A, B, C, D;
    A, B, C, D, E;
    A, B, C, D, E, F;
    A, B, C, D, E, F, G;
    A, B, C, D, E, F, G, H;
}

/// The empty list.
#[doc(hidden)]
pub trait Empty {}
impl Empty for () {}

/// `L` lacks none of `Missing`: holds for `()` alone, so that the error names exactly the missing axes.
#[diagnostic::on_unimplemented(
    message = "axis `{Missing}` is not in `{L}`",
    label = "`{Missing}` is missing from `{L}`"
)]
#[doc(hidden)]
pub trait LacksNone<Missing, L> {}
#[diagnostic::do_not_recommend]
impl<L, M: Empty> LacksNone<M, L> for [L] {}

/// `L` repeats none of its axes.
#[diagnostic::on_unimplemented(
    message = "axis `{Repeated}` appears twice in `{L}`",
    label = "duplicate axis `{Repeated}`"
)]
#[doc(hidden)]
pub trait RepeatsNone<Repeated, L> {}
#[diagnostic::do_not_recommend]
impl<L, M: Empty> RepeatsNone<M, L> for [L] {}

/// No axis appears twice in `Self`.
pub trait Distinct {}
impl<X: Axes> Distinct for X where [X]: RepeatsNone<X::RepeatsInto<()>, X> {}

/// `Self` and `Y` have the same axes, in any order.
pub trait PermutationOf<Y: Axes> {}
impl<X: Axes, Y: Axes> PermutationOf<Y> for X
where
    [X]: LacksNone<Minus<Y, X>, X>,
    [Y]: LacksNone<Minus<X, Y>, Y> + RepeatsNone<Y::RepeatsInto<()>, Y>,
{
}
