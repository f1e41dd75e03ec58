//! Type-level booleans.

use crate::{Axes, Axis};

/// A type-level boolean, [`True`] or [`False`]. Its associated types are lazy conditionals: the branch that is
/// not taken is never normalised.
pub trait Bool: 'static {
    /// The value as a `bool`.
    const VALUE: bool;
    /// `self || X contains A`.
    #[doc(hidden)]
    type OrIn<X: Axes, A: Axis>: Bool;
    /// `L` when true, `A` pushed onto `L` when false.
    #[doc(hidden)]
    type PushUnless<L: Axes, A: Axis>: Axes;
    /// `New` appended to `L` when true, `A` pushed onto `L` when false.
    #[doc(hidden)]
    type AppendOrPush<L: Axes, New: Axes, A: Axis>: Axes;
}

/// Type-level `true`.
pub struct True;
/// Type-level `false`.
pub struct False;

impl Bool for True {
    const VALUE: bool = true;
    type OrIn<X: Axes, A: Axis> = True;
    type PushUnless<L: Axes, A: Axis> = L;
    type AppendOrPush<L: Axes, New: Axes, A: Axis> = New::AppendTo<L>;
}

impl Bool for False {
    const VALUE: bool = false;
    type OrIn<X: Axes, A: Axis> = X::Contains<A>;
    type PushUnless<L: Axes, A: Axis> = L::Push<A>;
    type AppendOrPush<L: Axes, New: Axes, A: Axis> = L::Push<A>;
}
