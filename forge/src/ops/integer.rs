//! Integer division and remainders; operations on the bits of integers and bools, with the operators `& | ^ !`.

use crate::DynTensor;
use crate::dtype::{Bits, Dtype, Integer};
use crate::error::{Error, raise};
use crate::raw::{Names, integer as raw};
use crate::tensor::{Tensor, names, wrap};
use forge_axes::plan::PointwisePlan;
use forge_axes::{Axes, SubsetOf};
use forge_kernels::integer::{BitOp, IntOp};
use forge_macros::fallible;

macro_rules! pairs {
    ($Bound:ident $f:ident $Op:ident: $($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<X: Axes, D: Dtype> Tensor<X, D> {
            $(
                $(#[$doc])*
                ///
                /// The right operand's axes must be among the left's, in any order; it is repeated along the others.
                #[fallible]
                pub fn $name<R: Axes + SubsetOf<X>>(&self, rhs: &Tensor<R, D>) -> Self
                where
                    D: $Bound,
                {
                    let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
                    Ok(wrap(raw::$f($Op::$op, self.raw(), rhs.raw(), plan, names::<X, R>())?))
                }
            )*
        }
        impl DynTensor {
            $(
                #[doc = concat!("[`Tensor::", stringify!($name), "`].")]
                ///
                /// # Errors
                /// When `rhs` has an axis that `self` lacks, a shared axis has two sizes, or the dtypes do not fit.
                pub fn $name(&self, rhs: &Self) -> Result<Self, Error> {
                    let (l, r) = (self.keys(), rhs.keys());
                    super::arith::subset(stringify!($name), &r, &l)?;
                    let plan = PointwisePlan::new(&l, &r);
                    let names = Names { lhs: &l, rhs: &r };
                    Ok(self.with_raw(raw::$f($Op::$op, self.raw(), rhs.raw(), &plan, names)?))
                }
            )*
        }
    };
}

pairs! { Integer binary IntOp:
    /// The quotient rounded towards zero: `-7 / 2` is -3. A zero in the divisor is an error; `MIN / -1` wraps to `MIN`.
    div_trunc DivTrunc;
    /// The quotient rounded down: `-7 / 2` is -4. A zero in the divisor is an error; `MIN / -1` wraps to `MIN`.
    div_floor DivFloor;
    /// What [`Self::div_trunc`] leaves, with the sign of `self`: `-7 rem 2` is -1. A zero in the divisor is an error.
    rem Rem;
    /// What [`Self::div_floor`] leaves, with the sign of `rhs`: `-7 modulo 2` is 1. A zero in the divisor is an error.
    modulo Modulo;
}
pairs! { Bits bits BitOp:
    /// The bits that both have; for bools, whether both hold.
    bit_and And;
    /// The bits that either has; for bools, whether either holds.
    bit_or Or;
    /// The bits that exactly one has; for bools, whether they differ.
    bit_xor Xor;
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Every bit turned; for bools, whether it does not hold.
    #[must_use]
    #[fallible]
    pub fn bit_not(&self) -> Self
    where
        D: Bits,
    {
        Ok(wrap(raw::not(self.raw())?))
    }
}

impl DynTensor {
    /// [`Tensor::bit_not`].
    ///
    /// # Errors
    /// When the elements are floats.
    pub fn bit_not(&self) -> Result<Self, Error> {
        Ok(self.with_raw(raw::not(self.raw())?))
    }
}

macro_rules! operator {
    ($($T:ident $m:ident $op:ident;)*) => {$(
        impl<X: Axes, D: Bits, R: Axes + SubsetOf<X>> std::ops::$T<&Tensor<R, D>> for &Tensor<X, D> {
            type Output = Tensor<X, D>;
            #[track_caller]
            fn $m(self, r: &Tensor<R, D>) -> Tensor<X, D> {
                let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
                match raw::bits(BitOp::$op, self.raw(), r.raw(), plan, names::<X, R>()) {
                    Ok(raw) => wrap(raw),
                    Err(e) => raise(e),
                }
            }
        }
        impl<X: Axes, D: Bits, R: Axes + SubsetOf<X>> std::ops::$T<&Tensor<R, D>> for Tensor<X, D> {
            type Output = Tensor<X, D>;
            #[track_caller]
            fn $m(self, r: &Tensor<R, D>) -> Tensor<X, D> {
                let plan = const { &PointwisePlan::new(X::KEYS, R::KEYS) };
                match raw::bits(BitOp::$op, self.raw(), r.raw(), plan, names::<X, R>()) {
                    Ok(raw) => wrap(raw),
                    Err(e) => raise(e),
                }
            }
        }
        impl<X: Axes, D: Bits, R: Axes + SubsetOf<X>> std::ops::$T<Tensor<R, D>> for Tensor<X, D> {
            type Output = Tensor<X, D>;
            #[track_caller]
            fn $m(self, r: Tensor<R, D>) -> Tensor<X, D> {
                std::ops::$T::$m(&self, &r)
            }
        }
        impl<X: Axes, D: Bits, R: Axes + SubsetOf<X>> std::ops::$T<Tensor<R, D>> for &Tensor<X, D> {
            type Output = Tensor<X, D>;
            #[track_caller]
            fn $m(self, r: Tensor<R, D>) -> Tensor<X, D> {
                std::ops::$T::$m(self, &r)
            }
        }
    )*};
}
operator! {
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor Xor;
}

impl<X: Axes, D: Bits> std::ops::Not for &Tensor<X, D> {
    type Output = Tensor<X, D>;
    #[track_caller]
    fn not(self) -> Tensor<X, D> {
        self.bit_not()
    }
}

impl<X: Axes, D: Bits> std::ops::Not for Tensor<X, D> {
    type Output = Tensor<X, D>;
    #[track_caller]
    fn not(self) -> Tensor<X, D> {
        self.bit_not()
    }
}
