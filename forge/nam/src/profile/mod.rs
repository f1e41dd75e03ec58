//! The `.nam` file: one JSON object with a version, an architecture, its configuration and a flat row of weights.
//!
//! [`Profile::parse`] turns the bytes into plain typed structs, or says in one sentence what is wrong and where. It
//! trusts nothing: depth, counts and sizes are bounded by [`Limits`], the number of weights that a configuration asks
//! for is computed (in checked arithmetic) and compared before anything is built from it, and each weight is a finite
//! 32-bit float. No input makes it panic, or allocate more than a small multiple of the input's size.
//!
//! ```
//! use forge_nam::profile::{Model, Profile};
//!
//! let text = r#"{
//!   "version": "0.5.4", "architecture": "Linear", "sample_rate": 48000,
//!   "config": {"receptive_field": 2, "bias": false}, "weights": [0.5, 0.25]
//! }"#;
//! let profile = Profile::parse(text.as_bytes())?;
//! assert!(matches!(profile.model, Model::Linear(_)));
//!
//! let short = text.replace("[0.5, 0.25]", "[0.5]");
//! assert_eq!(
//!     Profile::parse(short.as_bytes()).unwrap_err().to_string(),
//!     "weights: expected 2 numbers for this configuration, got 1: the file is damaged, export it again"
//! );
//! # Ok::<(), forge_nam::profile::ProfileError>(())
//! ```

mod activation;
mod container;
mod convnet;
mod error;
mod json;
mod linear;
mod lstm;
mod slimming;
mod tally;
mod version;
mod wavenet;
mod wavenet_parse;

pub use activation::Activation;
pub use container::Submodel;
pub use convnet::{ConvNet, ConvNetConfig};
pub use error::{JsonPath, ProfileError};
pub use linear::{Linear, LinearConfig};
pub use lstm::{Lstm, LstmConfig};
pub use version::Version;
pub use wavenet::{
    ArrayConfig, ArrayHead, Film, FilmSlot, Gating, Head1x1, LayerConfig, PostHead, Slimming, WaveNet, WaveNetConfig,
};

pub(crate) use error::shown;

use json::{Json, Node};
use std::{cell::Cell, fmt, io::Read, path::Path};

/// How much a file may ask for. The defaults allow every profile known, with room.
///
/// The struct is `Copy`; change what is needed and pass it to [`Profile::parse_within`].
///
/// ```
/// use forge_nam::profile::Limits;
/// let limits = Limits { channels: 64, ..Limits::default() };
/// # assert_eq!(limits.channels, 64);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the file (64 MiB).
    pub file_bytes: usize,
    /// JSON values that are not numbers in a row (2^18).
    pub values: usize,
    /// Bytes of one `metadata` object (1 MiB).
    pub metadata_bytes: usize,
    /// Channels, hidden units and the like (1024).
    pub channels: usize,
    /// Layers of all WaveNets in the file together; entries of any other list, too (4096).
    pub layers: usize,
    /// Taps of one convolution (4096).
    pub kernel_size: usize,
    /// Samples that one output depends on, over all layers (2^20: 22 seconds at 48 kHz).
    pub receptive_field: usize,
    /// Past values kept while playing, over all layers (2^25: 128 MiB).
    pub history: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 64 << 20,
            values: 1 << 18,
            metadata_bytes: 1 << 20,
            channels: 1024,
            layers: 4096,
            kernel_size: 4096,
            receptive_field: 1 << 20,
            history: 1 << 25,
        }
    }
}

/// A profile: what stands in one `.nam` file, checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// The version of the file format.
    pub version: Version,
    /// Name, loudness, date and so on, as they stand in the file.
    pub metadata: Option<serde_json::Value>,
    /// Samples a second that the model was trained at, if the file says so.
    pub sample_rate: Option<f64>,
    /// The architecture with its configuration and weights.
    pub model: Model,
    /// What is odd about the file but does not keep it from playing.
    pub warnings: Vec<Warning>,
}

/// An architecture with its configuration and weights.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Model {
    /// Dilated causal convolutions with residual and head sums.
    WaveNet(WaveNet),
    /// A stack of LSTM cells.
    Lstm(Lstm),
    /// Plain dilated causal convolutions.
    ConvNet(ConvNet),
    /// One finite impulse response.
    Linear(Linear),
    /// Several models of one sound, by rising cost: one is chosen when it is played.
    Container(Vec<Submodel>),
}

/// What is odd about a profile but does not keep it from playing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// A patch of the format newer than this crate knows: it may say something that is passed over.
    NewerPatch(Version),
    /// `config.head_scale` is not the last weight. The weight is used.
    HeadScaleDiffers {
        /// The number in the configuration.
        config: f32,
        /// The last weight.
        weight: f32,
    },
    /// A level in the metadata is not a number and is passed over.
    LevelNotANumber(&'static str),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewerPatch(v) => {
                write!(f, "file version {v} is newer than {}: parts of it may be passed over", Version::LATEST)
            }
            Self::HeadScaleDiffers { config, weight } => {
                write!(f, "config.head_scale is {config}, the last weight is {weight}: the weight is used")
            }
            Self::LevelNotANumber(key) => write!(f, "metadata.{key} is not a number and is passed over"),
        }
    }
}

