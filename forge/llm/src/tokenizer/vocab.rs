//! The tokens: bytes, kinds, and those that mean something to the runtime.

use super::error::{TokenizerError, inconsistent};
use forge_gguf::{Metadata, Strings as Texts};
use std::collections::BTreeSet;

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// Text.
    Normal,
    /// Stands for what has no token.
    Unknown,
    /// Controls the model: begins a turn, ends an answer. Text of users never becomes one.
    Control,
    /// Text that was added to the vocabulary whole, and is always matched whole.
    UserDefined,
    /// Nothing.
    Unused,
    /// A byte.
    Byte,
}

/// Tokens that mean something to the runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecialTokens {
    /// Begins a text.
    pub bos: Option<u32>,
    /// Ends a text.
    pub eos: Option<u32>,
    /// Ends a turn.
    pub eot: Option<u32>,
    /// Stands for what has no token.
    pub unknown: Option<u32>,
    /// Fills unused places.
    pub padding: Option<u32>,
    /// All tokens after which generation ends.
    pub end_of_generation: BTreeSet<u32>,
}

/// Texts of tokens that end a turn, the likeliest first.
const END_OF_TURN: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
];

/// Texts of further tokens that end generation.
const END_OF_GENERATION: &[&str] = &[
    "<|eom_id|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "</s>",
    "[EOS]",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "[e~[",
];

/// Texts of tokens for filling in the middle: those that end generation, and those that do not.
const FILL_ENDS: &[&[&str]] = &[
    &["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"],
    &["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"],
    &["<|file_sep|>"],
];
const FILL: &[&[&str]] = &[
    &[
        "<|fim_prefix|>",
        "<fim-prefix>",
        "<fim_prefix>",
        "<｜fim▁begin｜>",
        "<PRE>",
        "▁<PRE>",
        "<|code_prefix|>",
        "<|prefix|>",
    ],
    &[
        "<|fim_suffix|>",
        "<fim-suffix>",
        "<fim_suffix>",
        "<｜fim▁hole｜>",
        "<SUF>",
        "▁<SUF>",
        "<|code_suffix|>",
        "<|suffix|>",
    ],
    &[
        "<|fim_middle|>",
        "<fim-middle>",
        "<fim_middle>",
        "<｜fim▁end｜>",
        "<MID>",
        "▁<MID>",
        "<|code_middle|>",
        "<|middle|>",
    ],
];

/// The texts and kinds of a file's tokens.
pub(crate) struct Listed<'a> {
    pub texts: Vec<&'a [u8]>,
    pub kinds: Vec<TokenKind>,
}

impl<'a> Listed<'a> {
    pub fn read(m: &'a Metadata) -> Result<Self, TokenizerError> {
        let texts: Texts<'a> = m.get("tokenizer.ggml.tokens")?;
        let texts: Vec<&[u8]> = texts.collect();
        if texts.is_empty() {
            return Err(inconsistent("tokenizer.ggml.tokens is empty"));
        }
        if texts.iter().map(|t| t.len() as u64).sum::<u64>() > u64::from(u32::MAX) {
            return Err(inconsistent("tokenizer.ggml.tokens holds more than 4 GiB of text"));
        }
        let kinds = match m.optional::<Vec<i64>>("tokenizer.ggml.token_type")? {
            None => vec![TokenKind::Normal; texts.len()],
            Some(k) => {
                same_length("tokenizer.ggml.token_type", k.len(), texts.len())?;
                k.iter().take(texts.len()).map(|&k| kind(k)).collect()
            }
        };
        Ok(Self { texts, kinds })
    }

    /// The last token of this text.
    fn find(&self, text: &str) -> Option<u32> {
        // Called for a few texts only; an index of all tokens would cost more.
        self.texts.iter().rposition(|t| *t == text.as_bytes()).map(|i| i as u32)
    }
}

/// Checks that a list has an entry for each token.
pub(crate) fn same_length(key: &str, have: usize, tokens: usize) -> Result<(), TokenizerError> {
    if have < tokens {
        return Err(inconsistent(format!("{key} has {have} entries for {tokens} tokens")));
    }
    Ok(())
}

fn kind(id: i64) -> TokenKind {
    match id {
        1 => TokenKind::Normal,
        2 => TokenKind::Unknown,
        3 => TokenKind::Control,
        4 => TokenKind::UserDefined,
        6 => TokenKind::Byte,
        _ => TokenKind::Unused,
    }
}

