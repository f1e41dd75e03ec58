//! Broadcasting by name, asked for as an operation of its own.

use crate::DynTensor;
use crate::dtype::Dtype;
use crate::dyn_tensor::{DynAxis, check_distinct, keys_of};
use crate::error::Error;
use crate::raw::shape;
use crate::tensor::{Tensor, wrap};
use forge_axes::plan;
use forge_axes::{Axes, Distinct, SubsetOf};
use forge_macros::fallible;

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// The axes `Y`, all of this tensor's among them, in their order; those that it lacks have size 1 (a view).
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, Head, Seq }
    /// let mask = Tensor::<(Batch, Seq)>::ones((2, 3));
    /// assert_eq!(mask.align_to::<(Seq, Head, Batch)>().shape(), [3, 1, 2]);
    /// ```
    ///
    /// # Errors
    /// When an axis that is missing has a fixed size other than 1.
    #[fallible]
    pub fn align_to<Y: Axes + Distinct>(&self) -> Tensor<Y, D>
    where
        X: SubsetOf<Y>,
    {
        let map = const { &plan::map(Y::KEYS, X::KEYS) };
        let sizes: Vec<usize> =
            map[..Y::RANK].iter().map(|&m| if m == plan::NONE { 1 } else { self.shape()[m as usize] }).collect();
        for (k, n) in Y::KEYS.iter().zip(&sizes) {
            super::shape::check_size("align_to", k, *n)?;
        }
        Ok(wrap(shape::broadcast("align_to", self.raw(), &sizes, &map[..Y::RANK], Y::KEYS)?))
    }

    /// The axes `Y` with the sizes `dims`: this tensor's axes keep theirs, along the others it is repeated (a view).
    ///
    /// ```
    /// use forge::prelude::*;
    /// axes! { Batch, In }
    /// let x = Tensor::<In>::from([1., 2.]).broadcast_to::<(Batch, In)>((3, 2));
    /// assert_eq!(x.to_vec(), [1., 2., 1., 2., 1., 2.]);
    /// ```
    ///
    /// # Errors
    /// When a shared axis has two sizes (size 1 does not stretch; [`Self::expand`] asks for that).
    #[fallible]
    pub fn broadcast_to<Y: Axes + Distinct>(&self, dims: Y::Dims) -> Tensor<Y, D>
    where
        X: SubsetOf<Y>,
    {
        let map = const { &plan::map(Y::KEYS, X::KEYS) };
        let (sizes, n) = crate::tensor::sizes::<Y>(dims);
        Ok(wrap(shape::broadcast("broadcast_to", self.raw(), &sizes[..n], &map[..n], Y::KEYS)?))
    }

    /// [`Self::broadcast_to`] with the axes and sizes of `other`.
    ///
    /// # Errors
    /// When a shared axis has two sizes.
    #[fallible]
    pub fn broadcast_like<Y: Axes, E: Dtype>(&self, other: &Tensor<Y, E>) -> Tensor<Y, D>
    where
        X: SubsetOf<Y>,
    {
        let map = const { &plan::map(Y::KEYS, X::KEYS) };
        Ok(wrap(shape::broadcast("broadcast_like", self.raw(), other.shape(), &map[..Y::RANK], Y::KEYS)?))
    }
}

impl DynTensor {
    fn broadcast(&self, op: &'static str, axes: Vec<DynAxis>, dims: Option<&[usize]>) -> Result<Self, Error> {
        check_distinct(op, &keys_of(&axes))?;
        if let Some(d) = dims.filter(|d| d.len() != axes.len()) {
            return Err(Error::axes(op, format!("{} axes need {0} sizes, not {}", axes.len(), d.len())));
        }
        let (keys, own) = (keys_of(&axes), self.keys());
        super::arith::subset(op, &own, &keys)?;
        let map = plan::map(&keys, &own);
        let map = &map[..axes.len()];
        let sizes: Vec<usize> = match dims {
            Some(d) => d.to_vec(),
            None => map.iter().map(|&m| if m == plan::NONE { 1 } else { self.shape()[m as usize] }).collect(),
        };
        let y = shape::broadcast(op, self.raw(), &sizes, map, &keys)?;
        Ok(Self::new(y, axes))
    }

    /// [`Tensor::align_to`].
    ///
    /// # Errors
    /// When an own axis is not in `axes`, or one is named twice.
    pub fn align_to(&self, axes: &[&str]) -> Result<Self, Error> {
        self.broadcast("align_to", axes.iter().map(|&a| a.into()).collect(), None)
    }

    /// [`Tensor::broadcast_to`].
    ///
    /// # Errors
    /// When an own axis is not in `axes`, one is named twice, or a shared axis has two sizes.
    pub fn broadcast_to(&self, axes: &[&str], dims: &[usize]) -> Result<Self, Error> {
        self.broadcast("broadcast_to", axes.iter().map(|&a| a.into()).collect(), Some(dims))
    }

    /// [`Tensor::broadcast_like`].
    ///
    /// # Errors
    /// When an own axis is not in `other`, or a shared axis has two sizes.
    pub fn broadcast_like(&self, other: &Self) -> Result<Self, Error> {
        self.broadcast("broadcast_like", other.axes().to_vec(), Some(other.shape()))
    }
}
