//! [`Module`]: a value that holds named tensors, and the visitors that walk over them.

use super::pattern::Pattern;
use super::state::{self, Partial, StateDict, StateError};
use crate::autograd::NodeRef;
use crate::dyn_tensor::DynAxis;
use crate::error::axes_text;
use crate::raw::RawTensor;
use crate::{DType, DynTensor};
use forge_axes::Key;
use std::fmt::{Display, Write};
use std::ops::{Deref, DerefMut};

/// The name of a tensor inside a module, while a visitor walks: `layers.3.attn.q`.
#[derive(Clone, Debug, Default)]
pub struct Path {
    text: String,
}

impl Path {
    /// The path of the whole module: empty.
    pub fn root() -> Self {
        Self::default()
    }

    /// The path one level deeper, until the result is dropped.
    pub fn push(&mut self, name: impl Display) -> Scope<'_> {
        let length = self.text.len();
        if length > 0 {
            self.text.push('.');
        }
        let _ = write!(self.text, "{name}");
        Scope { path: self, length }
    }

    /// `layers.3.attn.q`.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// A [`Path`] one level deeper; dropping it goes back up.
pub struct Scope<'a> {
    path: &'a mut Path,
    length: usize,
}

impl Deref for Scope<'_> {
    type Target = Path;
    fn deref(&self) -> &Path {
        self.path
    }
}

impl DerefMut for Scope<'_> {
    fn deref_mut(&mut self) -> &mut Path {
        self.path
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        self.path.text.truncate(self.length);
    }
}

/// A tensor of a module, as a [`Visitor`] sees it.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    raw: &'a RawTensor,
    keys: &'a [Key<'static>],
    /// The leaf of a parameter, and whether it is trained; `None` for a buffer.
    leaf: Option<(&'a NodeRef, bool)>,
}

impl<'a> Entry<'a> {
    pub(crate) fn parameter(raw: &'a RawTensor, keys: &'a [Key<'static>], leaf: &'a NodeRef, trainable: bool) -> Self {
        Self { raw, keys, leaf: Some((leaf, trainable)) }
    }

    pub(crate) fn buffer(raw: &'a RawTensor, keys: &'a [Key<'static>]) -> Self {
        Self { raw, keys, leaf: None }
    }

    pub(crate) fn raw(&self) -> &'a RawTensor {
        self.raw
    }

    /// The id under which gradients are collected; `None` for a buffer and a frozen parameter.
    pub(crate) fn leaf_id(&self) -> Option<u64> {
        self.leaf.filter(|l| l.1).map(|l| l.0.id())
    }

    /// Whether it is a parameter (and not a buffer).
    pub fn is_parameter(&self) -> bool {
        self.leaf.is_some()
    }

    /// Whether it is a parameter that is trained.
    pub fn is_trainable(&self) -> bool {
        self.leaf.is_some_and(|l| l.1)
    }

    /// Size of each axis.
    pub fn shape(&self) -> &'a [usize] {
        self.raw.shape()
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.raw.dtype()
    }

    /// `(Batch 2, In 768)`: the axes with their sizes.
    pub fn axes_text(&self) -> String {
        axes_text(self.keys, self.shape())
    }

    /// The axes at run time.
    pub(crate) fn axes(&self) -> Vec<DynAxis> {
        self.keys.iter().map(DynAxis::from_key).collect()
    }

    pub(crate) fn keys(&self) -> &'a [Key<'static>] {
        self.keys
    }

    /// The tensor with its axis names at run time. Its memory is shared, not copied; gradients of a parameter are found
    /// by it ([`Grads::get_dyn`](crate::autograd::Grads::get_dyn)).
    pub fn to_dyn(&self) -> DynTensor {
        DynTensor::new(self.raw.clone(), self.axes())
    }
}

/// A tensor of a module, as a [`VisitorMut`] sees it.
pub struct EntryMut<'a> {
    raw: &'a mut RawTensor,
    keys: &'a [Key<'static>],
    leaf: Option<(&'a NodeRef, &'a mut bool)>,
}

