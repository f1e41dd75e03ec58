//! Choosing the next token from a model's logits.
//!
//! A [`Sampler`] does, in this order (llama.cpp's default order; what is off is left out):
//!
//! 1. [logit bias](Sampling::logit_bias), then the caller's [processors](LogitProcessor), in the order they were added;
//! 2. penalties on recent tokens: [repetition](Sampling::repeat_penalty), then frequency and presence;
//! 3. [DRY](Dry);
//! 4. [top-k](Sampling::top_k), [typical](Sampling::typical_p), [top-p](Sampling::top_p), [min-p](Sampling::min_p), each
//!    on what the one before has left;
//! 5. [temperature](Sampling::temperature), and a draw. Temperature 0 takes the likeliest token that is left, of
//!    several the one of the lowest number.
//!
//! [`Mirostat`] stands in place of step 4, after the temperature.
//!
//! Everything is deterministic: the token is a function of the options, the text so far and the logits. A draw takes
//! one number from a counter-based generator, keyed by the seed and the length of the text, so that
//! [rolling back](Sampler::roll_back) and going on gives what would have come without it. Probabilities are computed in
//! `f64`.

mod candidates;
mod dry;
mod error;
mod mirostat;
mod options;
mod penalties;
mod processor;

pub use dry::{Breakers, Dry};
pub use error::SampleError;
pub use options::{Mirostat, Sampling};
pub use processor::{LogitProcessor, TokenMask};

use candidates::{Candidate, draw, likeliest, mass, nucleus, probabilities};
use forge_kernels::math::Real;
use forge_kernels::rng::Key;

/// A token that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// The token.
    pub token: u32,
    /// What the model thought of it, where [asked](Sampling::logprobs).
    pub logprobs: Option<Logprobs>,
}

/// Natural logarithms of the probabilities that the model gave, before any option changed them.
#[derive(Clone, Debug, PartialEq)]
pub struct Logprobs {
    /// That of the token that was chosen.
    pub chosen: f64,
    /// The likeliest tokens with theirs, the likeliest first.
    pub top: Vec<(u32, f64)>,
}

/// Chooses tokens, one after the other, for one text.
///
/// ```
/// use forge_llm::sample::{Sampler, Sampling};
/// let mut s = Sampler::new(Sampling { seed: 42, logprobs: Some(1), ..Sampling::default() }, 4)?;
/// s.extend(&[0, 2]); // the prompt
/// let next = s.next(&[0.1, 2.5, 0.3, 1.9])?;
/// assert!(next.token == 1 || next.token == 3);
/// assert_eq!(next.logprobs.unwrap().top[0].0, 1);
/// # Ok::<(), forge_llm::sample::SampleError>(())
/// ```
pub struct Sampler {
    options: Sampling,
    vocab: usize,
    key: Key,
    processors: Vec<Box<dyn LogitProcessor>>,
    text: Vec<u32>,
    /// Mirostat's state before each token of the text, where it is on.
    mu: Vec<f64>,
    next_mu: f64,
    /// Memory that steps share.
    logits: Vec<f32>,
    candidates: Vec<Candidate>,
}

impl Sampler {
    /// A sampler for a model of `vocab` logits.
    ///
    /// # Errors
    /// What [`Sampling::check`] says.
    pub fn new(options: Sampling, vocab: usize) -> Result<Self, SampleError> {
        options.check(vocab)?;
        let mu = options.mirostat.rates().map_or(0.0, |(tau, _)| 2.0 * f64::from(tau));
        Ok(Self {
            key: Key::new(options.seed).derive("sample"),
            options,
            vocab,
            processors: Vec::new(),
            text: Vec::new(),
            mu: Vec::new(),
            next_mu: mu,
            logits: Vec::new(),
            candidates: Vec::new(),
        })
    }

