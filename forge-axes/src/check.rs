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
impl<R: Axes, L: Axes> SubsetOf<L> for R where [L]: HasAll<R::Each> {}

/// No axis of the list `Self` is in `L`.
///
/// In generic code `L: Lacks<A>` is enough for `A: NoneIn<L>`, and `L: Lacks<A> + Lacks<B>` for `(A, B): NoneIn<L>`.
pub trait NoneIn<L: Axes> {}
impl<R: Axes, L: Axes> NoneIn<L> for R where [L]: LacksAll<R::Each> {}

/// `Self` and `Y` have the same axes, in any order.
pub trait PermutationOf<Y: Axes> {}
impl<X: Axes, Y: Axes> PermutationOf<Y> for X
where
    [X]: MissesNone<Minus<Y, X>, X>,
    [Y]: MissesNone<Minus<X, Y>, Y> + EachOnce<Y::Each>,
{
}

/// The list `Self` without the axes `Old` has no axis of the list `New`: those may take the place of these.
pub trait RoomFor<New: Axes, Old: Axes> {}
impl<X: Axes, New: Axes, Old: Axes> RoomFor<New, Old> for X where [X]: RoomForAll<New::Each, Old> {}

/// No axis appears twice in `Self`.
pub trait Distinct {}
impl<X: Axes> Distinct for X where [X]: EachOnce<X::Each> {}

// ---- the bounds behind them ------------------------------------------------------------------------------------
//
// For each list there is one impl to choose from (the lists differ in length). Only so does rustc go on to the bound
// that fails at the bottom and names one axis; with two candidates it stops at "the trait bound is not satisfied".

/// Asked of `[L]`: `L` has every axis of a tuple. It fails itself, and not a bound below it, only for lists that are
/// not known.
#[diagnostic::on_unimplemented(
    message = "in generic code, an unknown list of axes is not known to be a subset of another",
    label = "state the bound `SubsetOf` that the notes name",
    note = "or run the block with `over`, where every list is known"
)]
pub trait HasAll<Each> {}
/// Asked of `[L]`: `L` has no axis of a tuple.
pub trait LacksAll<Each> {}
/// Asked of `[L]`: `L` without `Old` has no axis of a tuple.
pub trait RoomForAll<Each, Old> {}

/// Asked of `[L]`: `L` without `Old` does not contain `New`.
#[diagnostic::on_unimplemented(message = "axis `{New}` is already in `{L}`", label = "`{New}` would appear twice")]
pub trait RoomForOne<New, Old, L> {}
#[diagnostic::do_not_recommend]
impl<L: Axes, New: Axis, Old: Axes> RoomForOne<New, Old, L> for [L] where Minus<L, Old>: Axes<Contains<New> = False> {}

/// Asked of `[L]`: no axis of a tuple is there again later in it.
pub trait EachOnce<Each> {}

/// Asked of `[L]`: the axis `A` of `L` is not among those after it.
#[diagnostic::on_unimplemented(
    message = "axis `{A}` appears twice in `{L}`",
    label = "duplicate axis `{A}`",
    note = "where the axes are generic, say that they differ: `{L}: Distinct`"
)]
pub trait Once<A, Later, L> {}
#[diagnostic::do_not_recommend]
impl<A: Axis, Later: Axes<Contains<A> = False>, L> Once<A, Later, L> for [L] {}

macro_rules! each {
    ($($($t:ident)*: $($a:ident $later:ty),*;)+) => {$(
        impl<L, $($t: Axis),*> HasAll<($($t,)*)> for [L] where $(L: Has<$t>),* {}
        impl<L, $($t: Axis),*> LacksAll<($($t,)*)> for [L] where $(L: Lacks<$t>),* {}
        impl<L, Old, $($t: Axis),*> RoomForAll<($($t,)*), Old> for [L] where $([L]: RoomForOne<$t, Old, L>),* {}
        impl<L, $($t: Axis),*> EachOnce<($($t,)*)> for [L] where $([L]: Once<$a, $later, L>),* {}
    )+};
}
each! {
    :;
    A:;
    A B: A B;
    A B C: A (B, C), B C;
    A B C D: A (B, C, D), B (C, D), C D;
    A B C D E: A (B, C, D, E), B (C, D, E), C (D, E), D E;
    A B C D E F: A (B, C, D, E, F), B (C, D, E, F), C (D, E, F), D (E, F), E F;
    A B C D E F G: A (B, C, D, E, F, G), B (C, D, E, F, G), C (D, E, F, G), D (E, F, G), E (F, G), F G;
    A B C D E F G H: A (B, C, D, E, F, G, H), B (C, D, E, F, G, H), C (D, E, F, G, H), D (E, F, G, H), E (F, G, H),
        F (G, H), G H;
}

/// The empty list.
pub trait Empty {}
impl Empty for () {}

/// Asked of `[L]`: `L` misses none of the axes `Missing`. Holds for `()` alone, so that the error names the missing
/// ones. (Here `Has` would not do: its `Self` would be that of [`PermutationOf`], and rustc would drop its message.)
#[diagnostic::on_unimplemented(
    message = "axis `{Missing}` is not in `{L}`",
    label = "`{Missing}` is missing from `{L}`"
)]
pub trait MissesNone<Missing, L> {}
#[diagnostic::do_not_recommend]
impl<L, M: Empty> MissesNone<M, L> for [L] {}
