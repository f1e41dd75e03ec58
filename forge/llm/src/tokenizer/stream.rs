//! Text from tokens that arrive one at a time.

use super::Tokenizer;

/// Turns tokens into text as they arrive, and never splits a character.
///
/// A token may end within a character; its last bytes are held back, at most three, until the character is complete.
/// Bytes that can become no character give `U+FFFD`.
///
/// ```
/// # use forge_llm::tokenizer::Decoder;
/// let mut text = Decoder::new();
/// assert_eq!(text.bytes(b"caf\xc3"), "caf");
/// assert_eq!(text.bytes(b"\xa9!"), "é!");
/// assert_eq!(text.bytes(b"\xf0\x9f"), "");
/// assert_eq!(text.finish(), "\u{fffd}");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    held: Vec<u8>,
    /// Whether the leading space of the next token is dropped.
    strip: bool,
}

impl Decoder {
    /// A decoder of bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// A decoder of a text that begins with the next token: a space that encoding puts before every text is dropped.
    pub fn at_start(tokenizer: &Tokenizer) -> Self {
        Self { held: Vec::new(), strip: tokenizer.space_prefix() }
    }

    /// The text that a token completes; `special` says whether control tokens are shown.
    pub fn token(&mut self, tokenizer: &Tokenizer, id: u32, special: bool) -> String {
        let mut piece = Vec::new();
        tokenizer.piece(id, special, &mut piece);
        let strip = std::mem::take(&mut self.strip) && piece.first() == Some(&b' ');
        self.bytes(&piece[usize::from(strip)..])
    }

    /// The text that bytes complete.
    pub fn bytes(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let mut out = String::new();
        let mut rest = self.held.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    out.push_str(text);
                    rest = &[];
                    break;
                }
                Err(e) => {
                    let (good, bad) = rest.split_at(e.valid_up_to());
                    out.push_str(&String::from_utf8_lossy(good));
                    rest = bad;
                    // Without a length, the bytes may yet become a character.
                    let Some(n) = e.error_len() else { break };
                    out.push('\u{fffd}');
                    rest = &rest[n..];
                }
            }
        }
        self.held = rest.to_vec();
        out
    }

    /// What is still held back, which can become no character any more.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.held).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_split_gives_the_same_text() {
        let cases: [&[u8]; 5] =
            ["aé日🦀\u{301}z".as_bytes(), b"\xff\xfea\xc3", b"\xe2\x28\xa1\xf0\x9f\xa6", b"\xf0\x9f\xa6\x80\x80", b""];
        for bytes in cases {
            let want = String::from_utf8_lossy(bytes).into_owned();
            for mask in 0..1u32 << bytes.len().saturating_sub(1) {
                let mut d = Decoder::new();
                let mut text = String::new();
                let mut start = 0;
                for i in 1..=bytes.len() {
                    if i == bytes.len() || mask >> (i - 1) & 1 == 1 {
                        text += &d.bytes(&bytes[start..i]);
                        assert!(d.held.len() < 4, "no more than an incomplete character is held");
                        start = i;
                    }
                }
                text += &d.finish();
                assert_eq!(text, want, "{bytes:02x?} cut by {mask:b}");
            }
        }
    }
}
