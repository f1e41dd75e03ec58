//! Byte-level BPE: within a word, the adjacent pair that was learned first is merged, again and again.

use super::error::{TokenizerError, inconsistent};
use super::index::Strings;
use super::split::PreTokenizer;
use super::vocab::{Listed, TokenKind};
use forge_gguf::{Metadata, Strings as Texts};
use forge_kernels::rng::mix;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

/// A symbol that is no single byte of the vocabulary.
const NONE: u32 = u32::MAX;
/// The longest word, in symbols, for which a scan beats a heap.
const SHORT: usize = 24;

/// A byte-level BPE model.
pub(crate) struct Bpe {
    pub pre: PreTokenizer,
    /// The bytes of symbols: tokens by their numbers, then others that merges make.
    symbols: Strings,
    tokens: u32,
    /// The symbol of each byte.
    bytes: [u32; 256],
    /// Rank and result of merging a pair, by the two numbers.
    merges: HashMap<u64, (u32, u32), BuildHasherDefault<Mixed>>,
    /// Makes the hash of merges unpredictable to whoever writes a file.
    key: u64,
}

/// A hash for numbers that are random already.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.0 = mix(self.0 ^ u64::from(b)));
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = mix(n);
    }
}

/// The character that stands for a byte in the texts of a byte-level vocabulary: printable bytes stand for themselves,
/// the others follow from U+0100.
fn alphabet() -> [char; 256] {
    let mut next = 0x100;
    std::array::from_fn(|b| {
        if matches!(b, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff) {
            b as u8 as char
        } else {
            next += 1;
            char::from_u32(next - 1).unwrap_or_default()
        }
    })
}

/// The way back: the byte of each character up to U+0143.
pub(crate) struct Alphabet([Option<u8>; 0x144]);

impl Alphabet {
    pub fn new() -> Self {
        let mut back = [None; 0x144];
        for (b, c) in alphabet().into_iter().enumerate() {
            back[c as usize] = Some(b as u8);
        }
        Self(back)
    }

    /// The bytes that a token's text stands for, if all its characters are of the alphabet.
    pub fn decode(&self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let Ok(text) = std::str::from_utf8(text) else { return false };
        for c in text.chars() {
            match self.0.get(c as usize).copied().flatten() {
                Some(b) => out.push(b),
                None => return false,
            }
        }
        true
    }
}

impl Bpe {
    pub fn read(m: &Metadata, pre: PreTokenizer, listed: &Listed<'_>) -> Result<Self, TokenizerError> {
        let merges: Texts<'_> = m.get("tokenizer.ggml.merges")?;
        let alphabet = Alphabet::new();
        let count = listed.texts.len();
        let bytes: usize = listed.texts.iter().map(|t| t.len()).sum();
        let mut symbols = Strings::with_capacity(count + count / 8, bytes);
        let mut buffer = Vec::new();
        for text in &listed.texts {
            buffer.clear();
            // A text with other characters is no result of merging, and is only matched whole.
            let found = !text.is_empty() && alphabet.decode(text, &mut buffer);
            if found {
                symbols.push(&buffer, true);
            } else {
                symbols.push(text, false);
            }
        }
        let tokens = count as u32;
        let mut intern = |s: &[u8]| symbols.find(s).unwrap_or_else(|| symbols.push(s, true));
        let single: [u32; 256] = std::array::from_fn(|b| intern(&[b as u8]));
        let key = RandomState::new().hash_one(0u8);
        let mut table = HashMap::with_capacity_and_hasher(merges.len(), BuildHasherDefault::default());
        let mut right = Vec::new();
        let mut budget = u64::from(u32::MAX) - bytes as u64;
        for (rank, merge) in merges.enumerate() {
            let Some(space) = merge.iter().skip(1).position(|&b| b == b' ').map(|i| i + 1) else {
                return Err(inconsistent(format!("tokenizer.ggml.merges: entry {rank} is no pair")));
            };
            buffer.clear();
            right.clear();
            if !alphabet.decode(&merge[..space], &mut buffer) || !alphabet.decode(&merge[space + 1..], &mut right) {
                // No bytes ever give these characters, so the pair never comes up.
                continue;
            }
            // Both halves and the whole may be new.
            budget = budget
                .checked_sub(2 * (buffer.len() + right.len()) as u64)
                .ok_or_else(|| inconsistent("tokenizer.ggml.merges holds more than 4 GiB of text"))?;
            let (l, r) = (intern(&buffer), intern(&right));
            buffer.extend_from_slice(&right);
            let whole = intern(&buffer);
            table.entry(pair(key, l, r)).or_insert((rank as u32, whole));
        }
        Ok(Self { pre, symbols, tokens, bytes: single, merges: table, key })
    }