impl<'a> EntryMut<'a> {
    pub(crate) fn parameter(
        raw: &'a mut RawTensor,
        keys: &'a [Key<'static>],
        leaf: &'a NodeRef,
        trainable: &'a mut bool,
    ) -> Self {
        Self { raw, keys, leaf: Some((leaf, trainable)) }
    }

    pub(crate) fn buffer(raw: &'a mut RawTensor, keys: &'a [Key<'static>]) -> Self {
        Self { raw, keys, leaf: None }
    }

    pub(crate) fn raw_mut(&mut self) -> &mut RawTensor {
        self.raw
    }

    /// The same tensor, to look at.
    pub fn as_entry(&self) -> Entry<'_> {
        Entry { raw: self.raw, keys: self.keys, leaf: self.leaf.as_ref().map(|(n, t)| (*n, **t)) }
    }

    /// Makes a parameter a constant, or trainable again. A buffer stays what it is.
    pub fn set_trainable(&mut self, on: bool) {
        let Some((leaf, trainable)) = &mut self.leaf else { return };
        **trainable = on;
        self.raw.node = (on && self.raw.dtype().is_differentiable()).then(|| leaf.clone());
    }

    /// Puts other values of the same sizes and dtype in the place of these; the parameter stays the same.
    ///
    /// # Errors
    /// What does not fit, as [`Module::load_state_dict`] says it.
    pub fn set(&mut self, value: &DynTensor) -> Result<(), StateError> {
        if let Some(m) = state::mismatch("value", self.as_entry(), value) {
            return Err(StateError { mismatched: vec![m], ..StateError::default() });
        }
        self.replace(value.raw());
        Ok(())
    }

    /// [`Self::set`] of a value that is known to fit.
    pub(crate) fn replace(&mut self, value: &RawTensor) {
        let node = self.raw.node.take();
        *self.raw = value.detach();
        self.raw.node = node;
    }
}

/// Sees each tensor of a module once, in a fixed order.
pub trait Visitor {
    /// The tensor at `path`.
    fn entry(&mut self, path: &Path, entry: Entry<'_>);
}

/// Sees each tensor of a module once, in the order of [`Visitor`], and may change it.
pub trait VisitorMut {
    /// The tensor at `path`.
    fn entry(&mut self, path: &Path, entry: EntryMut<'_>);
}

impl<F: FnMut(&Path, Entry<'_>)> Visitor for F {
    fn entry(&mut self, path: &Path, entry: Entry<'_>) {
        self(path, entry);
    }
}

impl<F: FnMut(&Path, EntryMut<'_>)> VisitorMut for F {
    fn entry(&mut self, path: &Path, entry: EntryMut<'_>) {
        self(path, entry);
    }
}

/// A value that holds named tensors: [`Param`](super::Param)s are trained, plain [`Tensor`](crate::Tensor)s are buffers.
///
/// Derive it: each field is visited under its name; `#[module(skip)]` leaves one out (a size, a rate). Options, vectors
/// and arrays of modules are modules. A module is plain data: what a forward pass needs beyond the input (training or
/// not, random numbers) comes to it in a [`Cx`](super::Cx).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a module",
    label = "not a parameter, a tensor, or a struct with `#[derive(Module)]`",
    note = "mark a field that holds no tensors with `#[module(skip)]`"
)]
pub trait Module {
    /// Shows each tensor to `visitor`.
    fn visit(&self, path: &mut Path, visitor: &mut dyn Visitor);

    /// Shows each tensor to `visitor`, which may change it. The order is that of [`Self::visit`].
    fn visit_mut(&mut self, path: &mut Path, visitor: &mut dyn VisitorMut);

