//! The Linear architecture.

use super::error::{ProfileError, shown};
use super::{Body, Reading};

/// One finite impulse response: weight `j` multiplies the sample `j` steps ago. A bias may follow.
#[derive(Clone, Debug)]
pub struct Linear {
    /// The sizes.
    pub config: LinearConfig,
    /// The weights, in the file's order: the response, then the bias if there is one.
    pub weights: Vec<f32>,
}

/// The sizes of a [`Linear`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearConfig {
    /// Channels in; the same response for each.
    pub in_channels: usize,
    /// Channels out; those beyond the inputs are silent.
    pub out_channels: usize,
    /// Taps of the response.
    pub receptive_field: usize,
    /// Whether a bias follows.
    pub bias: bool,
}

impl Linear {
    pub(super) fn read(body: &Body<'_>, reading: &Reading<'_>) -> Result<Self, ProfileError> {
        let (node, limits) = (&body.config, reading.limits);
        let optional = |key| node.get(key)?.map_or(Ok(1), |n| n.size(limits.channels, "channels"));
        let config = LinearConfig {
            in_channels: optional("in_channels")?,
            out_channels: optional("out_channels")?,
            receptive_field: node.need("receptive_field")?.size(limits.receptive_field, "receptive_field")?,
            bias: node.need("bias")?.bool()?,
        };
        // A wish about the way of computing: all ways give the same sound, so it is only checked.
        if let Some(how) = node.get("implementation")? {
            const KNOWN: [&str; 7] = ["auto", "direct", "legacy", "old", "fft", "partitioned_fft", "partitioned-fft"];
            let name = how.text()?;
            if !KNOWN.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(ProfileError::Unknown {
                    at: how.at.clone(),
                    what: "implementation",
                    got: shown(name),
                    known: "auto, direct, fft",
                });
            }
        }
        let weights = body.weights(config.receptive_field + usize::from(config.bias))?;
        Ok(Self { config, weights })
    }
}
