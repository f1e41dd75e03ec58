//! Tokens that are matched whole before text is cut into words.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A token that is matched whole.
pub(crate) struct Special {
    pub id: u32,
    pub text: Vec<u8>,
    /// Whether it is matched only in text that is trusted.
    pub control: bool,
    /// Whether white space after it is dropped.
    pub strip_after: bool,
}

/// All tokens that are matched whole, the longest first.
pub(crate) struct Specials {
    tokens: Vec<Special>,
    /// Tokens by length, longest first: the length, and numbers of tokens by text.
    by_length: Vec<(usize, HashMap<Vec<u8>, usize>)>,
    /// The bytes with which one begins.
    starts: [bool; 256],
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fragment {
    /// A token matched whole.
    Token(u32),
    /// Text to be cut into words: bytes of the text.
    Text(Range<usize>),
}

/// Where control tokens may be matched.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trust<'a> {
    /// Nowhere.
    No,
    /// Where a match does not reach over one of these places, which are sorted.
    Except(&'a [usize]),
}

impl Specials {
    pub fn new(tokens: Vec<Special>) -> Self {
        let mut lengths: BTreeMap<usize, HashMap<Vec<u8>, usize>> = BTreeMap::new();
        let mut starts = [false; 256];
        for (i, t) in tokens.iter().enumerate() {
            if let Some(&b) = t.text.first() {
                starts[b as usize] = true;
                lengths.entry(t.text.len()).or_default().entry(t.text.clone()).or_insert(i);
            }
        }
        Self { tokens, by_length: lengths.into_iter().rev().collect(), starts }
    }

    /// Tokens that are matched only in trusted text.
    pub fn controls(&self) -> impl Iterator<Item = &[u8]> {
        self.tokens.iter().filter(|t| t.control).map(|t| t.text.as_slice())
    }

    /// Cuts `text` into tokens and text between them: longer tokens before shorter ones, of one length from the left.
    pub fn cut(&self, text: &str, trust: Trust<'_>) -> Vec<Fragment> {
        let bytes = text.as_bytes();
        let at: Vec<usize> = (0..bytes.len()).filter(|&i| self.starts[bytes[i] as usize]).collect();
        // Taken so far: start, to end and number of the token; the end includes white space that is dropped.
        let mut taken: BTreeMap<usize, (usize, u32)> = BTreeMap::new();
        if !at.is_empty() {
            for (len, group) in &self.by_length {
                for &start in &at {
                    let end = start + len;
                    let Some(piece) = bytes.get(start..end) else { break };
                    if let Some(&i) = group.get(piece) {
                        self.take(&self.tokens[i], start..end, bytes, trust, &mut taken);
                    }
                }
            }
        }
        let mut out = Vec::with_capacity(2 * taken.len() + 1);
        let mut before = 0;
        for (start, (end, id)) in taken {
            if before < start {
                out.push(Fragment::Text(before..start));
            }
            out.push(Fragment::Token(id));
            before = end;
        }
        if before < bytes.len() {
            out.push(Fragment::Text(before..bytes.len()));
        }
        out
    }

    /// Takes a match if it may be one and nothing longer has taken its place.
    fn take(
        &self,
        token: &Special,
        place: Range<usize>,
        bytes: &[u8],
        trust: Trust<'_>,
        taken: &mut BTreeMap<usize, (usize, u32)>,
    ) {
        if token.control {
            let Trust::Except(cuts) = trust else { return };
            let next = cuts.partition_point(|&c| c <= place.start);
            if cuts.get(next).is_some_and(|&c| c < place.end) {
                return;
            }
        }
        let free_before = taken.range(..place.end).next_back().is_none_or(|(_, t)| t.0 <= place.start);
        if !free_before {
            return;
        }
        let limit = taken.range(place.end..).next().map_or(bytes.len(), |t| *t.0);
        let mut end = place.end;
        if token.strip_after {
            end += bytes[end..limit].iter().take_while(|b| matches!(b, b' ' | b'\t'..=b'\r')).count();
        }
        taken.insert(place.start, (end, token.id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Fragment::{Text, Token};

    fn specials(list: &[(&str, bool, bool)]) -> Specials {
        let token = |(i, &(text, control, strip_after)): (usize, &(&str, bool, bool))| Special {
            id: i as u32,
            text: text.into(),
            control,
            strip_after,
        };
        Specials::new(list.iter().enumerate().map(token).collect())
    }

    #[test]
    fn longer_tokens_come_first_wherever_they_stand() {
        let s = specials(&[("ab", false, false), ("bcd", false, false), ("b", false, false)]);
        assert_eq!(s.cut("abcdab", Trust::No), [Text(0..1), Token(1), Token(0)]);
        assert_eq!(s.cut("xbx", Trust::No), [Text(0..1), Token(2), Text(2..3)]);
        assert_eq!(s.cut("", Trust::No), []);
        assert_eq!(s.cut("xyz", Trust::No), [Text(0..3)]);
        assert_eq!(specials(&[]).cut("xyz", Trust::No), [Text(0..3)]);
    }

    #[test]
    fn control_tokens_need_trust() {
        let s = specials(&[("<a>", true, false), ("<b>", false, false)]);
        assert_eq!(s.cut("<a><b>", Trust::No), [Text(0..3), Token(1)]);
        assert_eq!(s.cut("<a><b>", Trust::Except(&[])), [Token(0), Token(1)]);
        assert_eq!(s.cut("<a><a><a>", Trust::Except(&[4])), [Token(0), Text(3..6), Token(0)]);
        assert_eq!(s.cut("<a><a>", Trust::Except(&[0, 3, 6])), [Token(0), Token(0)]);
        assert_eq!(s.cut("<a>", Trust::Except(&[2])), [Text(0..3)]);
    }

    #[test]
    fn white_space_is_dropped_after_those_that_say_so() {
        let s = specials(&[("<a>", true, true), ("  ", false, false)]);
        assert_eq!(s.cut("<a> \t\nx", Trust::Except(&[])), [Token(0), Text(6..7)]);
        assert_eq!(s.cut("<a>     x", Trust::Except(&[])), [Token(0), Text(8..9)]);
        assert_eq!(s.cut("<a> <a> ", Trust::Except(&[])), [Token(0), Token(0)]);
    }
}
