//! Language models on Forge.
//!
//! [`tokenizer`] turns text into tokens and back as the model file describes it; [`sample`] chooses the next token from
//! a model's logits.

pub mod sample;
pub mod tokenizer;
