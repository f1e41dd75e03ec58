//! What can be wrong with a tokenizer.

use super::split::PreTokenizer;
use forge_gguf::GgufError;

/// Why a file's tokenizer cannot be used: what, where, and what to do, in one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// Metadata is missing or of the wrong type.
    #[error(transparent)]
    Metadata(#[from] GgufError),
    /// A kind of tokenizer that is not supported.
    #[error(
        "tokenizer.ggml.model is `{found}`, which is not supported; `gpt2` (byte-level BPE) and `llama` (SentencePiece) are"
    )]
    Model {
        /// What the file says.
        found: String,
    },
    /// A pre-tokenizer that is not supported.
    #[error("tokenizer.ggml.pre is `{found}`, which is not supported; there are {}", names())]
    Pre {
        /// What the file says.
        found: String,
    },
    /// The lists do not fit each other.
    #[error("{what}: the file is damaged, convert the model again")]
    Inconsistent {
        /// What does not fit.
        what: String,
    },
    /// A token of this number does not exist.
    #[error("token {id} does not exist: the model has tokens 0 to {}", len.saturating_sub(1))]
    NoToken {
        /// The number.
        id: u32,
        /// How many tokens there are.
        len: usize,
    },
}

fn names() -> String {
    PreTokenizer::names().collect::<Vec<_>>().join(", ")
}

pub(crate) fn inconsistent(what: impl Into<String>) -> TokenizerError {
    TokenizerError::Inconsistent { what: what.into() }
}
