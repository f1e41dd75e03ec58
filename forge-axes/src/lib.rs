//! Axis names as types: a total type-level algebra of axis lists.
//!
//! An [`Axis`] is a zero-sized type; a list of axes ([`Axes`]) is `()`, one axis, or a tuple of 2 to 8 axes. The
//! type functions ([`Remove`], [`Union`], [`Dot`] ...) are generic associated types without `where` clauses, so
//! their results can be named for unknown lists. Bounds ([`Has`], [`SubsetOf`] ...) exist only to reject, each
//! with a message in the user's words. Positions are never computed in types: [`plan`] looks them up in
//! [`Axes::KEYS`] during const evaluation. [`list_ops`] has the same functions on run-time lists.
//!
//! Axes are declared by the macro `axes!` of the crate `forge`. By hand, one looks so:
//!
//! ```
//! use forge_axes::{Axes, Axis, Dot, Dyn, End, Key, Unknown, X0, X1, X2};
//!
//! macro_rules! axis {
//!     ($name:ident, $id:ty, $hash:literal) => {
//!         #[derive(Clone, Copy, Default)]
//!         struct $name;
//!         impl Axis for $name {
//!             type Id = $id;
//!             type Size = Dyn;
//!             type Number = Unknown;
//!             const KEY: Key<'static> = Key { hash: $hash, name: stringify!($name), path: stringify!($name), fixed: None };
//!         }
//!     };
//! }
//! axis!(Batch, X0<End>, 1);
//! axis!(In, X1<End>, 2);
//! axis!(Out, X2<End>, 3);
//!
//! // A matrix product: `In` is contracted, the rest of the left comes first.
//! let y: <Dot<(Batch, In), (In, Out), In> as Axes>::Dims = (32, 10);
//! assert_eq!(<Dot<(Batch, In), (In, Out), In>>::KEYS[1].name, "Out");
//! # let _ = y;
//! ```
//!
//! # The type functions at a glance
//!
//! ```
//! use forge_axes::*;
//! # macro_rules! axis {
//! #     ($name:ident, $id:ty, $hash:literal) => {
//! #         #[derive(Clone, Copy, Default)]
//! #         struct $name;
//! #         impl Axis for $name {
//! #             type Id = $id;
//! #             type Size = Dyn;
//! #             type Number = Unknown;
//! #             const KEY: Key<'static> = Key { hash: $hash, name: stringify!($name), path: stringify!($name), fixed: None };
//! #         }
//! #     };
//! # }
//! # axis!(A, X0<End>, 1);
//! # axis!(B, X1<End>, 2);
//! # axis!(C, X2<End>, 3);
//! # axis!(D, X3<End>, 4);
//! # fn axes<X: Axes>() -> String {
//! #     X::KEYS.iter().map(|k| k.name).collect::<Vec<_>>().join(" ")
//! # }
//! assert_eq!(axes::<Remove<(A, B, C), B>>(), "A C");
//! assert_eq!(axes::<Minus<(A, B, C), (C, A, D)>>(), "B");
//! assert_eq!(axes::<Union<(A, B), (C, B, D)>>(), "A B C D");
//! assert_eq!(axes::<Intersect<(A, B, C), (C, D, A)>>(), "A C");
//! assert_eq!(axes::<Concat<(A, B), (C, D)>>(), "A B C D");
//! assert_eq!(axes::<Push<(A, B), C>>(), "A B C");
//! assert_eq!(axes::<PushNew<(A, B), A>>(), "A B");
//! assert_eq!(axes::<InsertFront<(A, B), C>>(), "C A B");
//! assert_eq!(axes::<Replace<(A, B), B, (C, D)>>(), "A C D");
//! assert_eq!(axes::<Merge<(A, B, C), (A, B), D>>(), "D C");
//! assert_eq!(axes::<DiagonalOf<(A, B, C), A, B, D>>(), "C D");
//!
//! // Contractions of (A, B, C) and (B, C, D) over C: B, which both have, is a batch axis.
//! assert_eq!(axes::<Dot<(A, B, C), (B, C, D), C>>(), "A B D");
//! assert_eq!(axes::<DotBatchFirst<(A, B, C), (B, C, D), C>>(), "B A D");
//! assert_eq!(axes::<Project<(A, B), B, D>>(), "A D");
//! assert_eq!(axes::<OverTo<(A, B, C), B, D>>(), "A C D");
//!
//! // The bounds hold or reject; generic code states them.
//! fn holds<X: Has<A> + Lacks<D> + PermutationOf<(C, A, B)> + Distinct, Y: SubsetOf<X> + NoneIn<D>>()
//! where
//!     X: Axes,
//! {
//! }
//! holds::<(A, B, C), (C, A)>();
//! ```
//!
//! ```compile_fail,E0277
//! # use forge_axes::*;
//! fn distinct<X: Distinct>() {}
//! fn unknown<A: Axis, B: Axis>() {
//!     distinct::<(A, B)>(); // two unknown axes may be one
//! }
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod bool;
mod check;
mod id;
mod key;
mod list;
pub mod list_ops;
pub mod plan;
mod size;

