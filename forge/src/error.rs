//! [`Error`]: what went wrong, in the user's axis names.

use forge_axes::Key;
use forge_kernels::DType;
use std::fmt::Write;

/// Everything that can go wrong in a tensor operation.
///
/// A mismatch of axes is a compile error and never gets here. Methods such as [`Tensor::dot`](crate::Tensor::dot) panic
/// with this error's text at the caller's line; their `try_` twins return it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two operands disagree on the size of a shared axis.
    #[error("{op}: axis `{axis}` has size {lhs} in {lhs_axes} but {rhs} in {rhs_axes}")]
    SizeMismatch {
        /// The operation.
        op: &'static str,
        /// The axis.
        axis: String,
        /// Its size on the left.
        lhs: usize,
        /// Its size on the right.
        rhs: usize,
        /// The left operand's axes with their sizes.
        lhs_axes: String,
        /// The right operand's axes with their sizes.
        rhs_axes: String,
    },
    /// An index or range leaves its axis.
    #[error("{op}: index {index} is outside axis `{axis}` of size {size}")]
    Index {
        /// The operation.
        op: &'static str,
        /// The axis.
        axis: String,
        /// The offending index.
        index: i64,
        /// The size of the axis.
        size: usize,
    },
    /// An argument makes no sense for the operand.
    #[error("{op}: {what}")]
    Argument {
        /// The operation.
        op: &'static str,
        /// What is wrong and what would be right.
        what: String,
    },
    /// The data do not fill the shape.
    #[error("{op}: {found} elements do not fill {axes}, which needs {expected}")]
    Length {
        /// The operation.
        op: &'static str,
        /// Elements that the shape needs.
        expected: usize,
        /// Elements that were given.
        found: usize,
        /// The axes with their sizes.
        axes: String,
    },
    /// The operation is not defined for this element type.
    #[error("{op}: not defined for {found}; it takes {expected}")]
    DType {
        /// The operation.
        op: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What it got.
        found: DType,
    },
    /// (Erased tensors) An axis is missing, repeated, or does not fit.
    #[error("{op}: {what}")]
    Axes {
        /// The operation.
        op: &'static str,
        /// The same words as the compile error of the typed form.
        what: String,
    },
    /// The gradient was asked of a tensor that no parameter leads to.
    #[error(
        "backward: nothing to differentiate: no input of this value requires a gradient (or it was made under `no_grad`)"
    )]
    NoGraph,
    /// A part of the graph was already used by an earlier backward pass.
    #[error(
        "backward: this value shares part of its graph with a loss whose backward pass already ran and freed it; \
         keep it with `backward_with(Backward::retain())`, or pass both losses to one `backward_all` call"
    )]
    GraphConsumed,
    /// An operation has no derivative for what was asked.
    #[error("{op}: no gradient: {what}")]
    Gradient {
        /// The operation.
        op: &'static str,
        /// Why, and what to do instead.
        what: String,
    },
    /// A state dict does not fit the module it is loaded into.
    #[error(transparent)]
    State(#[from] crate::nn::StateError),
    /// Reading or writing a file failed.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path}: {what}")]
    File {
        /// The file.
        path: String,
        /// What is wrong, where, and what to do.
        what: String,
    },
}

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Panics with the text of `e` at the caller's line.
#[track_caller]
#[cold]
#[inline(never)]
pub(crate) fn raise(e: Error) -> ! {
    panic!("{e}")
}

/// `(Batch 2, In 768)`.
pub(crate) fn axes_text(keys: &[Key], shape: &[usize]) -> String {
    let mut s = String::from("(");
    for (i, n) in shape.iter().enumerate() {
        let name = keys.get(i).map_or("?", |k| k.name);
        let _ = write!(s, "{}{name} {n}", if i == 0 { "" } else { ", " });
    }
    s + ")"
}

impl Error {
    /// An [`Error::Argument`].
    pub(crate) fn argument(op: &'static str, what: impl Into<String>) -> Self {
        Self::Argument { op, what: what.into() }
    }

    /// An [`Error::Axes`].
    pub(crate) fn axes(op: &'static str, what: impl Into<String>) -> Self {
        Self::Axes { op, what: what.into() }
    }
}