    /// Adds a rule, after those that were added before.
    #[must_use]
    pub fn with(mut self, processor: impl LogitProcessor + 'static) -> Self {
        self.processors.push(Box::new(processor));
        self
    }

    /// The options.
    pub fn options(&self) -> &Sampling {
        &self.options
    }

    /// The text so far: what was [accepted](Sampler::accept).
    pub fn text(&self) -> &[u32] {
        &self.text
    }

    /// Goes on with a token, whoever chose it.
    pub fn accept(&mut self, token: u32) {
        self.accept_with(token, self.next_mu);
    }

    fn accept_with(&mut self, token: u32, mu: f64) {
        self.text.push(token);
        self.mu.push(self.next_mu);
        self.next_mu = mu;
        self.processors.iter_mut().for_each(|p| p.accept(token));
    }

    /// Goes on with tokens: those of a prompt.
    pub fn extend(&mut self, tokens: &[u32]) {
        tokens.iter().for_each(|&t| self.accept(t));
    }

    /// Forgets the last `tokens` tokens of the text, as if they had never been accepted.
    ///
    /// # Panics
    /// If the text has fewer.
    pub fn roll_back(&mut self, tokens: usize) {
        let len = self.text.len();
        assert!(tokens <= len, "{tokens} tokens back in a text of {len}");
        if tokens > 0 {
            self.next_mu = self.mu[len - tokens];
            self.text.truncate(len - tokens);
            self.mu.truncate(len - tokens);
            self.processors.iter_mut().for_each(|p| p.roll_back(tokens));
        }
    }

    /// Chooses the token that follows the text and goes on with it.
    ///
    /// # Errors
    /// As [`Sampler::sample`].
    pub fn next(&mut self, logits: &[f32]) -> Result<Sampled, SampleError> {
        let (sampled, mu) = self.choose(logits)?;
        self.accept_with(sampled.token, mu);
        Ok(sampled)
    }

    /// Chooses the token that follows the text, and does not go on: the same call gives the same token again.
    ///
    /// # Errors
    /// [`SampleError::Length`] if there is not one logit for each token, [`SampleError::NotFinite`] if one is no number
    /// or positive infinity, [`SampleError::NoneAllowed`] if all are negative infinity in the end.
    pub fn sample(&mut self, logits: &[f32]) -> Result<Sampled, SampleError> {
        self.choose(logits).map(|c| c.0)
    }

    fn choose(&mut self, logits: &[f32]) -> Result<(Sampled, f64), SampleError> {
        check(logits, self.vocab)?;
        let o = &self.options;
        self.logits.clear();
        self.logits.extend_from_slice(logits);
        for &(token, bias) in &o.logit_bias {
            self.logits[token as usize] += bias;
        }
        for p in &mut self.processors {
            p.process(&self.text, &mut self.logits)?;
        }
        penalties::penalise(o, &self.text, &mut self.logits);
        if let Some(d) = &o.dry {
            dry::penalise(d, &self.text, &mut self.logits);
        }
        check(&self.logits, self.vocab)?;

        let unit = self.key.unit_at(self.text.len() as u64);
        let (token, mu) = match (o.mirostat, o.mirostat.rates()) {
            (kind, Some((tau, eta))) if o.temperature > 0.0 => {
                // Relative to the greatest, so that nothing overflows.
                let heat = o.temperature;
                let top = self.logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                self.logits.iter_mut().filter(|l| **l != f32::NEG_INFINITY).for_each(|l| *l = (*l - top) / heat);
                likeliest(&self.logits, self.vocab, &mut self.candidates);
                if self.candidates.is_empty() {
                    return Err(SampleError::NoneAllowed);
                }
                match kind {
                    Mirostat::V1 { .. } => mirostat::first(&mut self.candidates, self.next_mu, self.vocab),
                    _ => mirostat::second(&mut self.candidates, self.next_mu),
                }
                let (i, mu) = mirostat::choose(&self.candidates, unit, self.next_mu, tau.into(), eta.into());
                (self.candidates[i].token, mu)
            }
            _ => {
                truncate(o, &self.logits, &mut self.candidates);
                if self.candidates.is_empty() {
                    return Err(SampleError::NoneAllowed);
                }
                (drawn(&mut self.candidates, o.temperature, unit), self.next_mu)
            }
        };
        let logprobs = o.logprobs.map(|n| logprobs(logits, token, n, &mut self.candidates));
        Ok((Sampled { token, logprobs }, mu))
    }
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampler")
            .field("options", &self.options)
            .field("vocab", &self.vocab)
            .field("text", &self.text.len())
            .field("processors", &self.processors.len())
            .finish()
    }
}

