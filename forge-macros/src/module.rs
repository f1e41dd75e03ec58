//! `#[derive(Module)]`: visits the fields of a struct by name.

use crate::errors::Errors;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use std::collections::HashSet;
use syn::ext::IdentExt;
use syn::parse::Result;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Fields, LitStr, Path, Token, Type};

struct Field {
    ident: Ident,
    name: String,
    ty: Type,
}

pub(crate) fn expand(input: TokenStream) -> Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    let mut errors = Errors::default();
    let krate = crate_path(&input.attrs, &mut errors);
    let fields = fields(&input, &mut errors);
    Ok(implementation(&krate, &input, &fields, &errors))
}

/// `#[module(crate = path)]`, for a renamed dependency.
fn crate_path(attrs: &[Attribute], errors: &mut Errors) -> Path {
    let mut krate = syn::parse_quote!(::forge);
    for a in attrs.iter().filter(|a| a.path().is_ident("module")) {
        let parsed = a.parse_nested_meta(|m| {
            if m.path.is_ident("crate") {
                krate = m.value()?.call(Path::parse_mod_style)?;
                return Ok(());
            }
            Err(m.error("on a struct, `#[module(...)]` takes `crate = path` alone"))
        });
        if let Err(e) = parsed {
            errors.push(e);
        }
    }
    krate
}

fn fields(input: &DeriveInput, errors: &mut Errors) -> Vec<Field> {
    let whole = input.ident.span();
    let named = match &input.data {
        Data::Struct(s) => match &s.fields {
            Fields::Named(f) => &f.named,
            Fields::Unnamed(_) => {
                errors.at(whole, "`#[derive(Module)]` needs named fields: a parameter is found by its field's name");
                return Vec::new();
            }
            Fields::Unit => return Vec::new(),
        },
        Data::Enum(_) => {
            errors.at(
                whole,
                "`#[derive(Module)]` is for structs: the names of parameters would depend on the variant; \
                 use a struct with `Option` fields, or implement `Module` by hand",
            );
            return Vec::new();
        }
        Data::Union(_) => {
            errors.at(whole, "`#[derive(Module)]` is for structs with named fields, not for unions");
            return Vec::new();
        }
    };
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for f in named {
        let ident = f.ident.clone().expect("the fields are named");
        match options(&f.attrs) {
            Ok(Options { skip: true, .. }) => {}
            Ok(Options { name, .. }) => {
                let text = name.as_ref().map_or_else(|| ident.unraw().to_string(), LitStr::value);
                let span = name.as_ref().map_or(ident.span(), LitStr::span);
                if text.is_empty() || text.contains('.') {
                    errors.at(span, "a name in a parameter's path is not empty and has no dot");
                }
                if !seen.insert(text.clone()) {
                    errors.at(span, format!("two fields are named `{text}`"));
                }
                out.push(Field { ident, name: text, ty: f.ty.clone() });
            }
            Err(e) => errors.push(e),
        }
    }
    out
}

#[derive(Default)]
struct Options {
    skip: bool,
    name: Option<LitStr>,
}

fn options(attrs: &[Attribute]) -> Result<Options> {
    let mut o = Options::default();
    for a in attrs.iter().filter(|a| a.path().is_ident("module")) {
        a.parse_nested_meta(|m| {
            if m.path.is_ident("skip") {
                o.skip = true;
                return Ok(());
            }
            if m.path.is_ident("name") {
                o.name = Some(m.value()?.parse()?);
                return Ok(());
            }
            Err(m.error("on a field, `#[module(...)]` takes `skip` or `name = \"...\"`"))
        })?;
        if o.skip && o.name.is_some() {
            return Err(Error::new(a.span(), "a skipped field has no name"));
        }
    }
    Ok(o)
}

