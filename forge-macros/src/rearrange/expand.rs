//! From [`Rearrange`] to calls of `Tensor`'s methods.

use super::{Input, Output, Rearrange, Sized};
use crate::syntax::{AxisPath, axis_value, list_type};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Path;
use syn::spanned::Spanned;

pub(super) fn expand(krate: &Path, r: &Rearrange) -> TokenStream {
    let private = quote!(#krate::__private);
    let x = Ident::new("x", Span::mixed_site());
    let expr = &r.operand;
    let operand_type = list_type(r.operand_axes());
    // The operand's span carries a mismatch of its type.
    let mut steps = quote_spanned!(expr.span()=> let #x: &#krate::Tensor<#operand_type, _> = &#expr;);
    let mut step = |call: TokenStream| steps.extend(quote!(let #x = &#call;));

    for i in &r.input {
        if let Input::Split { whole, parts } = i {
            step(split(&private, &x, whole, parts));
        }
    }
    let mut order = r.split_axes();

    let vanishing = r.vanishing();
    if let Some((reducer, span)) = &r.reducer {
        let method = Ident::new(reducer.name(), *span);
        let axes = values(vanishing.iter().copied());
        step(quote!(#x.#method(#axes)));
        order.retain(|a| !vanishing.iter().any(|v| v.text() == a.text()));
    }

    let parts = r.parts();
    for new in parts.iter().filter(|p| p.size.is_some()) {
        let (axis, size) = (axis_value(&new.axis), &new.size);
        step(quote!(#x.insert(#axis).expand(#axis, #size)));
        order.push(&new.axis);
    }

    if !order.iter().map(|a| a.text()).eq(parts.iter().map(|p| p.axis.text())) {
        let target = list_type(parts.iter().map(|p| &p.axis));
        step(quote!(#x.permute::<#target>()));
    }

    for o in &r.output {
        if let Output::Merge { parts, into } = o {
            let to = axis_value(into);
            step(match &parts[..] {
                [one] => {
                    let from = axis_value(&one.axis);
                    quote!(#x.rename(#from, #to))
                }
                _ => {
                    let axes = values(parts.iter().map(|p| &p.axis));
                    quote!(#x.merge(#axes, #to))
                }
            });
        }
    }

    let result = list_type(r.result_axes());
    quote!({ #steps let #x: &#krate::Tensor<#result, _> = #x; #krate::Tensor::clone(#x) })
}

/// The value of a list, where its first axis stands: one axis stands bare.
fn values<'a>(axes: impl Iterator<Item = &'a AxisPath>) -> TokenStream {
    let axes: Vec<_> = axes.collect();
    let v = axes.iter().map(|a| axis_value(a));
    match &axes[..] {
        [one] => axis_value(one),
        _ => quote_spanned!(axes[0].span()=> (#(#v),*)),
    }
}

/// `x.split(whole, (parts...), (sizes...))`. A part without a size has a fixed one, or takes what the others leave.
fn split(private: &TokenStream, x: &Ident, whole: &AxisPath, parts: &[Sized]) -> TokenStream {
    let algebra = quote!(#private::axes_algebra);
    let sizes: Vec<Ident> = (0..parts.len()).map(|i| format_ident!("size{}", i, span = Span::mixed_site())).collect();
    let (mut given, mut factors) = (TokenStream::new(), Vec::new());
    for (p, size) in parts.iter().zip(&sizes) {
        let axis = &p.axis;
        match &p.size {
            Some(e) => {
                given.extend(quote_spanned!(e.span()=> let #size: #algebra::SizeArg<#axis> = #e;));
                factors.push(quote!(#private::size_of_arg::<#axis>(#size)));
            }
            None => factors.push(quote!(#private::fixed_or_one::<#axis>())),
        }
    }
    let open: Vec<usize> = (0..parts.len()).filter(|&i| parts[i].size.is_none()).collect();
    let (mut checks, mut rest) = (TokenStream::new(), TokenStream::new());
    for &i in &open {
        let (axis, size) = (&parts[i].axis, &sizes[i]);
        for &j in open.iter().filter(|&&j| j > i) {
            let other = &parts[j].axis;
            checks.extend(quote_spanned!(other.span()=> #private::one_is_fixed::<#axis, #other>();));
        }
        let others = factors.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, f)| f);
        let at = axis_value(whole);
        rest.extend(quote!(let #size = #private::what_is_left::<#axis>(#x.size(#at), [#(#others),*]);));
    }
    let (whole, parts) = (axis_value(whole), values(parts.iter().map(|p| &p.axis)));
    let sizes = match &sizes[..] {
        [one] => quote!(#one),
        _ => quote!((#(#sizes),*)),
    };
    quote!({ #checks #given #rest #x.split(#whole, #parts, #sizes) })
}