/// Checks that there is a logit for each token, and each is a number or negative infinity.
fn check(logits: &[f32], vocab: usize) -> Result<(), SampleError> {
    if logits.len() != vocab {
        return Err(SampleError::Length { got: logits.len(), len: vocab });
    }
    // Neither is smaller than infinity.
    match logits.iter().position(|l| !(*l < f32::INFINITY)) {
        Some(i) => Err(SampleError::NotFinite { token: i as u32, value: logits[i] }),
        None => Ok(()),
    }
}

/// Tokens that a nucleus is looked for in at first.
const NUCLEUS: usize = 256;

/// The tokens that top-k, typical, top-p and min-p leave, the likeliest first.
fn truncate(o: &Sampling, logits: &[f32], out: &mut Vec<Candidate>) {
    let keep = o.min_keep;
    let k = if o.top_k == 0 { logits.len() } else { o.top_k };
    let (top_p, typical_p) = (f64::from(o.top_p), f64::from(o.typical_p));
    if typical_p == 1.0 && k == logits.len() && o.temperature == 0.0 {
        // The likeliest survives everything.
        likeliest(logits, 1, out);
    } else if typical_p == 1.0 && top_p < 1.0 && k == logits.len() {
        // Few tokens hold the nucleus, mostly: look among the likeliest before sorting all.
        let mut some = NUCLEUS.max(keep);
        loop {
            likeliest(logits, some, out);
            let Some(top) = out.first().map(|c| c.logit) else { return };
            let n = nucleus(&probabilities(out, Some(mass(logits, top))), top_p, keep);
            if let Some(n) = n {
                out.truncate(n);
                break;
            }
            if out.len() < some || some >= logits.len() {
                break;
            }
            some *= 8;
        }
    } else {
        likeliest(logits, k, out);
        if typical_p < 1.0 {
            candidates::typical(out, typical_p, keep);
        }
        if top_p < 1.0
            && let Some(n) = nucleus(&probabilities(out, None), top_p, keep)
        {
            out.truncate(n);
        }
    }
    if o.min_p > 0.0 {
        candidates::min_p(out, o.min_p.into(), keep);
    }
}

/// One of the candidates, the first of which is the likeliest.
fn drawn(c: &mut [Candidate], temperature: f32, unit: f64) -> u32 {
    if temperature == 0.0 {
        return c[0].token;
    }
    let (top, heat) = (f64::from(c[0].logit), f64::from(temperature));
    let p: Vec<f64> = c.iter().map(|c| Real::exp((f64::from(c.logit) - top) / heat)).collect();
    c[draw(&p, unit)].token
}

/// What the model thought of `token`, and the `n` likeliest.
fn logprobs(logits: &[f32], token: u32, n: usize, scratch: &mut Vec<Candidate>) -> Logprobs {
    likeliest(logits, n.max(1), scratch);
    let top = scratch.first().map_or(0.0, |c| c.logit);
    let norm = f64::from(top) + Real::log(mass(logits, top));
    let of = |logit: f32| f64::from(logit) - norm;
    let top = scratch.iter().take(n).map(|c| (c.token, of(c.logit))).collect();
    Logprobs { chosen: of(logits[token as usize]), top }
}
