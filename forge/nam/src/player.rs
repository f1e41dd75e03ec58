//! A profile that plays: block after block, in mono.

use crate::model::{Input, Network, Options, State};
use crate::profile::{Profile, ProfileError};
use forge::axes::Time;
use forge::prelude::*;
use std::sync::Arc;

/// Plays one channel of sound through a profile.
///
/// The sound does not depend on how it is cut into blocks: after the same prewarm, every cut gives the same bits.
///
/// ```
/// use forge_nam::{player::Player, profile::Profile};
///
/// let text = r#"{"version": "0.5.4", "architecture": "Linear", "config": {"receptive_field": 2, "bias": false},
///   "weights": [0.5, 0.25], "sample_rate": 48000}"#;
/// let profile = Profile::parse(text.as_bytes())?;
/// let mut player = Player::new(&profile, 64, Default::default())?;
/// player.prewarm();
/// let mut out = [0.0; 3];
/// player.process(&[1.0, 0.0, 0.0], &mut out);
/// assert_eq!(out, [0.5, 0.25, 0.0]);
/// # Ok::<(), forge_nam::profile::ProfileError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Player {
    network: Arc<Network>,
    state: State,
    max_block: usize,
}

impl Player {
    /// A player with a past of silence, for blocks of up to `max_block` samples.
    ///
    /// # Errors
    /// When the profile has more than one channel in or out.
    ///
    /// # Panics
    /// When `max_block` is 0.
    pub fn new(profile: &Profile, max_block: usize, options: Options) -> Result<Self, ProfileError> {
        let (from, to) = profile.channels();
        if (from, to) != (1, 1) {
            return Err(ProfileError::Unsupported {
                at: crate::profile::JsonPath::default(),
                feature: format!("playing {from} channels in and {to} out as one"),
            });
        }
        Ok(Self::of(Arc::new(Network::new(profile, options)?), max_block))
    }

    /// A player of a mono network that others may play too (the other side of a stereo signal, say).
    ///
    /// # Panics
    /// When `max_block` is 0 or the network is not mono.
    pub fn of(network: Arc<Network>, max_block: usize) -> Self {
        assert!(max_block > 0, "Player: blocks of 0 samples");
        assert!(network.channels() == (1, 1), "Player: the network is not mono");
        Self { state: network.state(), network, max_block }
    }

    /// The network that is played.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// The longest block.
    pub fn max_block(&self) -> usize {
        self.max_block
    }

    /// Forgets the past, and sets the longest block.
    ///
    /// # Panics
    /// When `max_block` is 0.
    pub fn reset(&mut self, max_block: usize) {
        *self = Self::of(Arc::clone(&self.network), max_block);
    }

    /// Plays silence until the network has settled: as many whole blocks of the longest length as its memory needs.
    ///
    /// The number of samples depends on the longest block alone, not on how the sound is cut later.
    pub fn prewarm(&mut self) {
        let blocks = self.network.prewarm_samples().div_ceil(self.max_block);
        let silence = Tensor::<(Time, Input)>::zeros((self.max_block, 1));
        for _ in 0..blocks {
            self.network.run(&silence, &mut self.state);
        }
    }

    /// Plays `input` into `output`. What is longer than the longest block is cut.
    ///
    /// # Panics
    /// When the two are not of one length.
    pub fn process(&mut self, input: &[f32], output: &mut [f32]) {
        assert!(
            input.len() == output.len(),
            "Player::process: {} samples in, but room for {} out",
            input.len(),
            output.len()
        );
        for (input, output) in input.chunks(self.max_block).zip(output.chunks_mut(self.max_block)) {
            let x = Tensor::<(Time, Input)>::from_vec((input.len(), 1), input.to_vec());
            output.copy_from_slice(&self.network.run(&x, &mut self.state).to_vec());
        }
    }
}
