//! All errors of one invocation, reported together.

use proc_macro2::{Span, TokenStream};
use std::fmt::Display;
use syn::Error;

/// Collects errors. One mistake gives one error, and several mistakes are told in one go.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    /// Adds an error at `span`.
    pub(crate) fn at(&mut self, span: Span, message: impl Display) {
        self.push(Error::new(span, message));
    }

    /// Adds an error.
    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Nothing was collected.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// `compile_error!` calls for what was collected, or nothing.
    pub(crate) fn tokens(&self) -> TokenStream {
        self.0.as_ref().map(Error::to_compile_error).unwrap_or_default()
    }

    /// `value`, or what was collected.
    pub(crate) fn finish<T>(self, value: T) -> syn::Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