impl Profile {
    /// Reads and parses a file.
    ///
    /// # Errors
    /// [`ProfileError::Read`] if it cannot be read; else as [`parse`](Self::parse).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ProfileError> {
        let path = path.as_ref();
        let limits = Limits::default();
        let read = |source| ProfileError::Read { path: path.to_owned(), source };
        let mut bytes = Vec::new();
        // One byte over the limit is enough to know; a device or a pipe may have no end.
        let file = std::fs::File::open(path).map_err(read)?;
        file.take(limits.file_bytes as u64 + 1).read_to_end(&mut bytes).map_err(read)?;
        Self::parse_within(&bytes, &limits)
    }

    /// Parses the bytes of a file within the default [`Limits`].
    ///
    /// # Errors
    /// Whatever is wrong with it, see [`ProfileError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ProfileError> {
        Self::parse_within(bytes, &Limits::default())
    }

    /// Parses the bytes of a file within limits of the caller.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_within(bytes: &[u8], limits: &Limits) -> Result<Self, ProfileError> {
        let json = Json::parse(bytes, limits)?;
        let root = Node { json: &json, at: JsonPath::default() };
        Self::from_node(&root, &Reading { limits, depth: 0, layers: &Cell::new(0) })
    }

    fn from_node(root: &Node<'_>, reading: &Reading<'_>) -> Result<Self, ProfileError> {
        root.object()?;
        let reading = reading.deeper()?;
        let mut warnings = Vec::new();
        let version = Version::read(&root.need("version")?)?;
        if version > Version::LATEST {
            warnings.push(Warning::NewerPatch(version));
        }
        let sample_rate = root.get("sample_rate")?.map(|node| sample_rate(&node)).transpose()?;
        let metadata = match root.get("metadata")?.map(|node| node.json) {
            Some(Json::Metadata(value)) if !value.is_null() => Some(value.clone()),
            _ => None,
        };
        for key in LEVELS {
            let level = metadata.as_ref().and_then(|m| m.get(key));
            if level.is_some_and(|v| !v.is_null() && v.as_f64().is_none()) {
                warnings.push(Warning::LevelNotANumber(key));
            }
        }
        let architecture = root.need("architecture")?;
        let config = root.need("config")?;
        config.object()?;
        let weights = root.need("weights")?;
        let body = Body { config, weights, sample_rate };
        let model = match architecture.text()? {
            "WaveNet" => Model::WaveNet(WaveNet::read(&body, &reading, &mut warnings)?),
            "LSTM" => Model::Lstm(Lstm::read(&body, &reading)?),
            "ConvNet" => Model::ConvNet(ConvNet::read(&body, &reading)?),
            "Linear" => Model::Linear(Linear::read(&body, &reading)?),
            "SlimmableContainer" => Model::Container(container::read(&body, &reading)?),
            other => {
                return Err(ProfileError::Unknown {
                    at: architecture.at,
                    what: "architecture",
                    got: shown(other),
                    known: "WaveNet, LSTM, ConvNet, Linear, SlimmableContainer",
                });
            }
        };
        Ok(Self { version, metadata, sample_rate, model, warnings })
    }

    /// The loudness of the output in dBFS that the trainer measured, if the metadata says it.
    pub fn loudness(&self) -> Option<f64> {
        self.metadata.as_ref()?.get(LEVELS[0])?.as_f64()
    }

    /// The name in the metadata, if there is one, as it may be shown: without control characters and not long.
    pub fn name(&self) -> Option<String> {
        self.metadata.as_ref()?.get("name")?.as_str().map(shown)
    }

    /// The name of the architecture as the file format writes it.
    pub fn architecture(&self) -> &'static str {
        match self.model {
            Model::WaveNet(_) => "WaveNet",
            Model::Lstm(_) => "LSTM",
            Model::ConvNet(_) => "ConvNet",
            Model::Linear(_) => "Linear",
            Model::Container(_) => "SlimmableContainer",
        }
    }

    /// How many channels go in and come out.
    pub fn channels(&self) -> (usize, usize) {
        match &self.model {
            Model::WaveNet(m) => (m.config.in_channels, m.config.out_channels()),
            Model::Lstm(m) => (m.config.in_channels, m.config.out_channels),
            Model::ConvNet(m) => (m.config.in_channels, m.config.out_channels),
            Model::Linear(m) => (m.config.in_channels, m.config.out_channels),
            // All have the same, checked when the container is read.
            Model::Container(submodels) => submodels.first().map_or((1, 1), |s| s.profile.channels()),
        }
    }

    /// How many samples of silence settle the model before it is heard.
    ///
    /// WaveNet: what one output depends on; ConvNet: 1 + the sum of its dilations; LSTM: half a second, at least one
    /// sample; Linear: none. A container has that of its last submodel.
    pub fn prewarm_samples(&self) -> usize {
        match &self.model {
            Model::WaveNet(m) => m.config.prewarm_samples(),
            Model::Lstm(_) => lstm::prewarm_samples(self.sample_rate),
            Model::ConvNet(m) => 1 + m.config.dilations.iter().sum::<usize>(),
            Model::Linear(_) => 0,
            Model::Container(submodels) => submodels.last().map_or(0, |s| s.profile.prewarm_samples()),
        }
    }

    /// The model to play for a quality in 0..1: in a container the first whose `max_value` is above it, else the last;
    /// any other profile itself. `None` is the best there is.
    pub fn submodel(&self, quality: Option<f64>) -> &Self {
        match &self.model {
            Model::Container(submodels) => {
                let chosen = submodels.iter().find(|s| quality.is_some_and(|q| q < s.max_value)).or(submodels.last());
                chosen.map_or(self, |s| s.profile.submodel(quality))
            }
            _ => self,
        }
    }
}

