//! The seam through which other rules change logits: grammars, watermarks, guidance.

use super::error::SampleError;

/// A rule that changes logits before a token is chosen from them, and may follow the text.
///
/// ```
/// use forge_llm::sample::{LogitProcessor, SampleError, Sampler, Sampling, TokenMask};
///
/// /// Allows even tokens only, and each once.
/// struct EvenOnce(Vec<u32>);
/// impl LogitProcessor for EvenOnce {
///     fn process(&mut self, _text: &[u32], logits: &mut [f32]) -> Result<(), SampleError> {
///         let mut mask = TokenMask::none(logits.len());
///         (0..logits.len() as u32).step_by(2).filter(|t| !self.0.contains(t)).for_each(|t| mask.allow(t));
///         mask.apply(logits);
///         Ok(())
///     }
///     fn accept(&mut self, token: u32) {
///         self.0.push(token);
///     }
///     fn roll_back(&mut self, tokens: usize) {
///         self.0.truncate(self.0.len() - tokens);
///     }
/// }
/// let mut s = Sampler::new(Sampling::greedy(), 5)?.with(EvenOnce(vec![]));
/// let logits = [0.0, 9.0, 1.0, 8.0, 2.0];
/// assert_eq!(s.next(&logits)?.token, 4);
/// assert_eq!(s.next(&logits)?.token, 2);
/// s.roll_back(1);
/// assert_eq!(s.next(&logits)?.token, 2);
/// # Ok::<(), SampleError>(())
/// ```
pub trait LogitProcessor: Send {
    /// Changes the logits of the token that follows `text`; negative infinity forbids a token.
    ///
    /// # Errors
    /// [`SampleError::Processor`] with what is wrong.
    fn process(&mut self, text: &[u32], logits: &mut [f32]) -> Result<(), SampleError>;

    /// Takes note of a token that the text goes on with.
    fn accept(&mut self, token: u32) {
        let _ = token;
    }

    /// Forgets the last `tokens` tokens that were accepted. A rule without state of its own has nothing to do.
    fn roll_back(&mut self, tokens: usize) {
        let _ = tokens;
    }
}

/// A set of tokens that are allowed: a bit for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenMask {
    bits: Vec<u64>,
    len: usize,
}

impl TokenMask {
    /// None of `len` tokens.
    pub fn none(len: usize) -> Self {
        Self { bits: vec![0; len.div_ceil(64)], len }
    }

    /// All of `len` tokens.
    pub fn all(len: usize) -> Self {
        let mut mask = Self { bits: vec![!0; len.div_ceil(64)], len };
        if let Some(last) = mask.bits.last_mut().filter(|_| !len.is_multiple_of(64)) {
            *last = (1 << (len % 64)) - 1;
        }
        mask
    }

    /// How many tokens it tells of.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it tells of none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many are allowed.
    pub fn count(&self) -> usize {
        self.bits.iter().map(|b| b.count_ones() as usize).sum()
    }

    /// Whether a token is allowed; one that it does not tell of is not.
    pub fn allows(&self, token: u32) -> bool {
        let i = token as usize;
        i < self.len && self.bits[i / 64] >> (i % 64) & 1 == 1
    }

    /// Allows a token.
    ///
    /// # Panics
    /// If it does not tell of the token.
    pub fn allow(&mut self, token: u32) {
        let i = token as usize;
        assert!(i < self.len, "token {token} of a mask for {}", self.len);
        self.bits[i / 64] |= 1 << (i % 64);
    }

    /// Forbids a token.
    ///
    /// # Panics
    /// If it does not tell of the token.
    pub fn forbid(&mut self, token: u32) {
        let i = token as usize;
        assert!(i < self.len, "token {token} of a mask for {}", self.len);
        self.bits[i / 64] &= !(1 << (i % 64));
    }

    /// The set as words of 64 tokens, the lowest bit first.
    pub fn words(&self) -> &[u64] {
        &self.bits
    }

    /// Sets the logits of tokens that are not allowed to negative infinity.
    pub fn apply(&self, logits: &mut [f32]) {
        let (known, unknown) = logits.split_at_mut(self.len.min(logits.len()));
        unknown.fill(f32::NEG_INFINITY);
        for (word, logits) in self.bits.iter().zip(known.chunks_mut(64)) {
            if *word == 0 {
                logits.fill(f32::NEG_INFINITY);
            } else if *word != !0 {
                logits
                    .iter_mut()
                    .enumerate()
                    .filter(|(i, _)| word >> i & 1 == 0)
                    .for_each(|(_, l)| *l = f32::NEG_INFINITY);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_allow_what_they_say() {
        let mut m = TokenMask::all(130);
        assert_eq!((m.len(), m.count(), m.allows(129), m.allows(130)), (130, 130, true, false));
        m.forbid(64);
        let mut n = TokenMask::none(130);
        n.allow(3);
        n.allow(129);
        let allowed = |m: &TokenMask, len: usize| -> Vec<usize> {
            let mut l = vec![1.0; len];
            m.apply(&mut l);
            (0..len).filter(|&i| l[i] == 1.0).collect()
        };
        assert_eq!(allowed(&n, 131), [3, 129]);
        assert_eq!(allowed(&m, 131).len(), 129);
        assert!(!allowed(&m, 131).contains(&64));
        assert_eq!(allowed(&n, 5), [3]);
    }
}