fn implementation(krate: &Path, input: &DeriveInput, fields: &[Field], errors: &Errors) -> TokenStream {
    let name = &input.ident;
    let mut generics = input.generics.clone();
    // A field whose type depends on a parameter of the struct is a module where that type is one.
    let params: HashSet<String> = input.generics.type_params().map(|p| p.ident.to_string()).collect();
    let open: Vec<&Type> = fields.iter().map(|f| &f.ty).filter(|t| mentions(&t.to_token_stream(), &params)).collect();
    if !open.is_empty() {
        let clause = generics.make_where_clause();
        for t in open {
            clause.predicates.push(syn::parse_quote!(#t: #krate::nn::Module));
        }
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (_, type_generics, _) = input.generics.split_for_impl();
    let visits = |method: &str, mutable: Option<Token![mut]>| -> TokenStream {
        fields
            .iter()
            .map(|f| {
                // All of the argument stands where the field's type does: there is the error when it is no module.
                let place = f.ty.span();
                let (method, text) = (Ident::new(method, place), &f.name);
                let mut ident = f.ident.clone();
                ident.set_span(place);
                let mutable = mutable.map(|_| Token![mut](place));
                quote_spanned!(place=> #krate::nn::Module::#method(&#mutable self.#ident, &mut path.push(#text), visitor);)
            })
            .collect()
    };
    let (visit, visit_mut) = (visits("visit", None), visits("visit_mut", Some(Default::default())));
    let errors = errors.tokens();
    // A struct that is refused still gets an impl, so that the mistake is told once.
    quote! {
        #errors
        #[automatically_derived]
        impl #impl_generics #krate::nn::Module for #name #type_generics #where_clause {
            #[allow(unused_variables, reason = "a module may have no parameters")]
            fn visit(&self, path: &mut #krate::nn::Path, visitor: &mut dyn #krate::nn::Visitor) {
                #visit
            }
            #[allow(unused_variables, reason = "a module may have no parameters")]
            fn visit_mut(&mut self, path: &mut #krate::nn::Path, visitor: &mut dyn #krate::nn::VisitorMut) {
                #visit_mut
            }
        }
    }
}

/// Does one of the words occur in the tokens?
fn mentions(tokens: &TokenStream, words: &HashSet<String>) -> bool {
    tokens.clone().into_iter().any(|t| match t {
        TokenTree::Ident(i) => words.contains(&i.to_string()),
        TokenTree::Group(g) => mentions(&g.stream(), words),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(input: TokenStream) -> String {
        expand(input).map_or_else(|e| format!("error: {e}"), |t| t.to_string())
    }

    #[test]
    fn visits_fields_by_name() {
        let got = run(quote! {
            struct Mlp<I: Axis, L> where L: Go {
                first: Linear<I, Hidden>,
                layers: Vec<L>,
                #[module(name = "out")] last: Linear<Hidden, Out>,
                #[module(skip)] rate: f32,
                r#type: Tensor<Out>,
            }
        });
        assert!(
            got.contains(
                r#":: forge :: nn :: Module :: visit (& self . first , & mut path . push ("first") , visitor)"#
            ),
            "{got}"
        );
        assert!(
            got.contains(r#"Module :: visit_mut (& mut self . last , & mut path . push ("out") , visitor)"#),
            "{got}"
        );
        assert!(got.contains(r#"(& self . r#type , & mut path . push ("type")"#), "{got}");
        assert!(!got.contains("rate"), "{got}");
        assert!(got.contains("Module for Mlp < I , L > where L : Go , Linear < I , Hidden > : :: forge :: nn :: Module , Vec < L > : :: forge :: nn :: Module {"), "{got}");
        assert!(!got.contains("Tensor < Out > :"), "a concrete type needs no bound: {got}");
    }

    #[test]
    fn another_name_for_the_crate() {
        let got = run(quote! { #[module(crate = crate::dl)] struct A { w: W } });
        assert!(got.contains("impl crate :: dl :: nn :: Module for A"), "{got}");
        assert!(got.contains("& mut crate :: dl :: nn :: Path"), "{got}");
    }

    #[test]
    fn mistakes() {
        let has = |input: TokenStream, words: &str| {
            let got = run(input);
            assert!(got.contains(words), "{words:?} is not in {got}");
            assert_eq!(got.matches("compile_error").count(), 1, "{got}");
            assert!(got.contains("Module for A"), "{got}");
        };
        has(quote! { enum A { B } }, "would depend on the variant");
        has(quote! { union A { b: u8 } }, "not for unions");
        has(quote! { struct A(W); }, "needs named fields");
        has(quote! { struct A { #[module(skop)] w: W } }, "takes `skip` or `name");
        has(quote! { struct A { #[module(skip, name = "x")] w: W } }, "a skipped field has no name");
        has(quote! { struct A { #[module(name = "a.b")] w: W } }, "no dot");
        has(quote! { struct A { #[module(name = "b")] a: W, b: W } }, "two fields are named `b`");
        has(quote! { #[module(skip)] struct A { w: W } }, "`crate = path` alone");
        assert!(!run(quote! { struct A; }).contains("error"));
    }
}
