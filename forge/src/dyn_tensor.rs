//! [`DynTensor`]: the erased twin of [`Tensor`](crate::Tensor), with axis names at run time.

use crate::autograd::{self, Backward, Grads};
use crate::dtype::{DType, Dtype, Element};
use crate::error::{Error, Result, axes_text};
use crate::raw::{At, RawTensor};
use crate::tensor::{Tensor, wrap};
use forge_axes::list_ops::KeyList;
use forge_axes::plan::{self, NONE};
use forge_axes::{Axes, Axis, Key};
use std::fmt;
use std::sync::Arc;

/// An axis known at run time: a name, and the identity of a declared axis where it has one.
///
/// A name alone (from a string, from a file) matches any axis of that name; two declared axes match only if they are
/// the same declaration.
#[derive(Clone)]
pub struct DynAxis {
    name: Arc<str>,
    path: &'static str,
    hash: u64,
    fixed: Option<usize>,
}

impl DynAxis {
    /// The run-time form of a declared axis.
    pub fn of<A: Axis>() -> Self {
        Self::from_key(&A::KEY)
    }

    pub(crate) fn from_key(k: &Key<'static>) -> Self {
        Self { name: k.name.into(), path: k.path, hash: k.hash, fixed: k.fixed }
    }

    pub(crate) fn key(&self) -> Key<'_> {
        Key { hash: self.hash, name: &self.name, path: self.path, fixed: self.fixed }
    }

    /// The axis' name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl From<&String> for DynAxis {
    fn from(name: &String) -> Self {
        name.as_str().into()
    }
}

impl From<&DynAxis> for DynAxis {
    fn from(a: &DynAxis) -> Self {
        a.clone()
    }
}

impl From<&str> for DynAxis {
    fn from(name: &str) -> Self {
        Self { name: name.into(), path: "", hash: 0, fixed: None }
    }
}

impl fmt::Debug for DynAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A tensor whose axis names are values. It has every operation of [`Tensor`](crate::Tensor), on the same untyped core; what the
/// compiler checks there comes back as an [`Error`] here, in the same words.
///
/// ```
/// use forge::prelude::*;
/// axes! { Batch, In }
/// let x = DynTensor::from_vec(&["Batch", "In"], &[2, 3], vec![1.0f32; 6])?;
/// let y = x.sum("In")?;
/// let typed: Tensor<Batch> = y.typed()?;
/// assert_eq!(typed.to_vec(), [3.0, 3.0]);
/// assert_eq!(x.sum("Out").unwrap_err().to_string(), "sum: no axis `Out` in `(Batch, In)`");
/// # Ok::<(), forge::Error>(())
/// ```
#[derive(Clone)]
pub struct DynTensor {
    raw: RawTensor,
    axes: Arc<[DynAxis]>,
}

/// The keys of a list of run-time axes, borrowed.
pub(crate) struct Keys<'k>(KeyList<'k>);

impl<'k> std::ops::Deref for Keys<'k> {
    type Target = [Key<'k>];
    fn deref(&self) -> &[Key<'k>] {
        self.0.as_slice()
    }
}

/// `(Batch, In)`, as rustc prints the type.
pub(crate) fn list_text(keys: &[Key]) -> String {
    let names: Vec<&str> = keys.iter().map(|k| k.name).collect();
    match &names[..] {
        [one] => (*one).to_owned(),
        _ => format!("({})", names.join(", ")),
    }
}

impl DynTensor {
    /// A tensor with the axes `axes`, of sizes `shape`, holding `data` in row-major order.
    ///
    /// # Errors
    /// When `data` does not fill the shape, an axis is named twice, or there are more than 8 axes.
    pub fn from_vec<D: Element>(axes: &[&str], shape: &[usize], data: Vec<D>) -> Result<Self> {
        let axes: Vec<DynAxis> = axes.iter().map(|&a| a.into()).collect();
        let keys: Vec<Key> = axes.iter().map(DynAxis::key).collect();
        if axes.len() != shape.len() {
            return Err(Error::axes(
                "from_vec",
                format!("{} has {} axes, the shape {shape:?} has {}", list_text(&keys), axes.len(), shape.len()),
            ));
        }
        check_distinct("from_vec", &keys)?;
        RawTensor::check_len("from_vec", shape, data.len(), &keys)?;
        Ok(Self { raw: RawTensor::from_slice(shape, &data)?, axes: axes.into() })
    }

