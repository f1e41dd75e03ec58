//! How tokens are chosen.

use super::dry::Dry;
use super::error::SampleError;

/// How tokens are chosen. The defaults are llama.cpp's.
///
/// ```
/// use forge_llm::sample::Sampling;
/// let careful = Sampling { temperature: 0.3, seed: 7, ..Sampling::default() };
/// assert!(careful.check(32_000).is_ok());
/// let wrong = Sampling { top_p: 1.5, ..Sampling::default() };
/// assert_eq!(wrong.check(32_000).unwrap_err().to_string(), "top_p is 1.5, but must be from 0 to 1; 1 is off");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// Logits are divided by it: below 1 likely tokens become likelier. 0 takes the likeliest token.
    pub temperature: f32,
    /// Keeps so many of the likeliest tokens; 0 is off.
    pub top_k: usize,
    /// Keeps the fewest likeliest tokens whose probabilities sum to at least this (Holtzman et al., 2020); 1 is off.
    pub top_p: f32,
    /// Keeps tokens at least this times as likely as the likeliest (Nguyen et al., 2024); 0 is off.
    pub min_p: f32,
    /// Keeps the tokens whose surprise is nearest to the mean, until their probabilities sum to more than this (Meister
    /// et al., 2023); 1 is off.
    pub typical_p: f32,
    /// Top-p, min-p and typical keep at least so many tokens.
    pub min_keep: usize,
    /// Positive logits of recent tokens are divided by it, others multiplied (Keskar et al., 2019); 1 is off.
    pub repeat_penalty: f32,
    /// Subtracted from a recent token's logit for each time it occurred; 0 is off.
    pub frequency_penalty: f32,
    /// Subtracted from a recent token's logit; 0 is off.
    pub presence_penalty: f32,
    /// How many tokens are recent for the three penalties.
    pub penalty_last: usize,
    /// Penalises tokens that go on with a repetition.
    pub dry: Option<Dry>,
    /// Holds the surprise of the text at a target instead of truncating.
    pub mirostat: Mirostat,
    /// Added to the logits of tokens; negative infinity forbids a token.
    pub logit_bias: Vec<(u32, f32)>,
    /// Where randomness comes from: the same seed, text and logits give the same token.
    pub seed: u64,
    /// With each token, the probabilities that the model gave it and so many of the likeliest others.
    pub logprobs: Option<usize>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 0.8,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            typical_p: 1.0,
            min_keep: 0,
            repeat_penalty: 1.0,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            penalty_last: 64,
            dry: None,
            mirostat: Mirostat::Off,
            logit_bias: Vec::new(),
            seed: 0,
            logprobs: None,
        }
    }
}

/// Mirostat (Basu et al., 2021): a feedback loop on the surprise of the chosen tokens, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Mirostat {
    /// Truncate as the other options say.
    #[default]
    Off,
    /// Version 1 estimates Zipf's exponent from the likeliest 100 tokens and keeps as many as the target needs.
    V1 {
        /// The target surprise.
        tau: f32,
        /// The learning rate.
        eta: f32,
    },
    /// Version 2 keeps the tokens whose surprise is at most twice the target at first, then what the loop says.
    V2 {
        /// The target surprise.
        tau: f32,
        /// The learning rate.
        eta: f32,
    },
}

impl Mirostat {
    /// The target surprise and learning rate, if it is on.
    pub(crate) fn rates(self) -> Option<(f32, f32)> {
        match self {
            Self::Off => None,
            Self::V1 { tau, eta } | Self::V2 { tau, eta } => Some((tau, eta)),
        }
    }
}

impl Sampling {
    /// The likeliest token, always.
    pub fn greedy() -> Self {
        Self { temperature: 0.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..Self::default() }
    }

    /// Draws from the model's distribution as it is.
    pub fn plain(seed: u64) -> Self {
        Self { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, seed, ..Self::default() }
    }

    /// Checks every option, for a vocabulary of `len` tokens.
    ///
    /// # Errors
    /// [`SampleError::Option`] and [`SampleError::NoToken`] say which is outside its range.
    pub fn check(&self, len: usize) -> Result<(), SampleError> {
        let unit = |x: f32| (0.0..=1.0).contains(&x);
        within("temperature", self.temperature, |x| x >= 0.0, "a number from 0")?;
        within("top_p", self.top_p, unit, "from 0 to 1; 1 is off")?;
        within("min_p", self.min_p, unit, "from 0 to 1; 0 is off")?;
        within("typical_p", self.typical_p, unit, "from 0 to 1; 1 is off")?;
        within("repeat_penalty", self.repeat_penalty, |x| x > 0.0, "a number above 0; 1 is off")?;
        within("frequency_penalty", self.frequency_penalty, |_| true, "a number; 0 is off")?;
        within("presence_penalty", self.presence_penalty, |_| true, "a number; 0 is off")?;
        if let Some(dry) = &self.dry {
            within("dry.multiplier", dry.multiplier, |x| x >= 0.0, "a number from 0; 0 is off")?;
            within("dry.base", dry.base, |x| x >= 1.0, "a number from 1")?;
        }
        if let Some((tau, eta)) = self.mirostat.rates() {
            within("mirostat tau", tau, |x| x > 0.0, "a number above 0")?;
            within("mirostat eta", eta, |x| x >= 0.0, "a number from 0")?;
        }
        for &(token, bias) in &self.logit_bias {
            if token as usize >= len {
                return Err(SampleError::NoToken { what: "logit_bias", token, len });
            }
            if bias != f32::NEG_INFINITY {
                within("logit_bias", bias, |_| true, "a number, or negative infinity")?;
            }
        }
        Ok(())
    }
}

/// Checks that an option is finite and within its range.
fn within(name: &'static str, got: f32, ok: impl Fn(f32) -> bool, range: &'static str) -> Result<(), SampleError> {
    if got.is_finite() && ok(got) { Ok(()) } else { Err(SampleError::Option { name, got: got.into(), range }) }
}