    /// The bytes of a token of the given kind.
    pub fn piece(&self, id: u32, kind: TokenKind) -> &[u8] {
        match kind {
            TokenKind::Unused => &[],
            _ => self.symbols.of(id),
        }
    }

    /// Appends the tokens of `text`.
    pub fn encode(&self, text: &str, out: &mut Vec<u32>) {
        let mut scratch = Scratch::default();
        self.pre.words(text, &mut |word| self.word(word.as_bytes(), &mut scratch, out));
    }

    fn word(&self, word: &[u8], scratch: &mut Scratch, out: &mut Vec<u32>) {
        if self.pre.ignore_merges
            && let Some(id) = self.symbols.find(word).filter(|&id| id < self.tokens)
        {
            out.push(id);
            return;
        }
        scratch.symbols.clear();
        scratch.symbols.extend(word.iter().map(|&b| self.bytes[b as usize]));
        if word.len() <= SHORT {
            self.merge_short(scratch)
        } else {
            self.merge_long(scratch)
        }
        for &s in &scratch.symbols {
            if s < self.tokens {
                out.push(s);
            } else if s != NONE {
                // A result that is no token: its bytes, as far as those are.
                let bytes = self.symbols.of(s).iter().map(|&b| self.bytes[b as usize]);
                out.extend(bytes.filter(|&b| b < self.tokens));
            }
        }
    }

    #[inline]
    fn merge(&self, l: u32, r: u32) -> Option<(u32, u32)> {
        self.merges.get(&pair(self.key, l, r)).copied()
    }

    /// Merges by looking for the best pair each time.
    fn merge_short(&self, scratch: &mut Scratch) {
        let Scratch { symbols, ranks, .. } = scratch;
        ranks.clear();
        ranks.extend(symbols.windows(2).map(|w| self.merge(w[0], w[1]).unwrap_or((u32::MAX, 0))));
        while let Some(at) = (0..ranks.len()).min_by_key(|&i| ranks[i].0).filter(|&i| ranks[i].0 != u32::MAX) {
            symbols[at] = ranks[at].1;
            symbols.remove(at + 1);
            ranks.remove(at);
            let again = |i: usize| self.merge(symbols[i], symbols[i + 1]).unwrap_or((u32::MAX, 0));
            if at > 0 {
                ranks[at - 1] = again(at - 1);
            }
            if at + 1 < symbols.len() {
                ranks[at] = again(at);
            }
        }
    }

    /// Merges by a heap of pairs, which may hold pairs that are no more.
    fn merge_long(&self, scratch: &mut Scratch) {
        let Scratch { symbols, links, heap, .. } = scratch;
        let n = symbols.len();
        links.clear();
        links.extend((0..n as u32).map(|i| (i.wrapping_sub(1), i + 1)));
        heap.clear();
        let push = |heap: &mut BinaryHeap<_>, symbols: &[u32], l: u32, r: u32| {
            let (a, b) = (symbols[l as usize], symbols[r as usize]);
            if let Some((rank, whole)) = self.merge(a, b) {
                heap.push(Reverse(Candidate { rank, left: l, right: r, pair: (a, b), whole }));
            }
        };
        for i in 1..n as u32 {
            push(heap, symbols, i - 1, i);
        }
        while let Some(Reverse(c)) = heap.pop() {
            let (l, r) = (c.left as usize, c.right as usize);
            // Either side may have changed since.
            if (symbols[l], symbols[r]) != c.pair || links[l].1 != c.right {
                continue;
            }
            symbols[l] = c.whole;
            symbols[r] = NONE;
            let next = links[r].1;
            links[l].1 = next;
            if (next as usize) < n {
                links[next as usize].0 = c.left;
                push(heap, symbols, c.left, next);
            }
            if links[l].0 != u32::MAX {
                push(heap, symbols, links[l].0, c.left);
            }
        }
    }
}

/// The key of a pair of symbols.
#[inline]
fn pair(key: u64, l: u32, r: u32) -> u64 {
    (u64::from(l) << 32 | u64::from(r)) ^ key
}

