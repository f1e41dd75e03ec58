//! Language models on Forge.
//!
//! [`tokenizer`] turns text into tokens and back as the model file describes it.

pub mod tokenizer;
