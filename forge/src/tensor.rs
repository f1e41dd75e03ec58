//! [`Tensor`]: a tensor whose axis names are in its type.

use crate::autograd::{self, Backward, Grads};
use crate::dtype::{Differentiable, Dtype, Element};
use crate::error::{Error, Result, axes_text, raise};
use crate::raw::RawTensor;
use forge_axes::{Axes, Axis, Has};
use forge_macros::fallible;
use std::fmt;
use std::marker::PhantomData;

/// A tensor with the axes `X` and elements of type `D`.
///
/// `X` is `()` for a scalar, one axis for a vector (`Tensor<Class>`), or a tuple of 2 to 8 axes
/// (`Tensor<(Batch, In)>`). Cloning is cheap: the memory is shared and never changed while it is.
///
/// ```
/// use forge::prelude::*;
/// axes! { Batch, In, Out }
///
/// let x = Tensor::<(Batch, In)>::from_vec((2, 3), vec![1., 2., 3., 4., 5., 6.]);
/// let w = Tensor::<(In, Out)>::ones((3, 4));
/// let y = x.dot(&w, In); // Tensor<(Batch, Out)>
/// assert_eq!(y.get((1, 0)), 15.0);
/// ```
pub struct Tensor<X: Axes, D: Dtype = f32> {
    raw: RawTensor,
    marker: PhantomData<fn() -> (X, D)>,
}

/// A tensor without axes: one number.
pub type Scalar<D = f32> = Tensor<(), D>;

/// Names `raw`'s axes. Every caller's result type comes from the same type function as its plan.
#[inline]
pub(crate) fn wrap<X: Axes, D: Dtype>(raw: RawTensor) -> Tensor<X, D> {
    debug_assert_eq!(raw.rank(), X::RANK, "the untyped operation gave another rank than the type says");
    debug_assert_eq!(raw.dtype(), D::DTYPE, "the untyped operation gave another dtype than the type says");
    Tensor { raw, marker: PhantomData }
}

impl<X: Axes, D: Dtype> Clone for Tensor<X, D> {
    fn clone(&self) -> Self {
        Self { raw: self.raw.clone(), marker: PhantomData }
    }
}

/// Position of axis `A` in the list `X`.
pub(crate) const fn position<X: Axes, A: Axis>() -> usize {
    const {
        let p = forge_axes::plan::pos(X::KEYS, &A::KEY);
        assert!(p != forge_axes::plan::NONE, "the bound `Has` has proved that the axis is there");
        p as usize
    }
}

/// The axis `A` of a tensor `X`, for the untyped core.
pub(crate) const fn at<X: Axes, A: Axis>() -> crate::raw::At<'static> {
    crate::raw::At { axis: position::<X, A>(), keys: X::KEYS }
}

/// The names of two operands, for the untyped core.
pub(crate) const fn names<X: Axes, R: Axes>() -> crate::raw::Names<'static> {
    crate::raw::Names { lhs: X::KEYS, rhs: R::KEYS }
}

/// Sizes as the caller writes them, as a slice.
pub(crate) fn sizes<X: Axes>(dims: X::Dims) -> ([usize; 8], usize) {
    let mut out = [1; 8];
    X::dims(dims, &mut out);
    (out, X::RANK)
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// The untyped tensor inside.
    #[inline]
    pub(crate) fn raw(&self) -> &RawTensor {
        &self.raw
    }

    /// The untyped tensor inside, by value.
    #[inline]
    pub(crate) fn into_raw(self) -> RawTensor {
        self.raw
    }

    /// The untyped tensor inside, replaceable (for optimizers).
    #[inline]
    pub(crate) fn raw_mut(&mut self) -> &mut RawTensor {
        &mut self.raw
    }

    /// Size of each axis, in the order of the type.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.raw.shape()
    }

    /// Size of axis `axis`.
    ///
    /// ```
    /// # use forge::prelude::*;
    /// # axes! { Batch, In }
    /// assert_eq!(Tensor::<(Batch, In)>::zeros((2, 3)).size(In), 3);
    /// ```
    #[inline]
    pub fn size<A: Axis>(&self, axis: A) -> usize
    where
        X: Has<A>,
    {
        let _ = axis;
        self.raw.shape()[position::<X, A>()]
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    /// Whether there is no element (some axis has size 0).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// Whether a gradient flows through this value.
    #[inline]
    pub fn is_tracked(&self) -> bool {
        self.raw.requires_grad()
    }

    /// The same values, cut off from the graph.
    #[must_use]
    pub fn detach(&self) -> Self {
        wrap(self.raw.detach())
    }

    /// `(Batch 2, In 768)`: the axes with their sizes, for messages.
    pub fn axes_text(&self) -> String {
        axes_text(X::KEYS, self.shape())
    }
}

impl<X: Axes, D: Element> Tensor<X, D> {
    /// The elements, copied in row-major order.
    pub fn to_vec(&self) -> Vec<D> {
        self.raw.to_vec()
    }

