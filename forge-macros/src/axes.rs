//! `axes!`: declares axes.

use crate::errors::Errors;
use crate::syntax::Invocation;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::HashSet;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Result};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, Lit, Path, Token, Visibility};

struct Declarations(Vec<Declaration>);

struct Declaration {
    attrs: Vec<Attribute>,
    vis: Visibility,
    name: Ident,
    size: Option<Expr>,
}

impl Parse for Declaration {
    fn parse(s: ParseStream<'_>) -> Result<Self> {
        let attrs = s.call(Attribute::parse_outer)?;
        let vis: Visibility = s.parse()?;
        if !s.peek(syn::Ident) && s.peek(Ident::peek_any) {
            let word = s.call(Ident::parse_any)?;
            return Err(Error::new(word.span(), format!("expected the name of an axis, found the keyword `{word}`")));
        }
        let name: Ident = s.parse()?;
        let size = if s.parse::<Option<Token![=]>>()?.is_some() { Some(s.parse()?) } else { None };
        if !s.is_empty() && !s.peek(Token![,]) {
            return Err(s.error(format!("expected `,` or a fixed size `{name} = 784`")));
        }
        Ok(Declaration { attrs, vis, name, size })
    }
}

impl Parse for Declarations {
    fn parse(s: ParseStream<'_>) -> Result<Self> {
        Ok(Declarations(Punctuated::<Declaration, Token![,]>::parse_terminated(s)?.into_iter().collect()))
    }
}

/// A declaration that is known to be right.
struct Axis {
    attrs: Vec<Attribute>,
    vis: Visibility,
    name: Ident,
    size: Option<u64>,
}

