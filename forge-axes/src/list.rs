//! Lists of axes, and the type functions on them.

use crate::{Axis, Bool, Eq, False, Key, Size};

/// Most axes a typed list may have. The untyped core goes to [`plan::MAX_RANK`](crate::plan::MAX_RANK).
pub const MAX_AXES: usize = 8;

/// A list of axes: `()`, a single axis `A`, or a tuple of 2 to 8 axes.
///
/// The associated types are total functions: none has a `where` clause, so generic code can name their results for
/// an unknown list. Use them through the aliases of the crate root ([`Remove`](crate::Remove),
/// [`Union`](crate::Union), ...).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of axes",
    label = "expected `()`, one axis, or a tuple of 2 to 8 axes",
    note = "an axis is a name that `axes!` declares: not a position, not a string",
    note = "one axis stands bare: `A`, not `(A,)`"
)]
pub trait Axes: 'static {
    /// Number of axes.
    const RANK: usize;
    /// The axes as values, for plans and error messages.
    const KEYS: &'static [Key<'static>];
    /// Sizes as the caller gives them: one [`SizeArg`](crate::SizeArg) for each axis.
    type Dims: Copy;
    /// A position, one index for each axis: `(2, 0)`; a bare `usize` for one axis.
    type Index: Copy;
    /// Writes `i` into the first [`Self::RANK`] places of `out`.
    fn index(i: Self::Index, out: &mut [usize; MAX_AXES]);
    /// Writes the sizes that `d` stands for into the first [`Self::RANK`] places of `out`.
    fn dims(d: Self::Dims, out: &mut [usize; MAX_AXES]);

    /// The same axes as a tuple, `(A,)` for one: what the bounds over each axis of a list are asked of.
    #[doc(hidden)]
    type Each;
    /// Does the list contain `A`?
    type Contains<A: Axis>: Bool;
    /// The list with `A` at its end.
    type Push<A: Axis>: Axes;
    #[doc(hidden)]
    type RemoveInto<A: Axis, Acc: Axes>: Axes;
    #[doc(hidden)]
    type MinusInto<R: Axes, Acc: Axes>: Axes;
    #[doc(hidden)]
    type UnionInto<L: Axes>: Axes;
    #[doc(hidden)]
    type AppendTo<L: Axes>: Axes;
    #[doc(hidden)]
    type ReplaceInto<A: Axis, New: Axes, Acc: Axes>: Axes;
}

#[diagnostic::do_not_recommend]
impl Axes for () {
    const RANK: usize = 0;
    const KEYS: &'static [Key<'static>] = &[];
    type Dims = ();
    fn dims((): (), _: &mut [usize; MAX_AXES]) {}
    type Each = ();
    type Index = ();
    fn index((): (), _: &mut [usize; MAX_AXES]) {}
    type Contains<A: Axis> = False;
    type Push<A: Axis> = A;
    type RemoveInto<A: Axis, Acc: Axes> = Acc;
    type MinusInto<R: Axes, Acc: Axes> = Acc;
    type UnionInto<L: Axes> = L;
    type AppendTo<L: Axes> = L;
    type ReplaceInto<A: Axis, New: Axes, Acc: Axes> = Acc;
}

#[diagnostic::do_not_recommend]
impl<H: Axis> Axes for H {
    const RANK: usize = 1;
    const KEYS: &'static [Key<'static>] = &[H::KEY];
    type Dims = <H::Size as Size>::Arg<H>;
    fn dims(d: Self::Dims, out: &mut [usize; MAX_AXES]) {
        out[0] = <H::Size as Size>::get::<H>(d);
    }
    type Each = (H,);
    type Index = usize;
    fn index(i: usize, out: &mut [usize; MAX_AXES]) {
        out[0] = i;
    }
    type Contains<A: Axis> = Eq<H, A>;
    type Push<A: Axis> = (H, A);
    type RemoveInto<A: Axis, Acc: Axes> = <Eq<H, A> as Bool>::PushUnless<Acc, H>;
    type MinusInto<R: Axes, Acc: Axes> = <R::Contains<H> as Bool>::PushUnless<Acc, H>;
    type UnionInto<L: Axes> = <L::Contains<H> as Bool>::PushUnless<L, H>;
    type AppendTo<L: Axes> = L::Push<H>;
    type ReplaceInto<A: Axis, New: Axes, Acc: Axes> = <Eq<H, A> as Bool>::AppendOrPush<Acc, New, H>;
}

