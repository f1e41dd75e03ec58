//! What the macros have in common: the crate's path in front, operands, and lists of axes.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Result};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprParen, Member, Path, Token, bracketed, parenthesized, token};

/// Most axes of a tensor.
pub(crate) const MAX_AXES: usize = 8;

/// `$crate; input`: the path of the crate `forge` under the name that the caller's crate has for it, then what the
/// user wrote.
pub(crate) struct Invocation<T> {
    pub(crate) krate: Path,
    pub(crate) input: T,
}

impl<T: Parse> Parse for Invocation<T> {
    fn parse(s: ParseStream<'_>) -> Result<Self> {
        let krate = s.call(Path::parse_mod_style)?;
        s.parse::<Token![;]>()?;
        Ok(Invocation { krate, input: s.parse()? })
    }
}

/// An axis as written in a list: a path to its type.
#[derive(Clone)]
pub(crate) struct AxisPath(pub(crate) Path);

impl AxisPath {
    fn ident(&self) -> &Ident {
        &self.0.segments.last().expect("a path has a segment").ident
    }

    /// Its last segment.
    pub(crate) fn name(&self) -> String {
        self.ident().unraw().to_string()
    }

    /// Where its name stands. (The span of a whole path of several segments is the whole macro on stable.)
    pub(crate) fn span(&self) -> Span {
        self.ident().span()
    }

    /// The path as text. Two axes that are written alike are one axis; two of the same name that are written with
    /// different paths may be two.
    pub(crate) fn text(&self) -> String {
        self.0.to_token_stream().to_string()
    }
}

impl Parse for AxisPath {
    fn parse(s: ParseStream<'_>) -> Result<Self> {
        if !s.peek(Ident::peek_any) && !s.peek(Token![::]) {
            return Err(s.error("expected the name of an axis"));
        }
        Ok(AxisPath(s.call(Path::parse_mod_style)?))
    }
}

impl ToTokens for AxisPath {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}

/// `[A, B, C]`, and where it stands.
pub(crate) fn bracketed_list<T: Parse>(s: ParseStream<'_>) -> Result<(Vec<T>, Span)> {
    let inside;
    let brackets = bracketed!(inside in s);
    let list = Punctuated::<T, Token![,]>::parse_terminated(&inside)?;
    Ok((list.into_iter().collect(), brackets.span.join()))
}

/// An operand and, in brackets, its axes: the operand is a variable, a field, a call of a method, a reference to
/// one of them, or any expression in parentheses.
pub(crate) fn operand(s: ParseStream<'_>) -> Result<Expr> {
    let operand = bare_operand(s)?;
    if !s.peek(token::Bracket) {
        let text = operand.to_token_stream().to_string().replace(' ', "");
        return Err(s.error(format!("expected the axes of `{text}` in brackets: `{text}[Batch, In]`")));
    }
    Ok(operand)
}

fn bare_operand(s: ParseStream<'_>) -> Result<Expr> {
    if s.peek(Token![&]) {
        let and: Token![&] = s.parse()?;
        let inner = bare_operand(s)?;
        return Ok(syn::parse_quote!(#and #inner));
    }
    let mut e: Expr = if s.peek(token::Paren) {
        let inside;
        let paren_token = parenthesized!(inside in s);
        let expr = Box::new(inside.parse()?);
        Expr::Paren(ExprParen { attrs: Vec::new(), paren_token, expr })
    } else if s.peek(Ident::peek_any) || s.peek(Token![::]) {
        let p = s.call(Path::parse_mod_style)?;
        syn::parse_quote!(#p)
    } else {
        return Err(s.error("expected a tensor: a variable, a field, or an expression in parentheses"));
    };
    while s.peek(Token![.]) {
        s.parse::<Token![.]>()?;
        let member: Member = s.parse()?;
        e = if s.peek(token::Paren) {
            let args;
            parenthesized!(args in s);
            let args = Punctuated::<Expr, Token![,]>::parse_terminated(&args)?;
            syn::parse_quote!(#e.#member(#args))
        } else {
            syn::parse_quote!(#e.#member)
        };
    }
    Ok(e)
}

/// The value of an axis, where its name stands and in its hygiene, so that an error about it points there.
pub(crate) fn axis_value(axis: &AxisPath) -> TokenStream {
    quote_spanned!(axis.span()=> <#axis as ::core::default::Default>::default())
}

/// A list of axes as a type: one axis stands bare.
pub(crate) fn list_type<'a>(axes: impl IntoIterator<Item = &'a AxisPath>) -> TokenStream {
    let v: Vec<_> = axes.into_iter().collect();
    match v[..] {
        [one] => quote!(#one),
        _ => quote!((#(#v),*)),
    }
}

/// The type of the tensor that stands for a refused result. A list that is no type itself gives a scalar.
pub(crate) fn refused_type(krate: &Path, axes: &[&AxisPath]) -> TokenStream {
    let axes = if axes.len() > MAX_AXES { quote!(()) } else { list_type(axes.iter().copied()) };
    quote!(#krate::Tensor<#axes>)
}

/// `[Batch, In]`, for messages.
pub(crate) fn list_text<'a>(axes: impl IntoIterator<Item = &'a AxisPath>) -> String {
    format!("[{}]", axes.into_iter().map(AxisPath::name).collect::<Vec<_>>().join(", "))
}

/// The user's wrapper macro puts `{ $crate; ... }` around what was written, so an error at its end would point at
/// the whole call. It points at the last token instead.
pub(crate) fn end_of_input(e: Error, tokens: &TokenStream) -> Error {
    let text = e.to_string();
    match (text.strip_prefix("unexpected end of input, "), tokens.clone().into_iter().last()) {
        (Some(rest), Some(last)) => Error::new(last.span(), format!("{rest} after this")),
        _ => e,
    }
}
