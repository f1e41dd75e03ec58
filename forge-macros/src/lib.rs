//! The macros of Forge. Use them through the crate `forge`, which wraps each so that its paths hold under any name
//! of that crate.

mod errors;
mod fallible;

use proc_macro::TokenStream;

/// Inside `forge` only: on a method that is written to return `T` and whose body is a `Result<T, Error>`, emits
/// that method, which panics at the caller's line, and its twin `try_...`, which returns the `Result`.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn fallible(options: TokenStream, item: TokenStream) -> TokenStream {
    fallible::expand(options.into(), item.into()).unwrap_or_else(|e| e.to_compile_error()).into()
}
