//! State dicts: every tensor of a module by name, and loading them back.

use super::module::{Entry, EntryMut, Path, Visitor, VisitorMut};
use crate::DynTensor;
use crate::error::axes_text;
use forge_axes::plan;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Tensors by name path, in the order of the names.
pub type StateDict = BTreeMap<String, DynTensor>;

/// A tensor that does not fit its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The name path.
    pub name: String,
    /// Dtype, axes and sizes in the module: `f32 (In 4, Out 3)`.
    pub expected: String,
    /// Dtype, axes and sizes in the dict.
    pub found: String,
}

/// Why a state dict does not fit a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateError {
    /// Names that the module has and the dict lacks.
    pub missing: Vec<String>,
    /// Names that the dict has and the module lacks.
    pub unexpected: Vec<String>,
    /// Tensors of other axes, sizes or dtype.
    pub mismatched: Vec<Mismatch>,
}

impl std::error::Error for StateError {}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the state does not fit the module")?;
        let mut list = |title: &str, names: &[String]| {
            if names.is_empty() {
                return Ok(());
            }
            write!(f, "\n  {title}: {}", names.join(", "))
        };
        list("missing", &self.missing)?;
        list("unexpected", &self.unexpected)?;
        for m in &self.mismatched {
            write!(f, "\n  `{}`: expected {}, found {}", m.name, m.expected, m.found)?;
        }
        Ok(())
    }
}

/// What a partial load left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partial {
    /// Names that the module has and the dict lacks: they keep their values.
    pub missing: Vec<String>,
    /// Names that the dict has and the module lacks: they were not used.
    pub unexpected: Vec<String>,
}

impl Partial {
    /// An error unless nothing is left out.
    pub(crate) fn strict(self) -> Result<(), StateError> {
        if self.missing.is_empty() && self.unexpected.is_empty() {
            return Ok(());
        }
        Err(StateError { missing: self.missing, unexpected: self.unexpected, mismatched: Vec::new() })
    }
}

/// How `value` does not fit the place of `entry`, if it does not. Axes match as [`DynTensor::typed`] matches them.
pub(crate) fn mismatch(name: &str, entry: Entry<'_>, value: &DynTensor) -> Option<Mismatch> {
    let keys = value.keys();
    let fits = entry.dtype() == value.dtype()
        && entry.shape() == value.shape()
        && entry.keys().iter().zip(keys.iter()).all(|(a, b)| plan::same(a, b));
    (!fits).then(|| Mismatch {
        name: name.to_owned(),
        expected: format!("{} {}", entry.dtype(), entry.axes_text()),
        found: format!("{} {}", value.dtype(), axes_text(&keys, value.shape())),
    })
}

/// Every tensor that `walk` shows.
pub(crate) fn collect(walk: impl FnOnce(&mut dyn Visitor)) -> StateDict {
    let mut dict = StateDict::new();
    walk(&mut |path: &Path, e: Entry<'_>| {
        let twice = dict.insert(path.as_str().to_owned(), e.to_dyn().detach());
        debug_assert!(twice.is_none(), "two tensors are named `{path}`");
    });
    dict
}

/// Compares what `walk` shows with `dict`.
pub(crate) fn check(walk: impl FnOnce(&mut dyn Visitor), dict: &StateDict) -> Result<Partial, StateError> {
    let mut partial = Partial::default();
    let mut mismatched = Vec::new();
    let mut known = BTreeSet::new();
    walk(&mut |path: &Path, e: Entry<'_>| {
        known.insert(path.as_str().to_owned());
        match dict.get(path.as_str()) {
            Some(value) => mismatched.extend(mismatch(path.as_str(), e, value)),
            None => partial.missing.push(path.as_str().to_owned()),
        }
    });
    partial.unexpected = dict.keys().filter(|k| !known.contains(*k)).cloned().collect();
    if mismatched.is_empty() {
        return Ok(partial);
    }
    Err(StateError { missing: partial.missing, unexpected: partial.unexpected, mismatched })
}

/// Lays the values of a checked `dict` in their places.
pub(crate) fn assign(walk: impl FnOnce(&mut dyn VisitorMut), dict: &StateDict) {
    walk(&mut |path: &Path, mut e: EntryMut<'_>| {
        if let Some(value) = dict.get(path.as_str()) {
            e.replace(value.raw());
        }
    });
}