    pub(crate) fn new(raw: RawTensor, axes: impl Into<Arc<[DynAxis]>>) -> Self {
        let axes = axes.into();
        debug_assert_eq!(raw.rank(), axes.len());
        Self { raw, axes }
    }

    /// The result of an operation: `raw` with the axes `keys`, which come from `self` or from `more`.
    pub(crate) fn renamed(&self, raw: RawTensor, keys: &[Key], more: &[&[DynAxis]]) -> Self {
        let find = |k: &Key| {
            std::iter::once(&*self.axes)
                .chain(more.iter().copied())
                .flatten()
                .find(|a| plan::same(&a.key(), k))
                .cloned()
                .expect("a result's axes come from its operands")
        };
        Self::new(raw, keys.iter().map(find).collect::<Vec<_>>())
    }

    /// The same axes over another untyped tensor.
    pub(crate) fn with_raw(&self, raw: RawTensor) -> Self {
        Self::new(raw, self.axes.clone())
    }

    /// The untyped tensor inside.
    pub(crate) fn raw(&self) -> &RawTensor {
        &self.raw
    }

    /// The axes.
    pub fn axes(&self) -> &[DynAxis] {
        &self.axes
    }

    /// The axes' keys.
    pub(crate) fn keys(&self) -> Keys<'_> {
        keys_of(&self.axes)
    }

    /// Where `axis` is among the axes; an error in the words of the typed form when it is not.
    pub(crate) fn position(&self, op: &'static str, axis: &DynAxis) -> Result<usize> {
        let keys = self.keys();
        match plan::pos(&keys, &axis.key()) {
            NONE => Err(Error::axes(op, format!("no axis `{}` in `{}`", axis.name, list_text(&keys)))),
            p => Ok(p as usize),
        }
    }

    /// Runs `f` with the place of `axis`.
    pub(crate) fn at<R>(&self, op: &'static str, axis: &DynAxis, f: impl FnOnce(At) -> Result<R>) -> Result<R> {
        let axis = self.position(op, axis)?;
        f(At { axis, keys: &self.keys() })
    }

    /// The error when `axis` is already among the axes.
    pub(crate) fn lacks(&self, op: &'static str, axis: &DynAxis) -> Result<()> {
        let keys = self.keys();
        if plan::pos(&keys, &axis.key()) == NONE {
            return Ok(());
        }
        Err(Error::axes(op, format!("axis `{}` is already in `{}`", axis.name, list_text(&keys))))
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.raw.dtype()
    }

