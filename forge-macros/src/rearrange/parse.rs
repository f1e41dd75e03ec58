//! From tokens to [`Rearrange`].

use super::{Input, Output, Rearrange, Reducer, Sized};
use crate::syntax::{AxisPath, bracketed_list, operand};
use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Result};
use syn::punctuated::Punctuated;
use syn::{Error, Token, parenthesized, token};

impl Parse for Rearrange {
    fn parse(s: ParseStream<'_>) -> Result<Self> {
        let reducer = reducer(s)?;
        let operand = operand(s)?;
        let (input, _) = bracketed_list(s)?;
        if s.parse::<Option<Token![->]>>()?.is_none() {
            return Err(s.error("expected the axes of the result: `-> [Batch, Out]`"));
        }
        if !s.peek(token::Bracket) {
            return Err(s.error("expected the axes of the result in brackets: `[Batch, Out]`, or `[]` for a scalar"));
        }
        let (output, _) = bracketed_list(s)?;
        s.parse::<Option<Token![,]>>()?;
        if !s.is_empty() {
            return Err(s.error("expected nothing after the result's axes: rearrange! takes one tensor"));
        }
        Ok(Rearrange { reducer, operand, input, output })
    }
}

/// A word in front of the operand.
fn reducer(s: ParseStream<'_>) -> Result<Option<(Reducer, Span)>> {
    let operand_follows = s.peek2(Ident::peek_any) || s.peek2(Token![&]) || s.peek2(token::Paren);
    if !s.peek(syn::Ident) || !operand_follows {
        return Ok(None);
    }
    let word: Ident = s.parse()?;
    match Reducer::ALL.iter().find(|(name, _)| word == name) {
        Some((_, r)) => Ok(Some((*r, word.span()))),
        None => {
            Err(Error::new(word.span(), format!("`{word}` is no reduction: use `sum`, `mean`, `max`, `min` or `prod`")))
        }
    }
}

/// `(A = 2, B)`.
fn parts(s: ParseStream<'_>) -> Result<Vec<Sized>> {
    let inside;
    let parens = parenthesized!(inside in s);
    let parts: Vec<Sized> = Punctuated::<Sized, Token![,]>::parse_terminated(&inside)?.into_iter().collect();
    if parts.is_empty() {
        return Err(Error::new(parens.span.join(), "expected the names of axes in the parentheses"));
    }
    Ok(parts)
}

impl Parse for Sized {
    fn parse(s: ParseStream<'_>) -> Result<Self> {
        let axis = s.parse()?;
        let size = if s.parse::<Option<Token![=]>>()?.is_some() { Some(s.parse()?) } else { None };
        Ok(Sized { axis, size })
    }
}

impl Parse for Input {
    fn parse(s: ParseStream<'_>) -> Result<Self> {
        if s.peek(token::Paren) {
            return Err(s.error("a split is written `Model => (Head = 8, HeadDim)`, the whole axis first"));
        }
        let whole: AxisPath = s.parse()?;
        if s.peek(Token![=]) && !s.peek(Token![=>]) {
            return Err(s.error(format!("the tensor has the size of `{}`: only new axes are given one", whole.name())));
        }
        if s.parse::<Option<Token![=>]>>()?.is_none() {
            return Ok(Input::Whole(whole));
        }
        if !s.peek(token::Paren) {
            return Err(s.error(format!(
                "expected the parts of `{}` in parentheses; to rename it, write `{} => New` in the result",
                whole.name(),
                whole.name()
            )));
        }
        Ok(Input::Split { whole, parts: parts(s)? })
    }
}

impl Parse for Output {
    fn parse(s: ParseStream<'_>) -> Result<Self> {
        if s.peek(token::Paren) {
            let parts = parts(s)?;
            if s.parse::<Option<Token![=>]>>()?.is_none() {
                return Err(s.error("expected the axis that these are merged into: `=> Name`"));
            }
            return Ok(Output::Merge { parts, into: s.parse()? });
        }
        let axis: AxisPath = s.parse()?;
        if s.parse::<Option<Token![=>]>>()?.is_some() {
            if s.peek(token::Paren) {
                return Err(
                    s.error(format!("a split stands in the tensor's list, left of `->`: `{} => (...)`", axis.name()))
                );
            }
            return Ok(Output::Merge { parts: vec![Sized { axis, size: None }], into: s.parse()? });
        }
        let size = if s.parse::<Option<Token![=]>>()?.is_some() { Some(s.parse()?) } else { None };
        Ok(Output::Plain(Sized { axis, size }))
    }
}
