//! What can be wrong with a request to sample.

/// Why no token can be drawn: what, and what to do, in one sentence.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum SampleError {
    /// An option is outside its range.
    #[error("{name} is {got}, but must be {range}")]
    Option {
        /// The option.
        name: &'static str,
        /// What it is.
        got: f64,
        /// What it may be.
        range: &'static str,
    },
    /// A token that the vocabulary does not have.
    #[error("{what} names token {token}, but the model has tokens 0 to {}", len.saturating_sub(1))]
    NoToken {
        /// Where the token stands.
        what: &'static str,
        /// The token.
        token: u32,
        /// Tokens of the vocabulary.
        len: usize,
    },
    /// A row of logits of the wrong length.
    #[error("{got} logits for a vocabulary of {len}")]
    Length {
        /// Logits given.
        got: usize,
        /// Tokens of the vocabulary.
        len: usize,
    },
    /// A logit that is no number, or infinite.
    #[error("the logit of token {token} is {value}: the model's weights are damaged, or a computation overflowed")]
    NotFinite {
        /// The token.
        token: u32,
        /// Its logit.
        value: f32,
    },
    /// No token is allowed.
    #[error("no token is allowed: biases or processors exclude all of them")]
    NoneAllowed,
    /// A [`LogitProcessor`](super::LogitProcessor) failed.
    #[error("a logit processor failed: {0}")]
    Processor(String),
}
