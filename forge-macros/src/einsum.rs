//! `einsum!`: a contraction of any number of operands, written with axis names.
//!
//! The set logic works on the names as written, with errors at the offending token; that the operands have the axes
//! they are said to have is left to the type checker.

use crate::errors::Errors;
use crate::syntax::{
    AxisPath, Invocation, MAX_AXES, axis_value, bracketed_list, list_text, list_type, operand, refused_type,
};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use std::collections::HashSet;
use syn::parse::{Parse, ParseStream, Result};
use syn::spanned::Spanned;
use syn::{Expr, Path, Token};

/// Most different axes of one contraction, as in `forge_axes::plan::MAX_LOOPS`.
const MAX_LOOPS: usize = 32;

struct Einsum {
    operands: Vec<Operand>,
    output: Vec<AxisPath>,
}

struct Operand {
    expr: Expr,
    axes: Vec<AxisPath>,
}

impl Parse for Einsum {
    fn parse(s: ParseStream<'_>) -> Result<Self> {
        let mut operands = Vec::new();
        loop {
            operands.push(Operand { expr: operand(s)?, axes: bracketed_list(s)?.0 });
            if s.parse::<Option<Token![,]>>()?.is_none() || s.peek(Token![->]) {
                break;
            }
        }
        if s.parse::<Option<Token![->]>>()?.is_none() {
            return Err(s.error("expected `, another[...]` or the axes of the result: `-> [Batch, Out]`"));
        }
        if !s.peek(syn::token::Bracket) {
            return Err(s.error("expected the axes of the result in brackets: `[Batch, Out]`, or `[]` for a scalar"));
        }
        let (output, _) = bracketed_list(s)?;
        s.parse::<Option<Token![,]>>()?;
        if !s.is_empty() {
            return Err(s.error("expected nothing after the result's axes"));
        }
        Ok(Einsum { operands, output })
    }
}

