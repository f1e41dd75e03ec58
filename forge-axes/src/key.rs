//! Axes as values.

/// An axis as a value: what plans compare and error messages print.
///
/// A typed axis has an id (`hash`, never 0) and the place of its declaration (`path`). An axis that was made from a
/// string at run time has neither: its `hash` is 0, and it matches by name. See [`plan::same`](crate::plan::same).
#[derive(Clone, Copy, Debug)]
pub struct Key<'k> {
    /// The id, or 0 for an axis made at run time. Never stored in files.
    pub hash: u64,
    /// The name as declared, without module or crate.
    pub name: &'k str,
    /// Where the axis was declared; tells two axes apart whose ids collide.
    pub path: &'k str,
    /// The size, when it is fixed by the type.
    pub fixed: Option<usize>,
}

impl<'k> Key<'k> {
    /// An axis known by its name alone.
    pub const fn named(name: &'k str) -> Self {
        Key { hash: 0, name, path: "", fixed: None }
    }
}

impl core::fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}
