//! The macros of Forge. Use them through the crate `forge`, which wraps `axes!`, `einsum!` and `rearrange!` so that
//! the paths in what they expand to hold under any name of that crate. One file for each macro: parse, validate,
//! expand.

mod axes;
mod einsum;
mod errors;
mod fallible;
mod module;
mod rearrange;
mod syntax;

use proc_macro::TokenStream;

/// What `expand` gives for the input, or its errors. In the place of an expression several errors need a block.
fn run(
    input: TokenStream,
    expand: impl Fn(proc_macro2::TokenStream) -> syn::Result<proc_macro2::TokenStream>,
) -> TokenStream {
    let input = proc_macro2::TokenStream::from(input);
    expand(input.clone()).unwrap_or_else(|e| syntax::end_of_input(e, &input).to_compile_error()).into()
}

/// Declares axes; see `forge::axes!`.
#[proc_macro]
pub fn axes(input: TokenStream) -> TokenStream {
    run(input, axes::expand)
}

/// Contracts tensors by axis names; see `forge::einsum!`.
#[proc_macro]
pub fn einsum(input: TokenStream) -> TokenStream {
    run(input, |t| einsum::expand(t, "einsum"))
}

/// The fallible twin of `einsum!`; see `forge::try_einsum!`.
#[proc_macro]
pub fn try_einsum(input: TokenStream) -> TokenStream {
    run(input, |t| einsum::expand(t, "try_einsum"))
}

/// Permutes, splits, merges, repeats and reduces; see `forge::rearrange!`.
#[proc_macro]
pub fn rearrange(input: TokenStream) -> TokenStream {
    run(input, rearrange::expand)
}

/// Implements `forge::nn::Module` for a struct with named fields, by visiting each field under its name.
///
/// On a field: `#[module(skip)]` leaves it out, `#[module(name = "...")]` renames it. On the struct:
/// `#[module(crate = path)]` says where the crate `forge` is, `::forge` by default.
#[proc_macro_derive(Module, attributes(module))]
pub fn derive_module(input: TokenStream) -> TokenStream {
    run(input, module::expand)
}

/// Inside `forge` only: on a method that is written to return `T` and whose body is a `Result<T, Error>`, emits
/// that method, which panics at the caller's line, and its twin `try_...`, which returns the `Result`.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn fallible(options: TokenStream, item: TokenStream) -> TokenStream {
    fallible::expand(options.into(), item.into()).unwrap_or_else(|e| e.to_compile_error()).into()
}
