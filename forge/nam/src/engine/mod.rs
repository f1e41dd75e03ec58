//! Playing a profile in a callback that may not wait.
//!
//! A [`Plan`] is a profile made ready: its steps in order, weights packed as the kernels read them, a place in memory for
//! everything. It never changes, so both sides of a stereo signal can share one. An [`Engine`] adds the past of one signal
//! and all the memory that it will ever need: [`Engine::process`] does not allocate, lock, or ask the system for anything,
//! and can be moved to the thread that plays.
//!
//! The sound does not depend on how it is cut into blocks: after the same prewarm, every cut gives the same bits.
//!
//! ```
//! use forge_nam::{engine::Engine, profile::Profile};
//!
//! let text = r#"{"version": "0.5.4", "architecture": "Linear", "config": {"receptive_field": 2, "bias": false},
//!   "weights": [0.5, 0.25], "sample_rate": 48000}"#;
//! let profile = Profile::parse(text.as_bytes())?;
//! let mut engine = Engine::new(&profile, 64, Default::default())?;
//! engine.reset(48000.0, 64)?;
//! engine.prewarm();
//! let mut out = [0.0; 3];
//! engine.process(&[1.0, 0.0, 0.0], &mut out);
//! assert_eq!(out, [0.5, 0.25, 0.0]);
//! # Ok::<(), forge_nam::profile::ProfileError>(())
//! ```

mod convnet;
mod layer;
mod linear;
mod lstm;
mod plan;
mod wavenet;

pub use crate::options::Options;
pub use plan::Plan;

use crate::profile::{JsonPath, Profile, ProfileError};
use forge_kernels::stream::{Arena, CHUNK, flushing};
use std::{fmt, sync::Arc};

/// A sample of sound: `f32` or `f64`. Inside, the engine computes in `f32`.
pub trait Sample: Copy + private::Sealed {
    /// Rounds to `f32`.
    fn to_f32(self) -> f32;
    /// Widens or keeps.
    fn from_f32(value: f32) -> Self;
}

impl Sample for f32 {
    fn to_f32(self) -> f32 {
        self
    }
    fn from_f32(value: f32) -> Self {
        value
    }
}

impl Sample for f64 {
    #[allow(clippy::cast_possible_truncation, reason = "rounding to f32 is meant")]
    fn to_f32(self) -> f32 {
        self as f32
    }
    fn from_f32(value: f32) -> Self {
        f64::from(value)
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Plays one signal through a [`Plan`]. See [the module](self).
#[derive(Clone)]
pub struct Engine {
    plan: Arc<Plan>,
    arena: Arena,
    /// Where each ring is.
    now: Box<[usize]>,
    max_block: usize,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("plan", &self.plan).field("max_block", &self.max_block).finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine with a past of silence (for an LSTM: the past that was trained), for blocks of up to `max_block` samples.
    ///
    /// # Errors
    /// When the weights do not fit the configuration, which a parsed profile's do.
    ///
    /// # Panics
    /// When `max_block` is 0.
    pub fn new(profile: &Profile, max_block: usize, options: Options) -> Result<Self, ProfileError> {
        Ok(Self::of(Arc::new(Plan::new(profile, options)?), max_block))
    }

    /// An engine for a plan that others may play too: the other side of a stereo signal, say.
    ///
    /// # Panics
    /// When `max_block` is 0.
    pub fn of(plan: Arc<Plan>, max_block: usize) -> Self {
        assert!(max_block > 0, "Engine: blocks of 0 samples");
        Self { arena: plan.start().clone(), now: vec![0; plan.rings()].into(), plan, max_block }
    }

    /// What is played.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The longest block of the host. It says how much silence [`prewarm`](Self::prewarm) plays, and nothing else.
    pub fn max_block(&self) -> usize {
        self.max_block
    }

    /// Forgets the past, for a signal of `sample_rate` samples a second in blocks of up to `max_block` samples. Allocates
    /// nothing.
    ///
    /// # Errors
    /// [`ProfileError::SampleRate`] when the profile says that it was trained at another rate; nothing has changed then.
    ///
    /// # Panics
    /// When `max_block` is 0.
    pub fn reset(&mut self, sample_rate: f64, max_block: usize) -> Result<(), ProfileError> {
        assert!(max_block > 0, "Engine::reset: blocks of 0 samples");
        if let Some(trained) = self.plan.sample_rate()
            && trained != sample_rate
        {
            return Err(ProfileError::SampleRate { trained, asked: sample_rate });
        }
        self.max_block = max_block;
        self.forget();
        Ok(())
    }

    /// Forgets the past. Allocates nothing.
    pub fn forget(&mut self) {
        self.arena.copy_from_slice(self.plan.start());
        self.now.fill(0);
    }

    /// Plays silence until the network has settled: as many whole blocks of the longest length as its memory needs.
    ///
    /// The number of samples depends on the longest block alone, not on how the sound is cut later.
    pub fn prewarm(&mut self) {
        let mut left = self.plan.prewarm_samples().div_ceil(self.max_block) * self.max_block;
        flushing(|| {
            while left > 0 {
                let frames = left.min(CHUNK);
                for c in 0..self.plan.channels().0 {
                    self.plan.input(&mut self.arena, c, frames).fill(0.0);
                }
                self.plan.run(&mut self.arena, &mut self.now, frames);
                left -= frames;
            }
        });
    }

    /// Plays `input` into `output`, of any one length. Subnormal numbers count as zero while it runs.
    ///
    /// # Panics
    /// When the two are not of one length, or the profile is not mono.
    pub fn process<S: Sample>(&mut self, input: &[S], output: &mut [S]) {
        self.process_channels(&[input], &mut [output]);
    }

    /// Plays the channels of `input` into those of `output`, all of one length.
    ///
    /// # Panics
    /// When the lengths differ, or the channels are not as many as the profile has.
    pub fn process_channels<S: Sample>(&mut self, input: &[&[S]], output: &mut [&mut [S]]) {
        let (from, to) = self.plan.channels();
        assert!(
            input.len() == from && output.len() == to,
            "Engine: {} channels in and {} out for a profile of {from} and {to}",
            input.len(),
            output.len()
        );
        let len = input.first().map_or(0, |c| c.len());
        assert!(
            input.iter().all(|c| c.len() == len) && output.iter().all(|c| c.len() == len),
            "Engine: channels of different lengths, the first of {len} samples"
        );
        flushing(|| {
            let mut at = 0;
            while at < len {
                let frames = (len - at).min(CHUNK);
                for (c, x) in input.iter().enumerate() {
                    let rows = self.plan.input(&mut self.arena, c, frames);
                    for (to, from) in rows.iter_mut().zip(&x[at..at + frames]) {
                        *to = from.to_f32();
                    }
                }
                self.plan.run(&mut self.arena, &mut self.now, frames);
                for (c, y) in output.iter_mut().enumerate() {
                    let row = self.plan.output(&self.arena, c, frames);
                    for (to, from) in y[at..at + frames].iter_mut().zip(row) {
                        *to = S::from_f32(*from);
                    }
                }
                at += frames;
            }
        });
    }
}

/// The error of a profile that has no parts to make a plan of.
fn without(feature: &str) -> ProfileError {
    ProfileError::Unsupported { at: JsonPath::default(), feature: feature.to_owned() }
}