/// The levels in the metadata; the first is the loudness.
const LEVELS: [&str; 3] = ["loudness", "input_level_dbu", "output_level_dbu"];

/// The parts of a profile that the architecture reads.
struct Body<'a> {
    config: Node<'a>,
    weights: Node<'a>,
    sample_rate: Option<f64>,
}

impl Body<'_> {
    /// The weights, once their count is known to be right.
    fn weights(&self, expected: usize) -> Result<Vec<f32>, ProfileError> {
        let row = self.weights.numbers()?;
        if row.len() != expected {
            return Err(ProfileError::WeightCount { at: self.weights.at.clone(), expected, got: row.len() });
        }
        finite(row, &self.weights.at)
    }
}

/// What every part of the parser needs to know.
struct Reading<'a> {
    limits: &'a Limits,
    /// How many models this one stands in.
    depth: usize,
    /// How many layers the file has so far.
    layers: &'a Cell<usize>,
}

impl<'a> Reading<'a> {
    /// A container holds models, a model may hold a condition model: more levels than these have no use.
    const MAX_DEPTH: usize = 8;

    fn deeper(&self) -> Result<Reading<'a>, ProfileError> {
        if self.depth == Self::MAX_DEPTH {
            return Err(ProfileError::TooDeep { what: "models", limit: Self::MAX_DEPTH });
        }
        Ok(Reading { depth: self.depth + 1, ..*self })
    }

    /// Counts layers against the budget of the file, before they are made.
    fn take_layers(&self, list: &Node<'_>, count: usize) -> Result<(), ProfileError> {
        self.layers.set(self.layers.get().saturating_add(count));
        if self.layers.get() <= self.limits.layers {
            return Ok(());
        }
        Err(ProfileError::TooLarge {
            what: format!("the count of layers up to {}", list.at),
            got: self.layers.get().to_string(),
            limit: self.limits.layers,
            limit_name: "layers",
        })
    }

    /// Checks what playing will need against the limits.
    fn check(&self, at: &JsonPath, receptive_field: Option<usize>, history: Option<usize>) -> Result<(), ProfileError> {
        let over = |what: &str, got: Option<usize>, limit: usize, limit_name| match got {
            Some(n) if n <= limit => Ok(()),
            _ => Err(ProfileError::TooLarge {
                what: format!("{what} of {at}"),
                got: got.map_or_else(|| "beyond counting".to_owned(), |n| n.to_string()),
                limit,
                limit_name,
            }),
        };
        over("the receptive field in samples", receptive_field, self.limits.receptive_field, "receptive_field")?;
        over("the count of past values kept", history, self.limits.history, "history")
    }
}

fn sample_rate(node: &Node<'_>) -> Result<f64, ProfileError> {
    let rate = node.number()?;
    if (1.0..=1e6).contains(&rate) {
        return Ok(rate);
    }
    let expected = "between 1 and 1000000 samples a second, or absent".to_owned();
    Err(ProfileError::Range { at: node.at.clone(), got: rate.to_string(), expected })
}

/// Rounds to 32 bits, refusing what is not finite there.
#[allow(clippy::cast_possible_truncation, reason = "rounding to f32 is what the format says")]
fn finite(row: &[f64], at: &JsonPath) -> Result<Vec<f32>, ProfileError> {
    row.iter()
        .enumerate()
        .map(|(i, &value)| {
            let v = value as f32;
            if v.is_finite() { Ok(v) } else { Err(ProfileError::NotFinite { at: at.index(i), value }) }
        })
        .collect()
}