pub(crate) fn expand(input: TokenStream) -> Result<TokenStream> {
    let Invocation { krate, input } = syn::parse2::<Invocation<Declarations>>(input)?;
    let mut errors = Errors::default();
    let axes = validate(input, &mut errors);
    let place = Place::of_this_crate();
    let items: TokenStream = axes.iter().map(|a| axis(&krate, a, &place)).collect();
    // A wrong declaration still declares its axis, so that the mistake is told once and not at every use.
    let errors = errors.tokens();
    Ok(quote!(#errors #items))
}

fn validate(declarations: Declarations, errors: &mut Errors) -> Vec<Axis> {
    let mut seen = HashSet::new();
    let mut axes = Vec::new();
    for d in declarations.0 {
        let name = d.name.unraw().to_string();
        if !seen.insert(name.clone()) {
            errors.at(d.name.span(), format!("axis `{name}` is declared twice"));
            continue;
        }
        let size = d.size.and_then(|e| match size(&e, &name) {
            Ok(n) => Some(n),
            Err(e) => {
                errors.push(e);
                None
            }
        });
        let vis = match d.vis {
            Visibility::Inherited => syn::parse_quote!(pub),
            written => written,
        };
        axes.push(Axis { attrs: d.attrs, vis, name: d.name, size });
    }
    axes
}

fn size(e: &Expr, name: &str) -> Result<u64> {
    let Expr::Lit(ExprLit { lit: Lit::Int(n), .. }) = e else {
        return Err(Error::new(
            e.span(),
            format!(
                "the fixed size of `{name}` must be an integer literal, as in `{name} = 784`: \
                 the compiler multiplies and adds fixed sizes as types, which it cannot take from a constant"
            ),
        ));
    };
    if !matches!(n.suffix(), "" | "usize") {
        return Err(Error::new(n.span(), format!("the fixed size of `{name}` is a `usize`")));
    }
    n.base10_parse()
}

/// One axis: a unit struct and its `Axis` impl.
fn axis(krate: &Path, axis: &Axis, place: &Place) -> TokenStream {
    let Axis { attrs, vis, name, size } = axis;
    let a = quote!(#krate::__private::axes_algebra);
    let hash = place.hash(name);
    let id = id(&a, hash);
    let text = name.unraw().to_string();
    let (size_type, number, fixed) = match size {
        None => (quote!(#a::Dyn), quote!(#a::Unknown), quote!(::core::option::Option::None)),
        Some(n) => {
            let number = typenum(&a, *n);
            let n = proc_macro2::Literal::u64_unsuffixed(*n);
            (quote!(#a::Fixed<#n>), quote!(#a::Known<#number>), quote!(::core::option::Option::Some(#n)))
        }
    };
    let has_doc = attrs.iter().any(|a| a.path().is_ident("doc"));
    let doc = match size {
        Some(n) => format!("Axis `{text}`, of fixed size {n}."),
        None => format!("Axis `{text}`."),
    };
    let doc = if has_doc { quote!() } else { quote!(#[doc = #doc]) };
    // What switches the struct off switches off its impls.
    let cfg: Vec<_> = attrs.iter().filter(|a| a.path().is_ident("cfg")).collect();
    quote! {
        #(#attrs)* #doc
        #[derive(Clone, Copy, Default)]
        #vis struct #name;
        #(#cfg)*
        impl #a::Axis for #name {
            type Id = #id;
            type Size = #size_type;
            type Number = #number;
            const KEY: #a::Key<'static> = #a::Key {
                hash: #hash,
                name: #text,
                path: ::core::concat!(::core::module_path!(), "::", #text, "@", ::core::line!(), ":", ::core::column!()),
                fixed: #fixed,
            };
        }
    }
}

/// `n` in the crate typenum's binary digits.
fn typenum(a: &TokenStream, n: u64) -> TokenStream {
    let mut number = quote!(#a::typenum::UTerm);
    for bit in (0..64 - n.leading_zeros()).rev() {
        let digit = if n >> bit & 1 == 1 { format_ident!("B1") } else { format_ident!("B0") };
        number = quote!(#a::typenum::UInt<#number, #a::typenum::#digit>);
    }
    number
}

/// 8 digits of 5 bits: two of 200 axes share an id with probability 2e-8, and a shared id is reported when the
/// axes meet, never accepted.
const DIGITS: u32 = 8;
const BITS: u32 = 5;

fn id(a: &TokenStream, hash: u64) -> TokenStream {
    let mut id = quote!(#a::End);
    for k in 0..DIGITS {
        let digit = b"0123456789ABCDEFGHIJKLMNOPQRSTUV"[(hash >> (BITS * k)) as usize & 31] as char;
        let digit = format_ident!("X{digit}");
        id = quote!(#a::#digit<#id>);
    }
    id
}

/// What makes an axis unique: the crate and the place of its declaration.
struct Place {
    crate_hash: u64,
    root: String,
}

impl Place {
    fn of_this_crate() -> Self {
        let var = |name| std::env::var(name).unwrap_or_default();
        let mut crate_hash = 0xcbf2_9ce4_8422_2325;
        for v in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION", "CARGO_CRATE_NAME"] {
            fnv(&mut crate_hash, &var(v));
        }
        Place { crate_hash, root: var("CARGO_MANIFEST_DIR") }
    }

    /// Never 0: that stands for an axis made at run time.
    fn hash(&self, name: &Ident) -> u64 {
        let mut h = self.crate_hash;
        if proc_macro::is_available() {
            let span = name.span().unwrap();
            let file = span.file();
            // Relative to the package, so that the id does not depend on the machine.
            fnv(&mut h, file.strip_prefix(self.root.as_str()).unwrap_or(&file));
            fnv(&mut h, &format!("{}:{}", span.line(), span.column()));
        }
        fnv(&mut h, &name.to_string());
        // The finaliser of splitmix64, so that the low bits are well mixed.
        h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (h ^ (h >> 31)).max(1)
    }
}

/// FNV-1a, with a separator after each string.
fn fnv(h: &mut u64, s: &str) {
    for b in s.bytes().chain([0xff]) {
        *h ^= u64::from(b);
        *h = h.wrapping_mul(0x100_0000_01b3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(input: TokenStream) -> String {
        expand(quote!(forge; #input)).map_or_else(|e| format!("error: {e}"), |t| t.to_string())
    }

    #[test]
    fn declares() {
        let got = run(quote! {
            /// Rows.
            Batch,
            pub(crate) In = 5,
        });
        assert!(got.contains("pub struct Batch ;"), "{got}");
        assert!(got.contains("pub (crate) struct In ;"), "{got}");
        assert!(got.contains("type Size = forge :: __private :: axes_algebra :: Dyn ;"), "{got}");
        assert!(got.contains("type Size = forge :: __private :: axes_algebra :: Fixed < 5 > ;"), "{got}");
        assert!(got.contains("Axis `In`, of fixed size 5."), "{got}");
        assert!(!got.contains("Axis `Batch`."), "a written doc stays alone: {got}");
        assert!(run(quote!()).is_empty());
    }

    #[test]
    fn numbers_are_those_of_typenum() {
        let number = |n| typenum(&quote!(a), n).to_string().replace("a :: typenum :: ", "").replace(' ', "");
        assert_eq!(number(0), "UTerm");
        assert_eq!(number(1), "UInt<UTerm,B1>");
        assert_eq!(number(6), "UInt<UInt<UInt<UTerm,B1>,B1>,B0>");
        assert_eq!(number(u64::MAX).matches("B1").count(), 64);
    }

    #[test]
    fn ids_are_deterministic_and_differ() {
        let place = Place { crate_hash: 7, root: String::new() };
        let (a, b) = (format_ident!("A"), format_ident!("B"));
        assert_eq!(place.hash(&a), place.hash(&a));
        assert_ne!(place.hash(&a), place.hash(&b));
        assert_ne!(place.hash(&a), Place { crate_hash: 8, root: String::new() }.hash(&a));
        assert_eq!(id(&quote!(a), 0).to_string().matches("X0").count(), DIGITS as usize);
    }

    #[test]
    fn mistakes_are_told_once_and_the_axis_exists() {
        let got = run(quote!(A, B, A));
        assert!(got.contains("axis `A` is declared twice"), "{got}");
        assert_eq!(got.matches("struct A").count(), 1);
        let got = run(quote!(A = N, B = 2.5, C = 3u8));
        assert_eq!(got.matches("must be an integer literal").count(), 2, "{got}");
        assert!(got.contains("is a `usize`"), "{got}");
        assert_eq!(got.matches("struct").count(), 3);
        assert!(run(quote!(struct A)).contains("found the keyword `struct`"));
        assert!(run(quote!(A B)).contains("expected `,` or a fixed size `A = 784`"));
        assert!(run(quote!(A<T>)).contains("expected `,`"));
    }

    #[test]
    fn cfg_goes_to_the_impl_too() {
        assert_eq!(
            run(quote!(
                #[cfg(test)]
                A
            ))
            .matches("cfg (test)")
            .count(),
            2
        );
    }
}