    /// The trainable parameters by name, in the order of the fields. Memory is shared, not copied.
    fn parameters(&self) -> Vec<(String, DynTensor)> {
        let mut all = Vec::new();
        self.visit(&mut Path::root(), &mut |path: &Path, e: Entry<'_>| {
            if e.is_trainable() {
                all.push((path.as_str().to_owned(), e.to_dyn()));
            }
        });
        all
    }

    /// Number of elements of all trainable parameters.
    fn parameter_count(&self) -> usize {
        let mut n = 0;
        self.visit(&mut Path::root(), &mut |_: &Path, e: Entry<'_>| {
            if e.is_trainable() {
                n += e.raw().len();
            }
        });
        n
    }

    /// Every parameter and buffer by name. Memory is shared with the module, and stays as it is when training goes on.
    fn state_dict(&self) -> StateDict {
        state::collect(|v| self.visit(&mut Path::root(), v))
    }

    /// Puts the values of `dict` in the place of the module's own. Every name, axis, size and dtype must fit; when one
    /// does not, nothing is changed.
    ///
    /// ```
    /// use forge::prelude::*;
    /// use forge::nn::{Linear, Module};
    /// use forge::rng::Key;
    /// axes! { In, Out }
    /// let (a, mut b) = (Linear::<In, Out>::new((2, 3), Key::new(1)), Linear::<In, Out>::new((2, 3), Key::new(2)));
    /// b.load_state_dict(&a.state_dict())?;
    /// assert_eq!(a.weight.to_vec(), b.weight.to_vec());
    ///
    /// let mut wider = Linear::<In, Out>::new((4, 3), Key::new(3));
    /// let error = wider.load_state_dict(&a.state_dict()).unwrap_err();
    /// assert!(error.to_string().contains("`weight`: expected f32 (In 4, Out 3), found f32 (In 2, Out 3)"));
    /// # Ok::<(), forge::Error>(())
    /// ```
    ///
    /// # Errors
    /// All that is missing, unexpected, or of other axes, sizes or dtype.
    fn load_state_dict(&mut self, dict: &StateDict) -> Result<(), StateError> {
        let partial = state::check(|v| self.visit(&mut Path::root(), v), dict)?;
        partial.strict()?;
        state::assign(|v| self.visit_mut(&mut Path::root(), v), dict);
        Ok(())
    }

    /// [`Self::load_state_dict`] of what both sides have: says what is missing and unexpected instead of refusing it.
    ///
    /// # Errors
    /// What is on both sides and of other axes, sizes or dtype; then nothing is changed.
    fn load_state_dict_partial(&mut self, dict: &StateDict) -> Result<Partial, StateError> {
        let partial = state::check(|v| self.visit(&mut Path::root(), v), dict)?;
        state::assign(|v| self.visit_mut(&mut Path::root(), v), dict);
        Ok(partial)
    }

    /// Makes the parameters whose names fit `pattern` constants (`on` false) or trainable again; says how many fit.
    ///
    /// ```
    /// # use forge::prelude::*;
    /// # use forge::nn::{Linear, Module};
    /// # use forge::rng::Key;
    /// # axes! { In, Out }
    /// let mut layer = Linear::<In, Out>::new((2, 3), Key::new(1));
    /// assert_eq!(layer.set_trainable("weight", false), 1);
    /// assert_eq!(layer.parameters().len(), 1);
    /// ```
    fn set_trainable(&mut self, pattern: &str, on: bool) -> usize {
        let pattern = Pattern::new(pattern);
        let mut n = 0;
        self.visit_mut(&mut Path::root(), &mut |path: &Path, mut e: EntryMut<'_>| {
            if e.as_entry().is_parameter() && pattern.matches(path.as_str()) {
                e.set_trainable(on);
                n += 1;
            }
        });
        n
    }
}

impl<M: Module> Module for Option<M> {
    fn visit(&self, path: &mut Path, visitor: &mut dyn Visitor) {
        if let Some(m) = self {
            m.visit(path, visitor);
        }
    }
    fn visit_mut(&mut self, path: &mut Path, visitor: &mut dyn VisitorMut) {
        if let Some(m) = self {
            m.visit_mut(path, visitor);
        }
    }
}

impl<M: Module + ?Sized> Module for Box<M> {
    fn visit(&self, path: &mut Path, visitor: &mut dyn Visitor) {
        (**self).visit(path, visitor);
    }
    fn visit_mut(&mut self, path: &mut Path, visitor: &mut dyn VisitorMut) {
        (**self).visit_mut(path, visitor);
    }
}

impl<M: Module> Module for [M] {
    fn visit(&self, path: &mut Path, visitor: &mut dyn Visitor) {
        for (i, m) in self.iter().enumerate() {
            m.visit(&mut path.push(i), visitor);
        }
    }
    fn visit_mut(&mut self, path: &mut Path, visitor: &mut dyn VisitorMut) {
        for (i, m) in self.iter_mut().enumerate() {
            m.visit_mut(&mut path.push(i), visitor);
        }
    }
}

impl<M: Module> Module for Vec<M> {
    fn visit(&self, path: &mut Path, visitor: &mut dyn Visitor) {
        self.as_slice().visit(path, visitor);
    }
    fn visit_mut(&mut self, path: &mut Path, visitor: &mut dyn VisitorMut) {
        self.as_mut_slice().visit_mut(path, visitor);
    }
}

impl<M: Module, const N: usize> Module for [M; N] {
    fn visit(&self, path: &mut Path, visitor: &mut dyn Visitor) {
        self.as_slice().visit(path, visitor);
    }
    fn visit_mut(&mut self, path: &mut Path, visitor: &mut dyn VisitorMut) {
        self.as_mut_slice().visit_mut(path, visitor);
    }
}

impl<A: Module, B: Module> Module for (A, B) {
    fn visit(&self, path: &mut Path, visitor: &mut dyn Visitor) {
        self.0.visit(&mut path.push(0), visitor);
        self.1.visit(&mut path.push(1), visitor);
    }
    fn visit_mut(&mut self, path: &mut Path, visitor: &mut dyn VisitorMut) {
        self.0.visit_mut(&mut path.push(0), visitor);
        self.1.visit_mut(&mut path.push(1), visitor);
    }
}