/// `function` is the helper of `forge::__private` that runs the plan: `einsum` or `try_einsum`.
pub(crate) fn expand(input: TokenStream, function: &str) -> Result<TokenStream> {
    let Invocation { krate, input } = syn::parse2::<Invocation<Einsum>>(input)?;
    let errors = validate(&input);
    if errors.is_empty() {
        return Ok(contraction(&krate, &input, &format_ident!("{function}")));
    }
    let (errors, refused) = (errors.tokens(), refused_type(&krate, &input.output.iter().collect::<Vec<_>>()));
    let value = quote!(#krate::__private::stub::<#refused>());
    Ok(if function == "einsum" {
        quote!({ #errors #value })
    } else {
        quote!({ #errors ::core::result::Result::<_, #krate::Error>::Ok(#value) })
    })
}

fn validate(e: &Einsum) -> Errors {
    let mut errors = Errors::default();
    for list in e.operands.iter().map(|o| &o.axes).chain([&e.output]) {
        for (i, a) in list.iter().enumerate() {
            if list[..i].iter().any(|b| b.text() == a.text()) {
                errors.at(a.span(), format!("axis `{}` appears twice in this list", a.name()));
            }
        }
        if let Some(ninth) = list.get(MAX_AXES) {
            errors.at(ninth.span(), "a tensor may have at most 8 axes");
        }
    }
    for a in &e.output {
        if !e.operands.iter().any(|o| o.axes.iter().any(|b| b.name() == a.name())) {
            let all: Vec<String> = e.operands.iter().map(|o| list_text(&o.axes)).collect();
            errors.at(a.span(), format!("output axis `{}` is in no operand: {}", a.name(), all.join(", ")));
        }
    }
    let mut seen = HashSet::new();
    for a in e.operands.iter().flat_map(|o| &o.axes) {
        if seen.insert(a.text()) && seen.len() == MAX_LOOPS + 1 {
            errors.at(a.span(), format!("more than {MAX_LOOPS} different axes in one einsum!"));
        }
    }
    errors
}

fn contraction(krate: &Path, e: &Einsum, function: &Ident) -> TokenStream {
    let private = quote!(#krate::__private);
    let algebra = quote!(#private::axes_algebra);
    let out = list_type(&e.output);
    let lists: Vec<TokenStream> = e.operands.iter().map(|o| list_type(&o.axes)).collect();
    let names: Vec<Ident> = (0..lists.len()).map(|i| Ident::new(&format!("operand{i}"), Span::mixed_site())).collect();
    let operands = e.operands.iter().zip(&names).zip(&lists).map(|((o, name), list)| {
        let expr = &o.expr;
        // The operand's span carries a mismatch of its type.
        quote_spanned!(expr.span()=> let #name: &#krate::Tensor<#list, _> = &#expr;)
    });
    let checks = output_checks(e, &private, &algebra, &lists);
    let first = &names[0];
    let n = names.len();
    quote!({
        #checks
        #(#operands)*
        #private::#function::<#out, _, #n>(
            #private::dtype_of(#first),
            [#(#private::operand(#names)),*],
            const {
                &#algebra::plan::EinsumPlan::new(
                    [#(<#lists as #algebra::Axes>::KEYS),*],
                    <#out as #algebra::Axes>::KEYS,
                )
            },
        )
    })
}

/// An output axis that is written exactly as in an operand is in it. Written with another path it may be another
/// axis of the same name: there the type checker decides.
fn output_checks(e: &Einsum, private: &TokenStream, algebra: &TokenStream, lists: &[TokenStream]) -> TokenStream {
    let written: HashSet<String> = e.operands.iter().flat_map(|o| o.axes.iter().map(AxisPath::text)).collect();
    let mut all = lists[0].clone();
    for l in &lists[1..] {
        all = quote!(#algebra::Union<#all, #l>);
    }
    e.output
        .iter()
        .filter(|a| !written.contains(&a.text()))
        .map(|a| {
            let axis = axis_value(a);
            quote!(#private::in_operands::<#all, _>(#axis);)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(input: TokenStream) -> String {
        expand(quote!(forge; #input), "einsum").map_or_else(|e| format!("error: {e}"), |t| t.to_string())
    }

    #[test]
    fn expands_to_a_plan_and_a_call() {
        let got = run(quote!(q[Batch, Seq, Dim], &self.k[Batch, Dim] -> [Batch, Seq]));
        assert!(got.contains("let operand0 : & forge :: Tensor < (Batch , Seq , Dim) , _ > = & q ;"), "{got}");
        assert!(got.contains("let operand1 : & forge :: Tensor < (Batch , Dim) , _ > = & & self . k ;"), "{got}");
        assert!(got.contains("forge :: __private :: einsum :: < (Batch , Seq) , _ , 2usize >"), "{got}");
        assert!(!got.contains("in_operands"), "axes written alike need no check: {got}");
        assert!(run(quote!(v[Key] -> [])).contains(":: < () , _ , 1usize >"));
        assert!(run(quote!((a + b)[Key], x.relu()[Key], -> [Key],)).contains("& x . relu ()"));
        assert!(run(quote!((a + b)[Key] -> [Key])).contains("& (a + b)"), "what is in parentheses stays there");
    }

    #[test]
    fn an_output_axis_of_another_path_is_checked_by_type() {
        let got = run(quote!(x[a::Batch, In], w[In, Out] -> [b::Batch, Out]));
        assert_eq!(got.matches("in_operands").count(), 1);
        assert!(got.contains("_ > (< b :: Batch as :: core :: default :: Default > :: default ())"), "{got}");
    }

    #[test]
    fn one_name_under_two_paths_may_be_two_axes() {
        assert!(!run(quote!(x[a::Batch, b::Batch] -> [b::Batch])).contains("error"));
        assert!(run(quote!(x[a::Batch, a::Batch] -> [])).contains("axis `Batch` appears twice"));
    }

    #[test]
    fn all_mistakes_at_once() {
        let got = run(quote!(q[Batch, Batch], k[Dim] -> [Head, Dim]));
        assert!(got.contains("axis `Batch` appears twice in this list"), "{got}");
        assert!(got.contains("output axis `Head` is in no operand: [Batch, Batch], [Dim]"), "{got}");
        assert!(run(quote!(q[A, B, C, D, E, F, G, H, I] -> [A])).contains("at most 8 axes"));
    }

    #[test]
    fn too_many_axes_for_one_plan() {
        let list = |k: usize| -> Vec<Ident> { (0..8).map(|i| format_ident!("A{}", 8 * k + i)).collect() };
        let (a, b, c, d, e) = (list(0), list(1), list(2), list(3), list(4));
        let four = quote!(x[#(#a),*], x[#(#b),*], x[#(#c),*], x[#(#d),*]);
        assert!(!run(quote!(#four -> [])).contains("compile_error"));
        assert!(run(quote!(#four, x[#(#e),*] -> [])).contains("more than 32"));
    }

    #[test]
    fn syntax() {
        assert!(run(quote!(q, k[Dim] -> [Dim])).contains("expected the axes of `q` in brackets"));
        assert!(run(quote!(q[Dim])).contains("the axes of the result"));
        assert!(run(quote!(q[Dim] -> Dim)).contains("in brackets"));
        assert!(run(quote!(q[Dim] -> [Dim] + 1)).contains("nothing after"));
        assert!(run(quote!(-> [Dim])).contains("expected a tensor"));
        assert!(run(quote!(q[3] -> [Dim])).contains("expected the name of an axis"));
    }
}
