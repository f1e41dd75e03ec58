//! [`Cx`]: what a forward pass needs beside its input.

use crate::DynTensor;
use forge_kernels::rng::Key;

/// Whether a forward pass trains or serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Training: dropout drops, batch statistics are taken.
    Train,
    /// Inference.
    #[default]
    Eval,
}

/// Sees intermediate values by name (see [`Cx::with_probe`]).
pub type Probe<'a> = &'a (dyn Fn(&str, &DynTensor) + Sync);

/// What a forward pass needs beside its input: training or not, random numbers, and who looks on. A cheap value.
///
/// A module that hands it to a part of itself names that part, so that every layer draws its own random numbers,
/// whatever runs before it:
///
/// ```
/// use forge::nn::{Cx, Mode};
/// use forge::rng::Key;
/// let cx = Cx::train(Key::new(7));
/// let layers = cx.at("layers");
/// let inner = layers.index(3);
/// assert_eq!(inner.path(), "layers.3");
/// assert_eq!(inner.key(), Key::new(7).derive("layers").derive(3));
/// assert_eq!(inner.mode(), Mode::Train);
/// ```
#[derive(Clone, Copy)]
pub struct Cx<'a> {
    mode: Mode,
    key: Key,
    exact: bool,
    probe: Option<Probe<'a>>,
    /// The part of the parent that this is for; `None` for the whole model.
    part: Option<(&'a Cx<'a>, Part<'a>)>,
}

#[derive(Clone, Copy)]
enum Part<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> Cx<'a> {
    fn root(mode: Mode, key: Key) -> Self {
        Self { mode, key, exact: false, probe: None, part: None }
    }

    /// Training with the random numbers of `key`; derive one for each step (`key.derive(step)`).
    pub fn train(key: Key) -> Self {
        Self::root(Mode::Train, key)
    }

    /// Inference.
    pub fn eval() -> Self {
        Self::root(Mode::Eval, Key::new(0))
    }

    /// The same with exact arithmetic asked of operations that have a faster inexact form.
    #[must_use]
    pub fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    /// The same with `probe` shown every value that modules give to [`Self::show`].
    #[must_use]
    pub fn with_probe(mut self, probe: Probe<'a>) -> Self {
        self.probe = Some(probe);
        self
    }

    /// For the part of the module named `name`.
    #[must_use]
    pub fn at(&'a self, name: &'a str) -> Self {
        Self { key: self.key.derive(name), part: Some((self, Part::Name(name))), ..*self }
    }

    /// For part `index` of a list of modules.
    #[must_use]
    pub fn index(&'a self, index: usize) -> Self {
        Self { key: self.key.derive(index), part: Some((self, Part::Index(index))), ..*self }
    }

    /// Training or inference.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether this is training.
    pub fn is_training(&self) -> bool {
        self.mode == Mode::Train
    }

    /// The random numbers of this part of the model.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Whether exact arithmetic is asked for.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Where in the model this is: `layers.3`.
    pub fn path(&self) -> String {
        let Some((parent, part)) = self.part else { return String::new() };
        let above = parent.path();
        let dot = if above.is_empty() { "" } else { "." };
        match part {
            Part::Name(name) => format!("{above}{dot}{name}"),
            Part::Index(index) => format!("{above}{dot}{index}"),
        }
    }

    /// Shows the value that `value` makes to the probe as `path.name`, if there is a probe; else nothing is made.
    pub fn show(&self, name: &str, value: impl FnOnce() -> DynTensor) {
        if let Some(probe) = self.probe {
            let path = self.path();
            let full = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            probe(&full, &value());
        }
    }
}
