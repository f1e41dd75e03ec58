//! DRY: tokens that would go on with a repetition are penalised, the more the longer it is.

use crate::tokenizer::{Encode, Tokenizer};
use std::collections::BTreeMap;

/// "Don't repeat yourself" (by p-e-w): a token that would lengthen a repetition of `n` tokens, `n` at least
/// `allowed_length`, loses `multiplier * base^(n - allowed_length)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dry {
    /// The penalty of the shortest repetition that has one; 0 is off. 0.8 is usual.
    pub multiplier: f32,
    /// By how much each further token multiplies it.
    pub base: f32,
    /// Repetitions up to this many tokens are free.
    pub allowed_length: usize,
    /// How far back repetitions are looked for; `None` is the whole text.
    pub last: Option<usize>,
    /// What no repetition reaches over.
    pub breakers: Breakers,
}

impl Dry {
    /// DRY with the usual base of 1.75 and allowed length of 2, over the whole text.
    pub fn new(multiplier: f32, breakers: Breakers) -> Self {
        Self { multiplier, base: 1.75, allowed_length: 2, last: None, breakers }
    }
}

/// Texts over which no repetition reaches, as tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Breakers {
    /// By the token in which a breaker begins: the tokens after it that complete the breaker.
    tails: BTreeMap<u32, Vec<Vec<u32>>>,
}

/// The longest breaker, in bytes.
const BREAKER_MAX: usize = 40;
/// The longest tail, in tokens.
const TAIL_MAX: usize = 20;

impl Breakers {
    /// The usual breakers: line break, colon, quote, star.
    pub fn usual(tokenizer: &Tokenizer) -> Self {
        Self::new(tokenizer, &["\n", ":", "\"", "*"])
    }

    /// Breakers of the given texts, of which the first 40 bytes count.
    pub fn new(tokenizer: &Tokenizer, texts: &[&str]) -> Self {
        let mut tails: BTreeMap<u32, Vec<Vec<u32>>> = BTreeMap::new();
        let mut piece = Vec::new();
        for text in texts {
            let end = text.floor_char_boundary(BREAKER_MAX);
            let text = &text[..end];
            let Some((&first, _)) = text.as_bytes().split_first() else { continue };
            for id in 0..tokenizer.len() as u32 {
                piece.clear();
                tokenizer.piece(id, true, &mut piece);
                if !piece.contains(&first) {
                    continue;
                }
                let found = tails.entry(id).or_default();
                if piece.windows(text.len()).any(|w| w == text.as_bytes()) {
                    found.push(Vec::new());
                    continue;
                }
                // The breaker may begin at the token's end and go on in the next ones.
                for (at, _) in piece.iter().enumerate().filter(|(_, b)| **b == first) {
                    let inside = &piece[at..];
                    if text.as_bytes().starts_with(inside) && text.is_char_boundary(inside.len()) {
                        let mut tail = tokenizer.encode(&text[inside.len()..], Encode::TEXT);
                        tail.truncate(TAIL_MAX);
                        if !found.contains(&tail) {
                            found.push(tail);
                        }
                    }
                }
            }
        }
        tails.retain(|_, t| !t.is_empty());
        Self { tails }
    }

    /// The tokens of the longest breaker that begins at the end of `before` with its last token and is completed by
    /// `after`; not counting that last token.
    fn longest(&self, head: u32, after: &[u32]) -> Option<usize> {
        self.tails.get(&head)?.iter().filter(|t| after.starts_with(t)).map(Vec::len).max()
    }

    fn is_single(&self, token: u32) -> bool {
        self.tails.get(&token).is_some_and(|t| t.iter().any(Vec::is_empty))
    }
}

/// Lowers the logits of tokens that would go on with a repetition.
pub(crate) fn penalise(dry: &Dry, history: &[u32], logits: &mut [f32]) {
    if dry.multiplier == 0.0 || dry.last == Some(0) {
        return;
    }
    let text = &history[history.len().saturating_sub(dry.last.unwrap_or(usize::MAX))..];
    if text.len() <= dry.allowed_length {
        return;
    }
    // The last breaker limits how far back a repetition may reach.
    let limit = (0..text.len()).rev().find_map(|at| {
        let tail = dry.breakers.longest(text[at], &text[at + 1..])?;
        Some(text.len() - 1 - at - tail)
    });
    let limit = limit.unwrap_or(text.len());
    if limit < dry.allowed_length {
        return;
    }
    let mut longest: BTreeMap<u32, usize> = BTreeMap::new();
    for (k, n) in suffixes(text).into_iter().enumerate().skip(1) {
        let n = n.min(limit);
        if n >= dry.allowed_length {
            // What ended `k` tokens ago as the text ends now went on with this token.
            let next = text[text.len() - k];
            let most = longest.entry(next).or_default();
            *most = n.max(*most);
        }
    }
    for (token, n) in longest {
        if dry.breakers.is_single(token) {
            continue;
        }
        if let Some(l) = logits.get_mut(token as usize) {
            let exponent = (n - dry.allowed_length).min(1 << 20) as i32;
            let penalty = f64::from(dry.multiplier) * f64::from(dry.base).powi(exponent);
            // Beyond the largest number it forbids the token as well as that does.
            *l -= penalty.min(f64::from(f32::MAX)) as f32;
        }
    }
}