/// The special tokens that the file names and that are known by their texts. Tokens that are known to control are made
/// to, whatever the file says of them: files often have them as text.
///
/// `defaults` are those for beginning, end and unknown where the file says none.
pub(crate) fn specials(
    m: &Metadata,
    listed: &mut Listed<'_>,
    defaults: [Option<u32>; 3],
) -> Result<SpecialTokens, TokenizerError> {
    let len = listed.texts.len() as u32;
    let named = |key: &str, default: Option<u32>| -> Result<Option<u32>, TokenizerError> {
        let default = default.filter(|&id| id < len);
        // A number outside the vocabulary is a converter's way to say that there is none.
        let id = m.optional::<i64>(&format!("tokenizer.ggml.{key}_token_id"))?;
        Ok(id.and_then(|id| u32::try_from(id).ok()).filter(|&id| id < len).or(default))
    };
    let [bos, eos, unknown] = defaults;
    let (bos, eos) = (named("bos", bos)?, named("eos", eos)?);
    let (unknown, padding) = (named("unknown", unknown)?, named("padding", None)?);
    let mut end = BTreeSet::new();

    let wanted: Vec<&str> =
        [END_OF_TURN, END_OF_GENERATION, FILL_ENDS.concat().as_slice(), FILL.concat().as_slice()].concat();
    let wanted = Known::of(listed, &wanted);
    let find = |text: &&str| wanted.find(text);
    let mut control = Vec::new();

    let mut eot = named("eot", None)?;
    if eot.is_none() {
        eot = END_OF_TURN.iter().find_map(find);
        control.extend(eot);
    }
    let mut eom = named("eom", None)?;
    if eom.is_none() {
        eom = find(&"<|eom_id|>");
        control.extend(eom);
    }
    let keys = [["fim_pad", ""], ["fim_rep", ""], ["fim_sep", ""]];
    for (texts, keys) in FILL_ENDS.iter().zip(keys) {
        let id = match named(keys[0], None)? {
            Some(id) => Some(id),
            None => {
                let id = texts.iter().find_map(find);
                control.extend(id);
                id
            }
        };
        end.extend(id);
    }
    for (texts, keys) in FILL.iter().zip([["fim_pre", "prefix"], ["fim_suf", "suffix"], ["fim_mid", "middle"]]) {
        if named(keys[0], None)?.is_none() && named(keys[1], None)?.is_none() {
            control.extend(texts.iter().find_map(find));
        }
    }
    let by_text: Vec<u32> = END_OF_TURN.iter().chain(END_OF_GENERATION).filter_map(find).collect();
    end.extend(&by_text);
    control.extend(by_text);
    for id in control {
        listed.kinds[id as usize] = TokenKind::Control;
    }
    // Harmony's channel marks are text that the runtime shows.
    for text in ["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"] {
        if let Some(id) = listed.find(text) {
            listed.kinds[id as usize] = TokenKind::UserDefined;
        }
    }
    end.extend(eos);
    end.extend(eot);
    end.extend(eom);

    // Where other tokens end an answer, these two only divide it.
    let has = |text: &str| wanted.find(text).is_some_and(|id| end.contains(&id));
    let calls = has("<|call|>") || has("<|calls|>");
    let divides = calls && (has("<|return|>") || has("<|flush|>"));
    let tools = has("<|tool_response>");
    if let Some(id) = wanted.find("<|end|>").filter(|_| divides) {
        end.remove(&id);
        listed.kinds[id as usize] = TokenKind::UserDefined;
    }
    if let Some(id) = wanted.find("</s>").filter(|_| tools) {
        end.remove(&id);
        listed.kinds[id as usize] = TokenKind::Normal;
    }
    Ok(SpecialTokens { bos, eos, eot, unknown, padding, end_of_generation: end })
}

/// Numbers of a few texts.
struct Known<'a>(Vec<(&'a str, u32)>);

impl<'a> Known<'a> {
    /// One walk over all tokens.
    fn of(listed: &Listed<'_>, texts: &[&'a str]) -> Self {
        let mut found = Vec::new();
        let mut sorted = texts.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let starts: [bool; 256] = std::array::from_fn(|b| sorted.iter().any(|t| t.as_bytes()[0] == b as u8));
        for (id, text) in listed.texts.iter().enumerate() {
            if text.first().is_some_and(|&b| starts[b as usize])
                && let Ok(at) = sorted.binary_search_by(|t| t.as_bytes().cmp(text))
            {
                found.push((sorted[at], id as u32));
            }
        }
        Self(found)
    }

    /// The last token of this text.
    fn find(&self, text: &str) -> Option<u32> {
        self.0.iter().rfind(|f| f.0 == text).map(|f| f.1)
    }
}
