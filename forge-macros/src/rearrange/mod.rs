//! `rearrange!`: permute, split, merge, repeat and reduce in one line.
//!
//! ```text
//! rearrange!(x[Batch, Seq, Model => (Head = 8, HeadDim)] -> [Batch, Head, Seq, HeadDim])
//! ```
//!
//! The steps run in one order: split, reduce, repeat, permute, merge. Each is a public method of `Tensor`; a step
//! that nothing asks for is left out.

mod check;
mod expand;
mod parse;

use crate::syntax::{AxisPath, Invocation, refused_type};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Expr;

/// `reducer operand[input] -> [output]`.
struct Rearrange {
    reducer: Option<(Reducer, Span)>,
    operand: Expr,
    input: Vec<Input>,
    output: Vec<Output>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reducer {
    Sum,
    Mean,
    Max,
    Min,
    Prod,
}

/// What stands in the list of the operand.
enum Input {
    /// `Batch`.
    Whole(AxisPath),
    /// `Model => (Head = 8, HeadDim)`.
    Split { whole: AxisPath, parts: Vec<Sized> },
}

/// What stands in the list of the result.
enum Output {
    /// `Batch`, or with a size a new axis: `Copy = 3`.
    Plain(Sized),
    /// `(Head, HeadDim) => Model`; one part without parentheses renames it.
    Merge { parts: Vec<Sized>, into: AxisPath },
}

/// An axis, with a size where one was written.
struct Sized {
    axis: AxisPath,
    size: Option<Expr>,
}

impl Rearrange {
    /// The axes of the operand.
    fn operand_axes(&self) -> Vec<&AxisPath> {
        self.input
            .iter()
            .map(|i| match i {
                Input::Whole(axis) | Input::Split { whole: axis, .. } => axis,
            })
            .collect()
    }

    /// The axes after the splits.
    fn split_axes(&self) -> Vec<&AxisPath> {
        let mut v = Vec::new();
        for i in &self.input {
            match i {
                Input::Whole(axis) => v.push(axis),
                Input::Split { parts, .. } => v.extend(parts.iter().map(|p| &p.axis)),
            }
        }
        v
    }

    /// The axes before the merges, in the order of the result.
    fn parts(&self) -> Vec<&Sized> {
        let mut v = Vec::new();
        for o in &self.output {
            match o {
                Output::Plain(p) => v.push(p),
                Output::Merge { parts, .. } => v.extend(parts),
            }
        }
        v
    }

    /// The axes of the result.
    fn result_axes(&self) -> Vec<&AxisPath> {
        self.output
            .iter()
            .map(|o| match o {
                Output::Plain(p) => &p.axis,
                Output::Merge { into, .. } => into,
            })
            .collect()
    }

    /// The axes after the splits that the result lacks.
    fn vanishing(&self) -> Vec<&AxisPath> {
        let kept = self.parts();
        self.split_axes().into_iter().filter(|a| !kept.iter().any(|p| p.axis.text() == a.text())).collect()
    }
}

impl Reducer {
    const ALL: [(&'static str, Reducer); 5] = [
        ("sum", Reducer::Sum),
        ("mean", Reducer::Mean),
        ("max", Reducer::Max),
        ("min", Reducer::Min),
        ("prod", Reducer::Prod),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, r)| *r == self).expect("every reducer is listed").0
    }
}

pub(crate) fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let Invocation { krate, input } = syn::parse2::<Invocation<Rearrange>>(input)?;
    let errors = check::check(&input);
    if errors.is_empty() {
        return Ok(expand::expand(&krate, &input));
    }
    let (errors, refused) = (errors.tokens(), refused_type(&krate, &input.result_axes()));
    Ok(quote!({ #errors #krate::__private::stub::<#refused>() }))
}

#[cfg(test)]
mod tests;