    /// The elements as a slice, when they lie dense in row-major order (see [`Self::contiguous`]).
    pub fn as_slice(&self) -> Option<&[D]> {
        self.raw.as_slice()
    }

    /// The one element of a tensor that has one.
    ///
    /// # Errors
    /// When there are more or none.
    #[fallible]
    pub fn item(&self) -> D {
        if self.len() != 1 {
            return Err(Error::argument(
                "item",
                format!("{} holds {} elements, not one", self.axes_text(), self.len()),
            ));
        }
        Ok(self.raw.strided::<D>().get(&[0; 8][..X::RANK]))
    }

    /// The element at `index`, written like a shape: `x.get((1, 0))`.
    ///
    /// # Panics
    /// When a position is outside its axis.
    #[track_caller]
    pub fn get(&self, index: X::Index) -> D {
        let mut at = [0; 8];
        X::index(index, &mut at);
        let at = &at[..X::RANK];
        for (i, (&p, &n)) in at.iter().zip(self.shape()).enumerate() {
            if p >= n {
                let axis = X::KEYS[i].name.to_owned();
                raise(Error::Index { op: "get", axis, index: i64::try_from(p).unwrap_or(i64::MAX), size: n });
            }
        }
        self.raw.strided::<D>().get(at)
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// The same values as a new parameter: gradients are collected for it.
    ///
    /// ```
    /// use forge::prelude::*;
    /// let w = Tensor::<()>::scalar(3.0).requires_grad();
    /// let grads = (&w * &w).backward().unwrap();
    /// assert_eq!(grads.get(&w).unwrap().item(), 6.0);
    /// ```
    #[must_use]
    pub fn requires_grad(&self) -> Self
    where
        D: Differentiable,
    {
        let mut raw = self.raw.detach();
        raw.node = Some(autograd::leaf());
        wrap(raw)
    }

    /// Gradients of every parameter that this tensor depends on, given the gradient of this tensor itself.
    ///
    /// # Errors
    /// [`Error::NoGraph`] when it depends on none, [`Error::GraphConsumed`] after an earlier pass without
    /// [`Backward::retain`], a size error when `seed` has another shape.
    pub fn backward_from(&self, seed: &Self, how: Backward) -> Result<Grads>
    where
        D: Differentiable,
    {
        if let Some(a) = (0..X::RANK).find(|&a| self.shape()[a] != seed.shape()[a]) {
            return Err(names::<X, X>().mismatch("backward_from", (&self.raw, a), (&seed.raw, a)));
        }
        autograd::backward_raw(&[(&self.raw, seed.raw.clone())], how)
    }
}

/// Lists of axes that a backward pass can start from: none.
#[diagnostic::on_unimplemented(
    message = "backward starts from a scalar, not from a tensor with the axes `{Self}`",
    label = "reduce `{Self}` to a scalar first",
    note = "for example `.mean_all().backward()`; or give the gradient of every element with `backward_from`"
)]
pub trait IsScalar {}
impl IsScalar for () {}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Gradients of every parameter that this scalar depends on. Frees the graph as it goes.
    ///
    /// # Errors
    /// [`Error::NoGraph`] when it depends on none, [`Error::GraphConsumed`] when part of the graph was already used.
    pub fn backward(&self) -> Result<Grads>
    where
        X: IsScalar,
        D: Differentiable,
    {
        self.backward_with(Backward::default())
    }

    /// [`Self::backward`], saying what happens to the graph.
    ///
    /// # Errors
    /// As [`Self::backward`].
    pub fn backward_with(&self, how: Backward) -> Result<Grads>
    where
        X: IsScalar,
        D: Differentiable,
    {
        autograd::backward_raw(&[(&self.raw, self.raw.ones_like())], how)
    }
}

/// Gradients of several losses in one pass: the sum over the losses, with shared parts of the graph walked once.
///
/// ```
/// use forge::prelude::*;
/// let x = Tensor::<()>::scalar(1.0).requires_grad();
/// let h = x.scale(3.0);
/// let (a, b) = (h.scale(1.0), h.scale(2.0));
/// assert_eq!(backward_all(&[&a, &b]).unwrap().get(&x).unwrap().item(), 9.0);
/// ```
///
/// # Errors
/// As [`Tensor::backward`].
pub fn backward_all<D: Differentiable>(losses: &[&Scalar<D>]) -> Result<Grads> {
    let roots: Vec<_> = losses.iter().map(|l| (l.raw(), l.raw().ones_like())).collect();
    autograd::backward_raw(&roots, Backward::default())
}

impl<X: Axes, D: Element> fmt::Debug for Tensor<X, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor{} {} ", self.axes_text(), D::DTYPE)?;
        crate::print::values(f, &self.raw)
    }
}

impl<X: Axes, D: Element + fmt::Display> fmt::Display for Tensor<X, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.axes_text(), D::DTYPE)?;
        crate::print::values(f, &self.raw)
    }
}