/// Stands for a list that would need more than 8 axes. No tensor can have it: its rank does not evaluate.
pub struct MoreThan8Axes;
#[diagnostic::do_not_recommend]
impl Axes for MoreThan8Axes {
    const RANK: usize = panic!("a tensor may have at most 8 axes");
    const KEYS: &'static [Key<'static>] = panic!("a tensor may have at most 8 axes");
    type Dims = ();
    fn dims((): (), _: &mut [usize; MAX_AXES]) {}
    type Each = ();
    type Index = ();
    fn index((): (), _: &mut [usize; MAX_AXES]) {}
    type Contains<A: Axis> = False;
    type Push<A: Axis> = Self;
    type RemoveInto<A: Axis, Acc: Axes> = Self;
    type MinusInto<R: Axes, Acc: Axes> = Self;
    type UnionInto<L: Axes> = Self;
    type AppendTo<L: Axes> = Self;
    type ReplaceInto<A: Axis, New: Axes, Acc: Axes> = Self;
}

/// The list of the given axes: one stands bare, several in a tuple.
macro_rules! tail {
    ($t:ident) => { $t };
    ($($t:ident),+) => { ($($t),+) };
}
pub(crate) use tail;

/// A non-empty list: its first axis and the others.
pub trait FirstAxis: Axes {
    /// The first axis.
    type First: Axis;
    /// The others, in order.
    type Rest: Axes;
}
#[diagnostic::do_not_recommend]
impl<A: Axis> FirstAxis for A {
    type First = A;
    type Rest = ();
}

macro_rules! index {
    ($t:ident) => {
        usize
    };
}
macro_rules! list {
    ($n:literal; $h:ident, $($t:ident $i:tt),+; $new:ident => $push:ty) => {
        // Where a type is no list, to name all the tuples helps nobody.
        #[diagnostic::do_not_recommend]
        impl<$h: Axis, $($t: Axis),+> Axes for ($h, $($t),+) {
            const RANK: usize = $n;
            const KEYS: &'static [Key<'static>] = &[$h::KEY, $($t::KEY),+];
            type Dims = (<$h::Size as Size>::Arg<$h>, $(<$t::Size as Size>::Arg<$t>),+);
            fn dims(d: Self::Dims, out: &mut [usize; MAX_AXES]) {
                out[0] = <$h::Size as Size>::get::<$h>(d.0);
                $( out[$i] = <$t::Size as Size>::get::<$t>(d.$i); )+
            }
            type Each = Self;
            type Index = (usize, $(index!($t)),+);
            fn index(i: Self::Index, out: &mut [usize; MAX_AXES]) {
                out[0] = i.0;
                $( out[$i] = i.$i; )+
            }
            type Contains<Q: Axis> = <Eq<$h, Q> as Bool>::OrIn<tail!($($t),+), Q>;
            type Push<$new: Axis> = $push;
            type RemoveInto<Q: Axis, Acc: Axes> =
                <tail!($($t),+) as Axes>::RemoveInto<Q, <Eq<$h, Q> as Bool>::PushUnless<Acc, $h>>;
            type MinusInto<R: Axes, Acc: Axes> =
                <tail!($($t),+) as Axes>::MinusInto<R, <R::Contains<$h> as Bool>::PushUnless<Acc, $h>>;
            type UnionInto<L: Axes> =
                <tail!($($t),+) as Axes>::UnionInto<<L::Contains<$h> as Bool>::PushUnless<L, $h>>;
            type AppendTo<L: Axes> = <tail!($($t),+) as Axes>::AppendTo<L::Push<$h>>;
            type ReplaceInto<Q: Axis, New: Axes, Acc: Axes> = <tail!($($t),+) as Axes>::ReplaceInto<
                Q,
                New,
                <Eq<$h, Q> as Bool>::AppendOrPush<Acc, New, $h>,
            >;
        }
        impl<$h: Axis, $($t: Axis),+> FirstAxis for ($h, $($t),+) {
            type First = $h;
            type Rest = tail!($($t),+);
        }
    };
}
list!(2; A, B 1; Z => (A, B, Z));
list!(3; A, B 1, C 2; Z => (A, B, C, Z));
list!(4; A, B 1, C 2, D 3; Z => (A, B, C, D, Z));
list!(5; A, B 1, C 2, D 3, E 4; Z => (A, B, C, D, E, Z));
list!(6; A, B 1, C 2, D 3, E 4, F 5; Z => (A, B, C, D, E, F, Z));
list!(7; A, B 1, C 2, D 3, E 4, F 5, G 6; Z => (A, B, C, D, E, F, G, Z));
list!(8; A, B 1, C 2, D 3, E 4, F 5, G 6, H 7; _Z => MoreThan8Axes);
