//! `#[fallible]`: one body, two methods. The written one panics at the caller's line, its `try_` twin returns the
//! error.

use crate::errors::Errors;
use proc_macro2::{Delimiter, Group, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream, Result};
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, GenericArgument, GenericParam, Ident, ImplItemFn, Pat, PathArguments, ReturnType, Type,
};

/// `#[fallible]` on methods and associated functions, `#[fallible(free)]` on functions outside an `impl`.
struct Options {
    free: bool,
}

impl Parse for Options {
    fn parse(s: ParseStream<'_>) -> Result<Self> {
        if s.is_empty() {
            return Ok(Options { free: false });
        }
        let word: Ident = s.parse()?;
        if word == "free" { Ok(Options { free: true }) } else { Err(Error::new(word.span(), "expected `free`")) }
    }
}

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let Options { free } = syn::parse2(options)?;
    let f: ImplItemFn = syn::parse2(item)?;
    validate(&f)?;

    let name = &f.sig.ident;
    let twin = format_ident!("try_{}", name, span = name.span());
    let output = match &f.sig.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, t) => t.to_token_stream(),
    };

    let mut try_sig = f.sig.clone();
    try_sig.ident = twin.clone();
    try_sig.output = syn::parse_quote!(-> ::core::result::Result<#output, crate::error::Error>);

    // The panicking method: the same signature, where no argument needs to be `mut`.
    let mut sig = f.sig.clone();
    let mut args = Vec::new();
    for arg in &mut sig.inputs {
        match arg {
            FnArg::Receiver(r) => {
                if r.reference.is_none() {
                    r.mutability = None;
                }
            }
            FnArg::Typed(t) => {
                if let Pat::Ident(p) = &mut *t.pat {
                    p.mutability = None;
                    args.push(p.ident.clone());
                }
            }
        }
    }
    let params: Vec<&Ident> = f
        .sig
        .generics
        .params
        .iter()
        .filter_map(|p| match p {
            GenericParam::Type(t) => Some(&t.ident),
            GenericParam::Const(c) => Some(&c.ident),
            GenericParam::Lifetime(_) => None,
        })
        .collect();
    let turbofish = if params.is_empty() { quote!() } else { quote!(::<#(#params),*>) };
    let callee = match f.sig.inputs.first() {
        Some(FnArg::Receiver(_)) => quote!(self.#twin),
        _ if free => quote!(#twin),
        _ => quote!(Self::#twin),
    };

    let link = |n: &Ident| if free { format!("[`{n}`]") } else { format!("[`Self::{n}`]") };
    let panics = if docs(&f.attrs).contains("# Panics") {
        String::new()
    } else {
        format!("\n# Panics\n\nWhere {} returns an error: with its message, at the caller's line.", link(&twin))
    };
    let panics = if panics.is_empty() { quote!() } else { quote!(#[doc = #panics]) };
    let twin_doc = format!("The fallible twin of {}.\n\n# Errors\n\nWhere {} panics.", link(name), link(name));
    let attrs = f.attrs.iter().filter(|a| !a.path().is_ident("expect"));
    // Documentation belongs to one of them; `Result` is `must_use` already.
    let twin_attrs = f.attrs.iter().filter(|a| !a.path().is_ident("doc") && !a.path().is_ident("must_use"));
    let (vis, body) = (&f.vis, &f.block);
    let rank = result_rank(&f.sig.output);
    let mut panicking = Group::new(
        Delimiter::Brace,
        quote! {
            #rank
            match #callee #turbofish (#(#args),*) {
                ::core::result::Result::Ok(value) => value,
                ::core::result::Result::Err(error) => crate::error::raise(error),
            }
        },
    );
    // The braces of the written body: an error that points at the method then points at what was written, and does
    // not speak of this macro.
    panicking.set_span(f.block.brace_token.span.join());

    Ok(quote! {
        #(#attrs)*
        #panics
        #[track_caller]
        #vis #sig #panicking

        #(#twin_attrs)*
        #[doc = #twin_doc]
        #vis #try_sig #body
    })
}

fn validate(f: &ImplItemFn) -> Result<()> {
    let mut errors = Errors::default();
    for (what, span) in [
        ("const", f.sig.constness.map(|t| t.span())),
        ("async", f.sig.asyncness.map(|t| t.span())),
        ("unsafe", f.sig.unsafety.map(|t| t.span())),
    ] {
        if let Some(span) = span {
            errors.at(span, format!("`#[fallible]` does not know what to do with `{what}`"));
        }
    }
    if f.sig.ident.to_string().starts_with("try_") {
        errors.at(f.sig.ident.span(), "`#[fallible]` adds the `try_` twin: name the method without it");
    }
    if let Some(span) = result_type(&f.sig.output) {
        errors.at(span, "`#[fallible]` wants the type inside the `Result` here: it writes the `Result` itself");
    }
    for arg in &f.sig.inputs {
        if let FnArg::Typed(t) = arg
            && !matches!(&*t.pat, Pat::Ident(p) if p.subpat.is_none() && p.by_ref.is_none())
        {
            errors.at(t.pat.span(), "`#[fallible]` needs a plain name for each argument");
        }
    }
    errors.finish(())
}

/// Where the written return type is a `Result`.
fn result_type(output: &ReturnType) -> Option<Span> {
    let ReturnType::Type(_, t) = output else { return None };
    let Type::Path(p) = &**t else { return None };
    p.path.segments.last().filter(|s| s.ident == "Result").map(|s| s.ident.span())
}

/// For a result `Tensor<Y, ...>`, its rank as a constant of the method that the user calls: that there are more axes
/// than a tensor may have is found only when code is generated, and is then said to be at that call.
fn result_rank(output: &ReturnType) -> Option<TokenStream> {
    let ReturnType::Type(_, t) = output else { return None };
    let Type::Path(p) = &**t else { return None };
    let tensor = p.path.segments.last().filter(|s| s.ident == "Tensor")?;
    let PathArguments::AngleBracketed(args) = &tensor.arguments else { return None };
    let Some(GenericArgument::Type(axes)) = args.args.first() else { return None };
    Some(quote!(const { <#axes as ::forge_axes::Axes>::RANK };))
}

fn docs(attrs: &[Attribute]) -> String {
    attrs.iter().filter(|a| a.path().is_ident("doc")).map(|a| a.to_token_stream().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(options: TokenStream, item: TokenStream) -> std::result::Result<String, String> {
        expand(options, item).map(|t| t.to_string()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_method_and_its_twin() {
        let got = run(
            quote!(),
            quote! {
                /// Doc.
                #[must_use]
                #[inline]
                pub fn dot<'a, R: Axes, const N: usize>(&self, mut rhs: &'a R, n: [usize; N]) -> Tensor<R> where R: X {
                    rhs.go()?;
                    Ok(rhs)
                }
            },
        )
        .unwrap();
        let panics = "\n# Panics\n\nWhere [`Self::try_dot`] returns an error: with its message, at the caller's line.";
        let errors = "The fallible twin of [`Self::dot`].\n\n# Errors\n\nWhere [`Self::dot`] panics.";
        let want = quote! {
            /// Doc.
            #[must_use]
            #[inline]
            #[doc = #panics]
            #[track_caller]
            pub fn dot<'a, R: Axes, const N: usize>(&self, rhs: &'a R, n: [usize; N]) -> Tensor<R> where R: X {
                const { <R as ::forge_axes::Axes>::RANK };
                match self.try_dot::<R, N>(rhs, n) {
                    ::core::result::Result::Ok(value) => value,
                    ::core::result::Result::Err(error) => crate::error::raise(error),
                }
            }

            #[inline]
            #[doc = #errors]
            pub fn try_dot<'a, R: Axes, const N: usize>(&self, mut rhs: &'a R, n: [usize; N])
                -> ::core::result::Result<Tensor<R>, crate::error::Error> where R: X
            {
                rhs.go()?;
                Ok(rhs)
            }
        };
        assert_eq!(got, want.to_string());
    }

    #[test]
    fn without_a_receiver() {
        let item = quote! { fn make(n: usize) { Ok(()) } };
        let got = run(quote!(), item.clone()).unwrap();
        assert!(got.contains("match Self :: try_make (n)"), "{got}");
        assert!(got.contains(":: Result < () , crate :: error :: Error >"), "{got}");
        let got = run(quote!(free), item).unwrap();
        assert!(got.contains("match try_make (n)"), "{got}");
        assert!(got.contains("[`try_make`]"), "{got}");
    }

    #[test]
    fn a_written_panics_section_stays_alone() {
        let got = run(quote!(), quote! { #[doc = " # Panics"] fn f(mut self) -> T { Ok(self) } }).unwrap();
        assert_eq!(got.matches("# Panics").count(), 1);
        assert!(got.contains("fn f (self) -> T"), "{got}");
        assert!(got.contains("fn try_f (mut self)"), "{got}");
    }

    #[test]
    fn mistakes() {
        let mistake = |item| run(quote!(), item).unwrap_err();
        assert!(mistake(quote! { fn f(&self) -> Result<T, E> { x } }).contains("type inside the `Result`"));
        assert!(mistake(quote! { fn f((a, b): (A, B)) -> T { x } }).contains("plain name"));
        assert!(mistake(quote! { fn try_f() -> T { x } }).contains("without it"));
        assert!(mistake(quote! { const fn f() -> T { x } }).contains("`const`"));
        assert!(run(quote!(fre), quote! { fn f() {} }).unwrap_err().contains("expected `free`"));
    }
}
