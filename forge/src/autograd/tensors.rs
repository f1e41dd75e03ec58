//! [`Tensors`]: one tensor or a tuple of them, as what goes in and out of a user's function.

use crate::dtype::Differentiable;
use crate::raw::RawTensor;
use crate::tensor::{Tensor, wrap};
use forge_axes::Axes;

/// A tensor, or a tuple of up to six.
pub trait Tensors: Sized {
    #[doc(hidden)]
    fn raws(&self) -> Vec<RawTensor>;
    #[doc(hidden)]
    fn from_raws(raws: &mut dyn Iterator<Item = RawTensor>) -> Self;
}

fn next(raws: &mut dyn Iterator<Item = RawTensor>) -> RawTensor {
    raws.next().expect("as many untyped tensors as the type has")
}

impl<X: Axes, D: Differentiable> Tensors for Tensor<X, D> {
    fn raws(&self) -> Vec<RawTensor> {
        vec![self.raw().clone()]
    }
    fn from_raws(raws: &mut dyn Iterator<Item = RawTensor>) -> Self {
        wrap(next(raws))
    }
}

macro_rules! tuple {
    ($($t:ident $i:tt),+) => {
        impl<$($t: Tensors),+> Tensors for ($($t,)+) {
            fn raws(&self) -> Vec<RawTensor> {
                let mut v = Vec::new();
                $( v.extend(self.$i.raws()); )+
                v
            }
            fn from_raws(raws: &mut dyn Iterator<Item = RawTensor>) -> Self {
                ($( $t::from_raws(raws), )+)
            }
        }
    };
}
tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
