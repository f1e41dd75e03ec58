//! Tokenizers, as model files describe them.
//!
//! A [`Tokenizer`] is read from a file's metadata: byte-level BPE (`gpt2`: merges within words that a pre-tokenizer cuts)
//! or SentencePiece with scores (`llama`: merges over the whole text, with a token for each byte). Ids are those of
//! llama.cpp, text by text.
//!
//! Two kinds of tokens are matched whole, before anything else. *User-defined* ones always are. *Control* tokens are
//! matched only where the caller [says so](Encode): the text of a user must never become one.

mod bpe;
mod class;
mod error;
mod index;
mod special;
mod split;
mod spm;
mod stream;
mod tidy;
mod vocab;

pub use error::TokenizerError;
pub use stream::Decoder;
pub use vocab::{SpecialTokens, TokenKind};

use bpe::Bpe;
use forge_gguf::Metadata;
use special::{Fragment, Special, Specials, Trust};
use split::PreTokenizer;
use spm::Spm;
use vocab::Listed;

/// How text becomes tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encode {
    /// Whether the texts of control tokens become those tokens. Never for text that a user wrote.
    pub parse_special: bool,
    /// Whether the tokens that begin and end a text are added, where the model asks for them.
    pub add_special: bool,
}

impl Encode {
    /// Text of a user: no control tokens, nothing added.
    pub const TEXT: Self = Self { parse_special: false, add_special: false };
    /// A prompt by a programmer: control tokens are parsed, and what begins a text is added.
    pub const PROMPT: Self = Self { parse_special: true, add_special: true };
}

enum Model {
    Bpe(Bpe),
    Spm(Spm),
}

/// Text to tokens and back.
///
/// ```
/// use forge_gguf::{Gguf, Writer};
/// use forge_llm::tokenizer::{Encode, Tokenizer};
/// let mut w = Writer::new();
/// w.set("tokenizer.ggml.model", "gpt2")?.set("tokenizer.ggml.pre", "gpt-2")?;
/// w.set("tokenizer.ggml.tokens", &["l", "o", "w", "Ġ", "lo", "low", "<|end|>"])?;
/// w.set("tokenizer.ggml.token_type", &[1, 1, 1, 1, 1, 1, 3])?;
/// w.set("tokenizer.ggml.merges", &["l o", "lo w"])?;
/// let file = Gguf::from_bytes(w.to_bytes()?)?;
/// let tokenizer = Tokenizer::from_metadata(file.metadata())?;
///
/// assert_eq!(tokenizer.encode("low lo", Encode::TEXT), [5, 3, 4]);
/// assert_eq!(tokenizer.encode("low<|end|>", Encode { parse_special: true, add_special: false }), [5, 6]);
/// assert_eq!(tokenizer.decode(&[5, 3, 4])?, "low lo");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tokenizer {
    model: Model,
    kinds: Vec<TokenKind>,
    specials: Specials,
    special: SpecialTokens,
    add_bos: bool,
    add_eos: bool,
    clean_spaces: bool,
    padded: usize,
}