pub use crate::bool::{Bool, False, True};
pub use crate::check::{
    Distinct, EachOnce, Empty, Has, HasAll, Lacks, LacksAll, MissesNone, NoneIn, Once, PermutationOf, RoomFor,
    RoomForAll, RoomForOne, SubsetOf,
};
#[doc(hidden)]
pub use crate::id::*;
pub use crate::key::Key;
pub use crate::list::{Axes, FirstAxis, MAX_AXES, MoreThan8Axes};
#[doc(hidden)]
pub use crate::size::{Agrees, Is, Known, Number, Numbers, Plus, Times, Unknown};
pub use crate::size::{Dyn, EqualSizes, FactorsOf, Fixed, Resizable, SameSize, Size, SizeArg, SizesMeet, TermsOf};
#[doc(hidden)]
pub use typenum;

/// A named axis. Declare axes with `axes! { Batch, In = 784 }`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an axis",
    label = "not an axis",
    note = "declare it with `axes! {{ {Self} }}`"
)]
pub trait Axis: Copy + Default + 'static {
    /// The identity of the axis: two axes are one when their ids are equal.
    #[doc(hidden)]
    type Id: Id;
    /// [`Dyn`], or [`Fixed<N>`](Fixed) for `axes! { In = N }`.
    type Size: Size;
    /// The fixed size as a type-level number, for products and sums.
    #[doc(hidden)]
    type Number: Number;
    /// The axis as a value.
    const KEY: Key<'static>;
}

/// Is axis `A` the axis `B`?
pub type Eq<A, B> = <<A as Axis>::Id as Id>::Eq<<B as Axis>::Id>;

/// `X` without the axis `A`. `(Batch, In)` without `In` is `Batch`.
pub type Remove<X, A> = <X as Axes>::RemoveInto<A, ()>;

/// `X` without the axes of the list `S`; `S` may hold axes that `X` lacks.
pub type Minus<X, S> = <X as Axes>::MinusInto<S, ()>;

/// `X` without the axes of the list `S`: what a reduction over several axes leaves.
pub type RemoveAll<X, S> = Minus<X, S>;

/// `L`, then the axes that are new in `R`, each side in its order.
pub type Union<L, R> = <R as Axes>::UnionInto<L>;

/// The axes that both lists have, in `L`'s order.
pub type Intersect<L, R> = Minus<L, Minus<L, R>>;

/// All of `L`, then all of `R`; not a set operation, so a shared axis would appear twice.
pub type Concat<L, R> = <R as Axes>::AppendTo<L>;

/// `X` with the axis `A` at its end.
pub type Push<X, A> = <X as Axes>::Push<A>;

/// `L` with the axis `A` at its end, or `L` itself when it has `A`.
pub type PushNew<L, A> = <<L as Axes>::Contains<A> as Bool>::PushUnless<L, A>;

/// `X` with the axis `A` in front.
pub type InsertFront<X, A> = Concat<A, X>;

/// `X` with the axis `A` replaced by the axes of the list `New`, at its place.
pub type Replace<X, A, New> = <X as Axes>::ReplaceInto<A, New, ()>;

/// Axes of a contraction of `L` and `R` over the axes of the list `S` (one axis is a list of one): what is left
/// of `L` in its order, then what is new in the rest of `R`. Shared axes outside `S` are batch axes.
pub type Dot<L, R, S> = Union<Minus<L, S>, Minus<R, S>>;

/// [`Dot`] under the name that says that `S` may hold several axes.
pub type DotOver<L, R, S> = Dot<L, R, S>;

/// The axes of `Dot<L, R, S>` in another order: batch axes, then the rest of `L`, then the rest of `R`.
pub type DotBatchFirst<L, R, S> = Union<Union<Intersect<Minus<L, S>, R>, Minus<L, S>>, Minus<R, S>>;

/// Axes of a product of `X` with a matrix from `I` to `O`: the same axes as `Dot<X, (I, O), I>`, in a form that
/// is shorter for generic code.
pub type Project<X, I, O> = PushNew<Remove<X, I>, O>;

/// `X` with the axes of the list `P` merged into the axis `A`, at the place of `P`'s first.
pub type Merge<X, P, A> = Replace<Minus<X, <P as FirstAxis>::Rest>, <P as FirstAxis>::First, A>;

/// Axes of the diagonal of `X` over the axes `A` and `B`: both vanish, and `C` is appended.
pub type DiagonalOf<X, A, B, C> = Push<Remove<Remove<X, A>, B>, C>;

/// Axes of a block from `Y` to `Z` that is run over everything else in `X`: the rest, then `Z`.
pub type OverTo<X, Y, Z> = Concat<Minus<X, Y>, Z>;
