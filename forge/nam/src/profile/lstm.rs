//! The LSTM architecture.

use super::error::ProfileError;
use super::tally::Tally;
use super::{Body, Reading};

/// A stack of LSTM cells and a linear head.
///
/// Weights, for each layer: one matrix (4 x hidden, inputs + hidden), row-major, with the rows of the input gate, the
/// forget gate, the cell and the output gate in that order; 4 x hidden biases; the initial hidden state; the initial cell
/// state. Then the head's matrix (out_channels, hidden) and its biases.
#[derive(Clone, Debug)]
pub struct Lstm {
    /// The sizes.
    pub config: LstmConfig,
    /// The weights, in the file's order.
    pub weights: Vec<f32>,
}

/// The sizes of an [`Lstm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LstmConfig {
    /// Channels in.
    pub in_channels: usize,
    /// Channels out.
    pub out_channels: usize,
    /// Cells in a layer.
    pub hidden_size: usize,
    /// Layers.
    pub num_layers: usize,
}

impl LstmConfig {
    /// How many numbers go into layer `layer`, without its own state.
    pub fn layer_inputs(&self, layer: usize) -> usize {
        if layer == 0 { self.in_channels } else { self.hidden_size }
    }

    fn weight_count(&self) -> usize {
        let mut t = Tally::zero();
        for layer in 0..self.num_layers {
            // Matrix, bias, hidden state, cell state.
            t.add(&[4, self.hidden_size, self.layer_inputs(layer) + self.hidden_size]);
            t.add(&[6, self.hidden_size]);
        }
        t.add(&[self.out_channels, self.hidden_size + 1]);
        t.count()
    }
}

impl Lstm {
    pub(super) fn read(body: &Body<'_>, reading: &Reading<'_>) -> Result<Self, ProfileError> {
        let (node, limits) = (&body.config, reading.limits);
        let optional = |key| node.get(key)?.map_or(Ok(1), |n| n.size(limits.channels, "channels"));
        let config = LstmConfig {
            in_channels: optional("in_channels")?,
            out_channels: optional("out_channels")?,
            hidden_size: node.need("hidden_size")?.size(limits.channels, "channels")?,
            num_layers: node.need("num_layers")?.size(limits.layers, "layers")?,
        };
        let input = node.need("input_size")?;
        let input_size = input.size(limits.channels, "channels")?;
        if input_size != config.in_channels {
            return Err(
                input.conflict(format!("{input_size} does not equal the {} input channels", config.in_channels))
            );
        }
        let weights = body.weights(config.weight_count())?;
        Ok(Self { config, weights })
    }
}

/// Half a second; one sample where the rate is not known.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate is between 1 and 1e6")]
pub(super) fn prewarm_samples(sample_rate: Option<f64>) -> usize {
    sample_rate.map_or(1, |rate| ((0.5 * rate) as usize).max(1))
}