/// For each `k` below the length: how long the end of the text before its last `k` tokens equals the end of the text.
///
/// The Z-function of the reversed text (Gusfield, 1997), in linear time.
fn suffixes(text: &[u32]) -> Vec<usize> {
    let len = text.len();
    let at = |i: usize| text[len - 1 - i];
    let mut z = vec![0; len];
    // The stretch `left..right` of the reversed text equals its start.
    let (mut left, mut right) = (0, 0);
    for k in 1..len {
        let mut n = if k < right { z[k - left].min(right - k) } else { 0 };
        while k + n < len && at(n) == at(k + n) {
            n += 1;
        }
        z[k] = n;
        if k + n > right {
            (left, right) = (k, k + n);
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breakers(list: &[&[u32]]) -> Breakers {
        let mut tails: BTreeMap<u32, Vec<Vec<u32>>> = BTreeMap::new();
        for b in list {
            tails.entry(b[0]).or_default().push(b[1..].to_vec());
        }
        Breakers { tails }
    }

    /// The penalty of each token by the definition, looking at every place and every length.
    fn by_definition(dry: &Dry, history: &[u32], vocab: u32) -> Vec<f64> {
        let text = &history[history.len().saturating_sub(dry.last.unwrap_or(usize::MAX))..];
        let mut limit = text.len();
        'found: for at in (0..text.len()).rev() {
            let mut best = None;
            for (head, tails) in &dry.breakers.tails {
                for t in tails {
                    if text[at] == *head && text[at + 1..].starts_with(t) {
                        best = best.max(Some(t.len()));
                    }
                }
            }
            if let Some(n) = best {
                limit = text.len() - at - 1 - n;
                break 'found;
            }
        }
        (0..vocab)
            .map(|token| {
                if dry.breakers.is_single(token) {
                    return 0.0;
                }
                let mut most = None;
                for at in (1..text.len()).filter(|&at| text[at] == token) {
                    let n = (1..=at).take_while(|n| text[at - n] == text[text.len() - n]).count().min(limit);
                    if n >= dry.allowed_length {
                        most = most.max(Some(n));
                    }
                }
                most.map_or(0.0, |n| {
                    f64::from(dry.multiplier) * f64::from(dry.base).powi((n - dry.allowed_length) as i32)
                })
            })
            .collect()
    }

    #[test]
    fn penalties_agree_with_their_definition() {
        let mut seed = 5u64;
        let mut random = |n: usize| {
            seed = forge_kernels::rng::mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
            (seed >> 33) as usize % n
        };
        let mut some = 0;
        for round in 0..3000 {
            let vocab = 2 + random(5) as u32;
            let history: Vec<u32> = (0..random(40)).map(|_| random(vocab as usize) as u32).collect();
            let lists: [&[&[u32]]; 4] = [&[], &[&[1]], &[&[0, 1]], &[&[1], &[0, 2, 1], &[0, 2]]];
            let list = lists[round % 4];
            let dry = Dry {
                multiplier: 0.5,
                base: [1.0, 1.75, 3.0][random(3)],
                allowed_length: random(4),
                last: [None, Some(10), Some(0)][random(3)],
                breakers: breakers(list),
            };
            let mut logits = vec![0.0f32; vocab as usize];
            penalise(&dry, &history, &mut logits);
            let none = dry.last == Some(0) || history.len().min(dry.last.unwrap_or(99)) <= dry.allowed_length;
            let want = if none { vec![0.0; vocab as usize] } else { by_definition(&dry, &history, vocab) };
            for (l, w) in logits.iter().zip(&want) {
                assert!((f64::from(-l) - w).abs() <= 1e-5 * w.abs(), "{dry:?} {history:?}: {logits:?} {want:?}");
            }
            some += usize::from(want.iter().any(|w| *w > 0.0));
        }
        assert!(some > 800, "{some} of the texts repeat");
    }

    #[test]
    fn long_repetitions_stay_finite_and_linear() {
        let dry = Dry { multiplier: 1.0, base: 4.0, allowed_length: 2, last: None, breakers: Breakers::default() };
        let mut logits = [0.0f32; 2];
        penalise(&dry, &vec![1; 1 << 20], &mut logits);
        assert_eq!(logits[0], 0.0);
        assert!(logits[1] < -1e30 && logits[1].is_finite());
    }
}