impl Tokenizer {
    /// The tokenizer of a model file.
    ///
    /// Memory: a small multiple of the bytes of its lists of tokens and merges.
    ///
    /// # Errors
    /// [`TokenizerError`] if there is none, it is of a kind that is not supported, or its lists do not fit each other.
    pub fn from_metadata(m: &Metadata) -> Result<Self, TokenizerError> {
        let model: &str = m.get("tokenizer.ggml.model")?;
        let mut listed = Listed::read(m)?;
        let (model, special, add_bos, clean_spaces) = match model {
            "gpt2" => {
                let name: &str = m.or("tokenizer.ggml.pre", "")?;
                let pre = PreTokenizer::named(name).ok_or_else(|| TokenizerError::Pre { found: name.to_owned() })?;
                let bos = (!matches!(name, "glm4" | "chatglm-bpe")).then_some(11);
                let special = vocab::specials(m, &mut listed, [bos, Some(11), None])?;
                (Model::Bpe(Bpe::read(m, pre, &listed)?), special, pre.add_bos, pre.clean_spaces)
            }
            "llama" => {
                let special = vocab::specials(m, &mut listed, [Some(1), Some(2), Some(0)])?;
                (Model::Spm(Spm::read(m, &listed, special.unknown)?), special, true, false)
            }
            other => return Err(TokenizerError::Model { found: other.to_owned() }),
        };
        let strip = Strip::of(m)?;
        let whole = |k| matches!(k, TokenKind::Control | TokenKind::UserDefined | TokenKind::Unknown);
        let specials = (listed.texts.iter().zip(&listed.kinds).enumerate())
            .filter(|(_, (_, k))| whole(**k))
            .map(|(id, (text, &kind))| Special {
                id: id as u32,
                text: text.to_vec(),
                control: kind != TokenKind::UserDefined,
                strip_after: strip.after(text),
            })
            .collect();
        let arch: &str = m.or("general.architecture", "")?;
        let padded = m.optional::<usize>(&format!("{arch}.vocab_size")).ok().flatten().unwrap_or(0);
        Ok(Self {
            model,
            special,
            specials: Specials::new(specials),
            add_bos: m.or("tokenizer.ggml.add_bos_token", add_bos)?,
            add_eos: m.or("tokenizer.ggml.add_eos_token", false)?,
            clean_spaces,
            padded: padded.max(listed.kinds.len()),
            kinds: listed.kinds,
        })
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there are none; never, as a file without tokens is refused.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// How many logits a model of this file has, at least: tokens, and what its matrices are padded to.
    pub fn padded_len(&self) -> usize {
        self.padded
    }

    /// What a token is for; `None` if there is no such token.
    pub fn kind(&self, id: u32) -> Option<TokenKind> {
        self.kinds.get(id as usize).copied()
    }

    /// The tokens that mean something to the runtime.
    pub fn special(&self) -> &SpecialTokens {
        &self.special
    }

    /// Whether generation ends after this token.
    pub fn ends_generation(&self, id: u32) -> bool {
        self.special.end_of_generation.contains(&id)
    }

    /// Whether the model wants the token that begins a text.
    pub fn adds_bos(&self) -> bool {
        self.add_bos
    }

    /// Whether the model wants the token that ends a text.
    pub fn adds_eos(&self) -> bool {
        self.add_eos
    }

    /// Whether encoding puts a space before every text.
    pub fn space_prefix(&self) -> bool {
        matches!(&self.model, Model::Spm(s) if s.space_prefix)
    }

    /// The tokens of `text`.
    pub fn encode(&self, text: &str, how: Encode) -> Vec<u32> {
        let mut out = Vec::new();
        self.encode_into(text, how, &mut out);
        out
    }

    /// [`Tokenizer::encode`], appended to `out`.
    pub fn encode_into(&self, text: &str, how: Encode, out: &mut Vec<u32>) {
        let trust = if how.parse_special { Trust::Except(&[]) } else { Trust::No };
        self.encode_within(text, trust, how.add_special, out);
    }

    /// The tokens of a text that is partly a user's: control tokens are parsed where they reach over none of the places
    /// `cuts`, which are sorted byte offsets. Text is tokenized as one, whoever wrote it.
    ///
    /// A chat template's rendering is encoded so.
    pub fn encode_cut(&self, text: &str, cuts: &[usize], add_special: bool) -> Vec<u32> {
        let mut out = Vec::new();
        self.encode_within(text, Trust::Except(cuts), add_special, &mut out);
        out
    }

    fn encode_within(&self, text: &str, trust: Trust<'_>, add_special: bool, out: &mut Vec<u32>) {
        if add_special && self.add_bos {
            out.extend(self.special.bos);
        }
        let mut after_token = true;
        for fragment in self.specials.cut(text, trust) {
            match fragment {
                Fragment::Token(id) => out.push(id),
                Fragment::Text(ref range) => match &self.model {
                    Model::Bpe(b) => b.encode(&text[range.clone()], out),
                    Model::Spm(s) => s.encode(&text[range.clone()], after_token, out),
                },
            }
            after_token = matches!(fragment, Fragment::Token(_));
        }
        if add_special && self.add_eos {
            out.extend(self.special.eos);
        }
    }

    /// The texts of control tokens, which [`Encode::TEXT`] does not parse.
    pub fn control_texts(&self) -> impl Iterator<Item = &[u8]> {
        self.specials.controls()
    }

    /// Appends the bytes of a token: of a control token only where `special`, of one that does not exist none.
    ///
    /// They may end within a character; [`Decoder`] makes text of them.
    pub fn piece(&self, id: u32, special: bool, out: &mut Vec<u8>) {
        let Some(kind) = self.kind(id) else { return };
        if !special && matches!(kind, TokenKind::Control | TokenKind::Unknown) {
            return;
        }
        match &self.model {
            Model::Bpe(b) => out.extend_from_slice(b.piece(id, kind)),
            Model::Spm(s) => s.piece(id, kind, out),
        }
    }

    /// The bytes of a token, control or not.
    ///
    /// # Errors
    /// [`TokenizerError::NoToken`].
    pub fn token_bytes(&self, id: u32) -> Result<Vec<u8>, TokenizerError> {
        let len = self.len();
        if id as usize >= len {
            return Err(TokenizerError::NoToken { id, len });
        }
        let mut out = Vec::new();
        self.piece(id, true, &mut out);
        Ok(out)
    }

    /// The text of tokens, without control tokens; bytes that are no UTF-8 give `U+FFFD`.
    ///
    /// The space that encoding puts before every text is dropped.
    ///
    /// # Errors
    /// [`TokenizerError::NoToken`].
    pub fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        Ok(String::from_utf8_lossy(&self.decode_bytes(ids, false)?).into_owned())
    }