/// A pair that may be merged; ordered by rank, then from the left.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rank: u32,
    left: u32,
    right: u32,
    pair: (u32, u32),
    whole: u32,
}

/// Memory that words share.
#[derive(Default)]
struct Scratch {
    symbols: Vec<u32>,
    ranks: Vec<(u32, u32)>,
    /// The symbols before and after each.
    links: Vec<(u32, u32)>,
    heap: BinaryHeap<Reverse<Candidate>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_gguf::{Gguf, Writer};

    #[test]
    fn the_alphabet_is_gpt2s() {
        let a = alphabet();
        assert_eq!((a[b' ' as usize], a[b'\n' as usize], a[0], a[0xad], a[b'A' as usize]), ('Ġ', 'Ċ', 'Ā', 'Ń', 'A'));
        let back = Alphabet::new();
        let text: String = a.iter().collect();
        let mut out = Vec::new();
        assert!(back.decode(text.as_bytes(), &mut out));
        assert_eq!(out, (0..=255).collect::<Vec<u8>>());
        assert!(!back.decode("a b".as_bytes(), &mut Vec::new()));
        assert!(!back.decode("日".as_bytes(), &mut Vec::new()));
    }

    /// A model over the letters a to d whose merges are `merges`; every result is a token but those that hold `dd`.
    fn model(merges: &[String]) -> Bpe {
        let mut tokens: Vec<String> = "abcd".chars().map(String::from).collect();
        for m in merges {
            let whole = m.replace(' ', "");
            if !tokens.contains(&whole) && !whole.contains("dd") {
                tokens.push(whole);
            }
        }
        let mut w = Writer::new();
        w.set("tokenizer.ggml.tokens", &tokens).unwrap().set("tokenizer.ggml.merges", &merges.to_vec()).unwrap();
        let file = Gguf::from_bytes(w.to_bytes().unwrap()).unwrap();
        let listed = Listed::read(file.metadata()).unwrap();
        Bpe::read(file.metadata(), PreTokenizer::named("gpt-2").unwrap(), &listed).unwrap()
    }

    /// The definition: of all adjacent pairs the first learned, of several the leftmost, until there is none.
    fn by_definition(merges: &[String], word: &str) -> Vec<String> {
        let mut parts: Vec<String> = word.chars().map(String::from).collect();
        loop {
            let rank = |i: usize| merges.iter().position(|m| *m == format!("{} {}", parts[i], parts[i + 1]));
            let best = (0..parts.len().saturating_sub(1)).filter_map(|i| Some((rank(i)?, i))).min();
            let Some((_, i)) = best else { break };
            let right = parts.remove(i + 1);
            parts[i].push_str(&right);
        }
        // What is no token falls apart.
        let apart = |p: String| if p.contains("dd") { p.chars().map(String::from).collect() } else { vec![p] };
        parts.into_iter().flat_map(apart).collect()
    }

    #[test]
    fn merging_agrees_with_its_definition() {
        let mut seed = 3u64;
        let mut random = |n: usize| {
            seed = mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
            (seed >> 33) as usize % n
        };
        for _ in 0..40 {
            // Random merges of letters and earlier results, some of them twice.
            let mut parts: Vec<String> = "abcd".chars().map(String::from).collect();
            let mut merges = Vec::new();
            for _ in 0..30 {
                let (l, r) = (parts[random(parts.len())].clone(), parts[random(parts.len())].clone());
                merges.push(format!("{l} {r}"));
                if l.len() + r.len() < 6 {
                    parts.push(l + &r);
                }
            }
            let bpe = model(&merges);
            for _ in 0..60 {
                let word: String = (0..1 + random(60)).map(|_| ['a', 'b', 'c', 'd'][random(4)]).collect();
                let mut ids = Vec::new();
                bpe.encode(&word, &mut ids);
                let ours: Vec<&str> = ids.iter().map(|&i| std::str::from_utf8(bpe.symbols.of(i)).unwrap()).collect();
                assert_eq!(ours, by_definition(&merges, &word), "{word} with {merges:?}");
            }
        }
    }

    #[test]
    fn long_words_take_no_quadratic_time() {
        let bpe = model(&["a a".into(), "aa aa".into(), "aaaa aaaa".into()]);
        let mut ids = Vec::new();
        bpe.encode(&"a".repeat(1 << 20), &mut ids);
        assert_eq!(ids.len(), (1 << 20) / 8);
    }
}
