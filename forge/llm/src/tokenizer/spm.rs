//! SentencePiece with scores: over the whole text, the adjacent pair whose whole has the best score is merged.

use super::error::TokenizerError;
use super::index::Strings;
use super::vocab::{Listed, TokenKind, same_length};
use forge_gguf::{Metadata, Value};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What stands for a space.
pub(crate) const SPACE: &str = "▁";

/// A SentencePiece model.
pub(crate) struct Spm {
    texts: Strings,
    scores: Vec<f32>,
    /// The longest token, in bytes.
    longest: usize,
    /// The token of each byte that has no other.
    bytes: [Option<u32>; 256],
    /// Whether a space is put before the text, and before text after a token that was matched whole.
    pub space_prefix: bool,
}

impl Spm {
    pub fn read(m: &Metadata, listed: &Listed<'_>, unknown: Option<u32>) -> Result<Self, TokenizerError> {
        let len = listed.texts.len();
        let scores = match m.value_of("tokenizer.ggml.scores") {
            None => vec![0.0; len],
            // Some converters write integers.
            Some(Value::Array(a)) if a.iter().next().is_some_and(|v| v.as_int().is_some()) => {
                a.iter().filter_map(|v| v.as_int()).map(|i| i as f32).collect()
            }
            Some(_) => m.get::<Vec<f32>>("tokenizer.ggml.scores")?,
        };
        same_length("tokenizer.ggml.scores", scores.len(), len)?;
        let mut texts = Strings::with_capacity(len, listed.texts.iter().map(|t| t.len()).sum());
        for text in &listed.texts {
            texts.push(text, !text.is_empty());
        }
        let longest = listed.texts.iter().map(|t| t.len()).max().unwrap_or(0);
        let bytes = std::array::from_fn(|b| {
            let named = format!("<0x{b:02X}>");
            texts.find(named.as_bytes()).or_else(|| texts.find(&[b as u8])).or(unknown)
        });
        let space_prefix = m.or("tokenizer.ggml.add_space_prefix", true)?;
        Ok(Self { texts, scores, longest, bytes, space_prefix })
    }

    /// Appends the bytes of a token of the given kind.
    pub fn piece(&self, id: u32, kind: TokenKind, out: &mut Vec<u8>) {
        let text = self.texts.of(id);
        match kind {
            TokenKind::Unused => {}
            TokenKind::Byte => {
                let hex = text.get(3..5).and_then(|h| std::str::from_utf8(h).ok());
                out.extend(hex.and_then(|h| u8::from_str_radix(h, 16).ok()));
            }
            TokenKind::Normal => {
                let mut rest = text;
                while let Some(at) = rest.windows(SPACE.len()).position(|w| w == SPACE.as_bytes()) {
                    out.extend_from_slice(&rest[..at]);
                    out.push(b' ');
                    rest = &rest[at + SPACE.len()..];
                }
                out.extend_from_slice(rest);
            }
            _ => out.extend_from_slice(text),
        }
    }

    /// Appends the tokens of `text`; `prefix` says whether a space may be put before it.
    pub fn encode(&self, text: &str, prefix: bool, out: &mut Vec<u32>) {
        let mut escaped = String::with_capacity(text.len() + text.len() / 4);
        if prefix && self.space_prefix {
            escaped.push_str(SPACE);
        }
        for (i, part) in text.split(' ').enumerate() {
            if i > 0 {
                escaped.push_str(SPACE);
            }
            escaped.push_str(part);
        }
        self.merge(&escaped, out);
    }

    fn merge(&self, text: &str, out: &mut Vec<u32>) {
        let bytes = text.as_bytes();
        // Symbols are stretches of the text; one that was merged into the one before it is empty.
        let mut symbols: Vec<Symbol> = text
            .char_indices()
            .enumerate()
            .map(|(i, (start, c))| Symbol {
                start: start as u32,
                len: c.len_utf8() as u32,
                before: (i as u32).wrapping_sub(1),
                after: i as u32 + 1,
            })
            .collect();
        let n = symbols.len();
        let mut heap = BinaryHeap::new();
        let push = |heap: &mut BinaryHeap<Candidate>, symbols: &[Symbol], l: u32, r: u32| {
            let (a, b) = (symbols[l as usize], symbols[r as usize]);
            let len = a.len + b.len;
            if len as usize > self.longest {
                return;
            }
            if let Some(id) = self.texts.find(&bytes[a.start as usize..(a.start + len) as usize]) {
                heap.push(Candidate { score: self.scores[id as usize], left: l, right: r, len });
            }
        };
        for i in 1..n as u32 {
            push(&mut heap, &symbols, i - 1, i);
        }
        while let Some(c) = heap.pop() {
            let (l, r) = (symbols[c.left as usize], symbols[c.right as usize]);
            // Either side may have changed since.
            if l.len == 0 || r.len == 0 || l.len + r.len != c.len {
                continue;
            }
            symbols[c.left as usize].len = c.len;
            symbols[c.left as usize].after = r.after;
            symbols[c.right as usize].len = 0;
            if (r.after as usize) < n {
                symbols[r.after as usize].before = c.left;
                push(&mut heap, &symbols, c.left, r.after);
            }
            if l.before != u32::MAX {
                push(&mut heap, &symbols, l.before, c.left);
            }
        }
        for s in symbols.iter().filter(|s| s.len > 0) {
            let piece = &bytes[s.start as usize..(s.start + s.len) as usize];
            match self.texts.find(piece) {
                Some(id) => out.push(id),
                None => out.extend(piece.iter().filter_map(|&b| self.bytes[b as usize])),
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Symbol {
    start: u32,
    len: u32,
    before: u32,
    after: u32,
}

/// A pair that may be merged; the greatest has the best score, and of several stands leftmost.
struct Candidate {
    score: f32,
    left: u32,
    right: u32,
    len: u32,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        // -0 and 0 are one score; a score that is no number is the worst.
        let key = |s: f32| if s.is_nan() { f32::NEG_INFINITY } else { s + 0.0 };
        key(self.score).total_cmp(&key(other.score)).then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}