    /// The bytes of tokens, with control tokens where `special`.
    ///
    /// # Errors
    /// [`TokenizerError::NoToken`].
    pub fn decode_bytes(&self, ids: &[u32], special: bool) -> Result<Vec<u8>, TokenizerError> {
        let len = self.len();
        if let Some(&id) = ids.iter().find(|&&id| id as usize >= len) {
            return Err(TokenizerError::NoToken { id, len });
        }
        let mut out = Vec::new();
        for (i, &id) in ids.iter().enumerate() {
            self.piece(id, special, &mut out);
            if i == 0 && self.space_prefix() && out.first() == Some(&b' ') {
                out.remove(0);
            }
        }
        Ok(out)
    }

    /// [`Tokenizer::decode_bytes`], and spaces before punctuation removed as the model's authors do on whole texts. Text
    /// that is streamed is not tidied, nor is [`Tokenizer::decode`].
    ///
    /// # Errors
    /// [`TokenizerError::NoToken`].
    pub fn decode_tidy(&self, ids: &[u32], special: bool) -> Result<Vec<u8>, TokenizerError> {
        let mut out = self.decode_bytes(ids, special)?;
        if self.clean_spaces {
            tidy::tidy(&mut out);
        }
        Ok(out)
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let model = match &self.model {
            Model::Bpe(_) => "byte-level BPE",
            Model::Spm(_) => "SentencePiece",
        };
        f.debug_struct("Tokenizer").field("model", &model).field("tokens", &self.len()).finish_non_exhaustive()
    }
}

/// After which special tokens white space is dropped. Files do not say; it goes by the model's name.
struct Strip {
    phi3: bool,
}

impl Strip {
    fn of(m: &Metadata) -> Result<Self, TokenizerError> {
        let name = String::from_utf8_lossy(m.or::<&[u8]>("general.name", b"")?).to_ascii_lowercase();
        Ok(Self { phi3: name.contains("phi-3") || name.contains("phi3") })
    }

    fn after(&self, text: &[u8]) -> bool {
        self.phi3 && ![&b"<unk>"[..], b"<s>", b"<|endoftext|>"].contains(&text)
    }
}
