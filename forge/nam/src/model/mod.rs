//! Profiles as models in the typed language of Forge, run block by block.
//!
//! A [`Network`] holds the weights of a profile; it never changes and can be shared. A [`State`] holds the past that the
//! next block needs. [`Network::run`] takes both and a block of any length. The bits of the output depend on the samples
//! alone, not on how they are cut into blocks: every sum is taken in one order, whatever the length of the block.
//!
//! ```
//! use forge::{axes::Time, prelude::*};
//! use forge_nam::{model::{Input, Network, Options}, profile::Profile};
//!
//! let text = r#"{"version": "0.5.4", "architecture": "Linear", "config": {"receptive_field": 2, "bias": false},
//!   "weights": [0.5, 0.25], "sample_rate": 48000}"#;
//! let profile = Profile::parse(text.as_bytes()).unwrap();
//! let network = Network::new(&profile, Options::default()).unwrap();
//! let mut state = network.state();
//! let x = Tensor::<(Time, Input)>::from_vec((3, 1), vec![1.0, 0.0, 0.0]);
//! assert_eq!(network.run(&x, &mut state).to_vec(), [0.5, 0.25, 0.0]);
//! ```

mod activation;
mod conv;
mod convnet;
mod film;
mod layer;
mod linear;
mod lstm;
mod wavenet;

pub use crate::options::Options;

use crate::profile::{Model, Profile, ProfileError};
use forge::axes::Time;
use forge::prelude::*;
use std::fmt;

forge::axes! {
    /// Channels of the sound that goes in.
    pub Input,
    /// Channels of the sound that comes out.
    pub Output,
    /// Channels of the signal that steers every layer of a WaveNet.
    pub Condition,
    /// Channels of a layer's convolution: its bottleneck, or twice that where it is gated.
    pub Wide,
    /// Channels that a layer's activation gives.
    pub Mid,
    /// Channels of the sum over the layers that the head reads.
    pub HeadSum,
    /// Channels of what an array's head gives.
    pub HeadOut,
    /// Scales and shifts made from the condition.
    pub Modulation,
}

/// The weights of a profile, ready to run. It never changes: share it between threads and [`State`]s.
pub struct Network {
    kind: Kind,
    channels: (usize, usize),
    prewarm_samples: usize,
    sample_rate: Option<f64>,
}

enum Kind {
    WaveNet(Box<wavenet::WaveNet>),
    Lstm(lstm::Lstm),
    ConvNet(convnet::ConvNet),
    Linear(linear::Linear),
}

/// The past that a [`Network`] needs for its next block.
#[derive(Clone)]
pub struct State(StateKind);

#[derive(Clone)]
enum StateKind {
    WaveNet(Box<wavenet::State>),
    Lstm(lstm::State),
    ConvNet(convnet::State),
    Linear(conv::History<Input>),
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::WaveNet(_) => "WaveNet",
            Kind::Lstm(_) => "LSTM",
            Kind::ConvNet(_) => "ConvNet",
            Kind::Linear(_) => "Linear",
        };
        f.debug_struct("Network").field("kind", &kind).field("channels", &self.channels).finish_non_exhaustive()
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

impl Network {
    /// Builds the network of a profile (of a container: of the submodel that the quality asks for).
    ///
    /// # Errors
    /// When the weights do not fit the configuration, which a parsed profile's do.
    pub fn new(profile: &Profile, options: Options) -> Result<Self, ProfileError> {
        let profile = profile.submodel(options.quality);
        let kind = match &profile.model {
            Model::WaveNet(m) => Kind::WaveNet(Box::new(wavenet::WaveNet::new(&m.slimmed(options.quality), options)?)),
            Model::Lstm(m) => Kind::Lstm(lstm::Lstm::new(m, options)?),
            Model::ConvNet(m) => Kind::ConvNet(convnet::ConvNet::new(m, options)?),
            Model::Linear(m) => Kind::Linear(linear::Linear::new(m)?),
            Model::Container(_) => {
                return Err(ProfileError::Unsupported {
                    at: crate::profile::JsonPath::default(),
                    feature: "a container without submodels".to_owned(),
                });
            }
        };
        Ok(Self {
            kind,
            channels: profile.channels(),
            prewarm_samples: profile.prewarm_samples(),
            sample_rate: profile.sample_rate,
        })
    }

    /// Channels in and out.
    pub fn channels(&self) -> (usize, usize) {
        self.channels
    }

    /// How many samples of silence settle it.
    pub fn prewarm_samples(&self) -> usize {
        self.prewarm_samples
    }

    /// Samples a second that it was trained at, if its profile says so.
    pub fn sample_rate(&self) -> Option<f64> {
        self.sample_rate
    }

    /// A past of silence (for an LSTM: the one that was trained).
    pub fn state(&self) -> State {
        State(match &self.kind {
            Kind::WaveNet(m) => StateKind::WaveNet(Box::new(m.state())),
            Kind::Lstm(m) => StateKind::Lstm(m.state()),
            Kind::ConvNet(m) => StateKind::ConvNet(m.state()),
            Kind::Linear(m) => StateKind::Linear(m.state()),
        })
    }

    /// Runs a block, of any length, and moves `state` on by as much. No gradients are recorded.
    ///
    /// # Panics
    /// When `x` has another count of channels than the network, or `state` is of a network of another kind.
    pub fn run(&self, x: &Tensor<(Time, Input)>, state: &mut State) -> Tensor<(Time, Output)> {
        assert!(
            x.size(Input) == self.channels.0,
            "Network::run: {} channels into a network that takes {}",
            x.size(Input),
            self.channels.0
        );
        no_grad(|| match (&self.kind, &mut state.0) {
            (Kind::WaveNet(m), StateKind::WaveNet(s)) => m.run(x, s),
            (Kind::Lstm(m), StateKind::Lstm(s)) => m.run(x, s),
            (Kind::ConvNet(m), StateKind::ConvNet(s)) => m.run(x, s),
            (Kind::Linear(m), StateKind::Linear(s)) => m.run(x, s),
            _ => panic!("Network::run: the state is of a network of another kind"),
        })
    }
}