    /// Size of each axis.
    pub fn shape(&self) -> &[usize] {
        self.raw.shape()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// Size of `axis`.
    ///
    /// # Errors
    /// When there is no such axis.
    pub fn size(&self, axis: impl Into<DynAxis>) -> Result<usize> {
        Ok(self.shape()[self.position("size", &axis.into())?])
    }

    /// The elements, copied in row-major order.
    ///
    /// # Errors
    /// When `D` is not the dtype.
    pub fn to_vec<D: Element>(&self) -> Result<Vec<D>> {
        if D::DTYPE != self.dtype() {
            return Err(Error::DType { op: "to_vec", expected: D::DTYPE.name(), found: self.dtype() });
        }
        Ok(self.raw.to_vec())
    }

    /// The same tensor with its axes checked and in the type. Nothing is copied.
    ///
    /// # Errors
    /// When the axes are others (or in another order), a fixed axis has another size, or the dtype differs.
    pub fn typed<X: Axes, D: Dtype>(&self) -> Result<Tensor<X, D>> {
        let keys = self.keys();
        let fits = keys.len() == X::RANK && keys.iter().zip(X::KEYS).all(|(a, b)| plan::same(a, b));
        if !fits {
            return Err(Error::axes(
                "typed",
                format!("expected `{}`, found `{}`", list_text(X::KEYS), list_text(&keys)),
            ));
        }
        if let Some((k, &n)) = X::KEYS.iter().zip(self.shape()).find(|(k, n)| k.fixed.is_some_and(|f| f != **n)) {
            let fixed = k.fixed.unwrap_or_default();
            return Err(Error::axes(
                "typed",
                format!("axis `{}` has the fixed size {fixed}, but the tensor has {n}", k.name),
            ));
        }
        if D::DTYPE != self.dtype() {
            return Err(Error::DType { op: "typed", expected: D::DTYPE.name(), found: self.dtype() });
        }
        Ok(wrap(self.raw.clone()))
    }

    /// Whether a gradient flows through this value.
    pub fn is_tracked(&self) -> bool {
        self.raw.requires_grad()
    }

    /// [`Tensor::detach`].
    #[must_use]
    pub fn detach(&self) -> Self {
        self.with_raw(self.raw.detach())
    }

    /// [`Tensor::requires_grad`].
    ///
    /// # Errors
    /// When the elements are neither f32 nor f64.
    pub fn requires_grad(&self) -> Result<Self> {
        if !self.dtype().is_differentiable() {
            return Err(Error::DType { op: "requires_grad", expected: "f32 or f64", found: self.dtype() });
        }
        let mut raw = self.raw.detach();
        raw.node = Some(autograd::leaf());
        Ok(self.with_raw(raw))
    }

    /// [`Tensor::backward`].
    ///
    /// # Errors
    /// When this is not a scalar, and as [`Tensor::backward`].
    pub fn backward(&self) -> Result<Grads> {
        self.backward_with(Backward::default())
    }

    /// [`Tensor::backward_with`].
    ///
    /// # Errors
    /// As [`Self::backward`].
    pub fn backward_with(&self, how: Backward) -> Result<Grads> {
        if !self.axes.is_empty() {
            let list = list_text(&self.keys());
            return Err(Error::axes(
                "backward",
                format!("starts from a scalar, not from a tensor with the axes `{list}`"),
            ));
        }
        autograd::backward_raw(&[(&self.raw, self.raw.ones_like())], how)
    }

    /// `(Batch 2, In 768)`: the axes with their sizes, for messages.
    pub fn axes_text(&self) -> String {
        axes_text(&self.keys(), self.shape())
    }
}

/// The keys of `axes`, borrowed.
pub(crate) fn keys_of(axes: &[DynAxis]) -> Keys<'_> {
    let mut list = KeyList::new();
    for a in axes {
        list.push(a.key()).expect("a tensor has at most 8 axes");
    }
    Keys(list)
}

/// The error when a list names an axis twice or has more than 8.
pub(crate) fn check_distinct(op: &'static str, keys: &[Key]) -> Result<()> {
    if keys.len() > 8 {
        return Err(Error::axes(
            op,
            format!("`{}` has {} axes; a tensor may have at most 8", list_text(keys), keys.len()),
        ));
    }
    for (i, k) in keys.iter().enumerate() {
        if plan::pos(&keys[..i], k) != NONE {
            return Err(Error::axes(op, format!("axis `{}` appears twice in `{}`", k.name, list_text(keys))));
        }
    }
    Ok(())
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// The same tensor with its axis names at run time. Nothing is copied.
    pub fn erase(&self) -> DynTensor {
        let axes: Vec<DynAxis> = X::KEYS.iter().map(DynAxis::from_key).collect();
        DynTensor::new(self.raw().clone(), axes)
    }
}

impl fmt::Debug for DynTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynTensor{} {} ", self.axes_text(), self.dtype())?;
        crate::print::values(f, &self.raw)
    }
}
