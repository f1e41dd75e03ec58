//! The macros, each wrapped so that the paths in what it expands to go through `$crate`: they hold when the
//! dependency is renamed, and when another crate re-exports this one.

/// Declares axes.
///
/// An axis is a type without content: its name stands in the type of each tensor that has it (`Tensor<(Batch, In)>`)
/// and, as a value, in the calls that mean it (`x.sum(Batch)`). Axes are public unless a visibility is written, and
/// take documentation and other attributes. Two axes are the same only when they are the same declaration: two crates'
/// `Batch` are two axes.
///
/// The size of an axis is known when the program runs; `In = 784` fixes it. A fixed size is checked by the compiler,
/// and in a shape the axis itself stands in its place.
///
/// ```
/// use forge::prelude::*;
/// axes! {
///     /// One example of many.
///     Batch,
///     In = 784,
///     pub(crate) Out,
/// }
/// let x = Tensor::<(Batch, In)>::zeros((32, In));
/// assert_eq!(x.shape(), [32, 784]);
/// assert_eq!(x.sum(In).shape(), [32]);
/// ```
#[macro_export]
macro_rules! axes {
    ($($declarations:tt)*) => {
        $crate::__private::axes! { $crate; $($declarations)* }
    };
}

/// Contracts any number of tensors: `einsum!(x[Batch, In], w[In, Out] -> [Batch, Out])`.
///
/// Each operand is followed by its axes in brackets, exactly as in its type; the result has the axes right of the arrow,
/// in that order. An axis that is not in the result is summed over, wherever it stands: an axis of one operand alone is
/// summed too. An axis that several operands share is one axis, so its sizes are equal. The order in which operands are
/// joined is chosen from the sizes, cheapest first.
///
/// An operand is a variable, a field, a call of a method, a reference to one of them, or any expression in parentheses.
/// All have the same element type.
///
/// ```
/// use forge::prelude::*;
/// axes! { Batch, Seq, Key, Dim }
/// let q = Tensor::<(Batch, Seq, Dim)>::ones((2, 3, 4));
/// let k = Tensor::<(Batch, Key, Dim)>::ones((2, 5, 4));
/// let scores = einsum!(q[Batch, Seq, Dim], k[Batch, Key, Dim] -> [Batch, Seq, Key]);
/// assert_eq!(scores.shape(), [2, 3, 5]);
/// assert_eq!(scores.get((0, 0, 0)), 4.0);
///
/// let total: Tensor<()> = einsum!(q[Batch, Seq, Dim] -> []);
/// assert_eq!(total.item(), 24.0);
/// ```
///
/// In generic code it needs no bounds: the names are compared as they are written.
///
/// ```
/// # use forge::prelude::*;
/// fn linear<B: Axis, I: Axis, O: Axis>(x: &Tensor<(B, I)>, w: &Tensor<(I, O)>) -> Tensor<(B, O)> {
///     einsum!(x[B, I], w[I, O] -> [B, O])
/// }
/// # axes! { Batch, In, Out }
/// # assert_eq!(linear(&Tensor::<(Batch, In)>::ones((2, 3)), &Tensor::<(In, Out)>::ones((3, 4))).shape(), [2, 4]);
/// ```
///
/// # Panics
/// When a shared axis has two sizes, at the caller's line; `try_einsum!` returns the error.
#[macro_export]
macro_rules! einsum {
    ($($equation:tt)*) => {
        $crate::__private::einsum! { $crate; $($equation)* }
    };
}

/// The fallible twin of [`einsum!`]: a `Result` with [`Error`](crate::Error) where that panics.
///
/// ```
/// use forge::prelude::*;
/// axes! { Batch, In, Out }
/// let (x, w) = (Tensor::<(Batch, In)>::ones((2, 3)), Tensor::<(In, Out)>::ones((5, 4)));
/// let error = forge::try_einsum!(x[Batch, In], w[In, Out] -> [Batch, Out]).unwrap_err();
/// assert!(error.to_string().contains("axis `In` has size 3"));
/// ```
#[macro_export]
macro_rules! try_einsum {
    ($($equation:tt)*) => {
        $crate::__private::try_einsum! { $crate; $($equation)* }
    };
}

/// Permutes, splits, merges, renames, repeats and reduces in one line that shows the axes before and after.
///
/// | written | means |
/// |---|---|
/// | `x[A, B] -> [B, A]` | permute |
/// | `x[A => (B = 8, C)] -> [B, C]` | split `A`; at most one size is left open, and fixed axes need none |
/// | `x[B, C] -> [(B, C) => A]` | merge into `A`, the last varying fastest |
/// | `x[A] -> [A => B]` | rename |
/// | `x[A] -> [A, B = 3]` | repeat along a new axis |
/// | `mean x[A, B] -> [A]` | reduce what vanishes: `sum`, `mean`, `max`, `min` or `prod` |
///
/// The steps run in this order: split, reduce, repeat, permute, merge. The axes in brackets are exactly those of the
/// tensor's type; the operand is written as in [`einsum!`].
///
/// ```
/// use forge::prelude::*;
/// axes! { Batch, Seq, Model, Head, HeadDim }
/// let x = Tensor::<(Batch, Seq, Model)>::ones((2, 3, 32));
/// let heads = rearrange!(x[Batch, Seq, Model => (Head = 8, HeadDim)] -> [Batch, Head, Seq, HeadDim]);
/// assert_eq!(heads.shape(), [2, 8, 3, 4]);
/// let back = rearrange!(heads[Batch, Head, Seq, HeadDim] -> [Batch, Seq, (Head, HeadDim) => Model]);
/// assert_eq!(back.shape(), x.shape());
/// let pooled = rearrange!(mean x[Batch, Seq, Model] -> [Batch, Model]);
/// assert_eq!(pooled.shape(), [2, 32]);
/// ```
///
/// # Panics
/// When sizes do not multiply to that of a split axis, as [`Tensor::split`](crate::Tensor::split).
#[macro_export]
macro_rules! rearrange {
    ($($pattern:tt)*) => {
        $crate::__private::rearrange! { $crate; $($pattern)* }
    };
}
