//! Type-level identities of axes.

use crate::{Bool, False, True};

macro_rules! declare {
    ($($x:ident $is:ident,)*) => {
        /// A type-level axis id: base-32 digits, low digit first, as in `X3<XA<End>>`.
        ///
        /// `X3<U>::Eq<B>` asks `B` whether it starts with 3; only then are the tails compared. That is two
        /// projections a digit and no search for an impl, and unequal ids part at their first differing digit.
        pub trait Id: 'static {
            /// Are the two ids equal?
            type Eq<B: Id>: Bool;
            #[doc(hidden)]
            type IsEnd: Bool;
            $(#[doc(hidden)] type $is<T: Id>: Bool;)*
        }

        /// The end of an id.
        pub struct End;
        impl Id for End {
            type Eq<B: Id> = B::IsEnd;
            type IsEnd = True;
            $(type $is<T: Id> = False;)*
        }

        digits! { [] $($x $is,)* }
    };
}

/// One digit after the other; those before and after it answer `False`.
macro_rules! digits {
    ([$($before:ident)*]) => {};
    ([$($before:ident)*] $x:ident $is:ident, $($later:ident $after:ident,)*) => {
        /// A base-32 digit of an id.
        pub struct $x<U>(core::marker::PhantomData<U>);
        impl<U: Id> Id for $x<U> {
            type Eq<B: Id> = B::$is<U>;
            type IsEnd = False;
            type $is<T: Id> = T::Eq<U>;
            $(type $before<T: Id> = False;)*
            $(type $after<T: Id> = False;)*
        }
        digits! { [$($before)* $is] $($later $after,)* }
    };
}

declare! {
    X0 Is0, X1 Is1, X2 Is2, X3 Is3, X4 Is4, X5 Is5, X6 Is6, X7 Is7,
    X8 Is8, X9 Is9, XA IsA, XB IsB, XC IsC, XD IsD, XE IsE, XF IsF,
    XG IsG, XH IsH, XI IsI, XJ IsJ, XK IsK, XL IsL, XM IsM, XN IsN,
    XO IsO, XP IsP, XQ IsQ, XR IsR, XS IsS, XT IsT, XU IsU, XV IsV,
}
