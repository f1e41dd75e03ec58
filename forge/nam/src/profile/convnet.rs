//! The ConvNet architecture.

use super::activation::Activation;
use super::error::ProfileError;
use super::tally::Tally;
use super::{Body, Reading};
use crate::cursor::Cursor;

/// Dilated causal convolutions of two taps, each followed by an activation, and a linear head.
///
/// Weights, for each block: the convolution (out, in / groups, 2); without batch norm its biases; with batch norm the
/// running mean, the running variance, the scale, the shift (one a channel each) and one epsilon. Then the head's matrix
/// (out_channels, channels) and its biases.
#[derive(Clone, Debug)]
pub struct ConvNet {
    /// The sizes and the activation.
    pub config: ConvNetConfig,
    /// The weights, in the file's order.
    pub weights: Vec<f32>,
}

/// The configuration of a [`ConvNet`].
#[derive(Clone, Debug, PartialEq)]
pub struct ConvNetConfig {
    /// Channels in.
    pub in_channels: usize,
    /// Channels out.
    pub out_channels: usize,
    /// Channels of each block.
    pub channels: usize,
    /// Distance of the two taps in samples, for each block.
    pub dilations: Vec<usize>,
    /// Whether a batch norm stands after each convolution, in place of its bias.
    pub batchnorm: bool,
    /// The activation of each block.
    pub activation: Activation,
    /// Groups of each convolution.
    pub groups: usize,
}

impl ConvNetConfig {
    /// Taps of each convolution.
    pub const TAPS: usize = 2;

    /// Channels into block `block`.
    pub fn block_inputs(&self, block: usize) -> usize {
        if block == 0 { self.in_channels } else { self.channels }
    }

    /// The next weights, which are those of block `block`: its matrix and its biases, with the batch norm folded in.
    pub(crate) fn fold(&self, weights: &mut Cursor<'_>, block: usize) -> Result<(Vec<f32>, Vec<f32>), ProfileError> {
        let outs = self.channels;
        let per_out = (self.block_inputs(block) / self.groups) * Self::TAPS;
        let mut matrix = weights.take(per_out * outs)?.to_vec();
        if !self.batchnorm {
            return Ok((matrix, weights.take(outs)?.to_vec()));
        }
        let [mean, variance, gain, shift] = [0; 4].map(|_| weights.take(outs));
        let (mean, variance, gain, shift) = (mean?, variance?, gain?, shift?);
        let epsilon = f64::from(weights.take(1)?[0]);
        let mut bias = Vec::with_capacity(outs);
        for o in 0..outs {
            let scale = f64::from(gain[o]) / (f64::from(variance[o]) + epsilon).sqrt();
            for w in &mut matrix[o * per_out..(o + 1) * per_out] {
                *w = round(f64::from(*w) * scale);
            }
            bias.push(round(f64::from(shift[o]) - scale * f64::from(mean[o])));
        }
        Ok((matrix, bias))
    }

    fn weight_count(&self) -> usize {
        let mut t = Tally::zero();
        for block in 0..self.dilations.len() {
            t.add(&[self.channels, self.block_inputs(block) / self.groups, Self::TAPS]);
            if self.batchnorm {
                t.add(&[4, self.channels]);
                t.add(&[1]);
            } else {
                t.add(&[self.channels]);
            }
        }
        t.add(&[self.out_channels, self.channels + 1]);
        t.count()
    }
}

impl ConvNet {
    pub(super) fn read(body: &Body<'_>, reading: &Reading<'_>) -> Result<Self, ProfileError> {
        let (node, limits) = (&body.config, reading.limits);
        let optional = |key| node.get(key)?.map_or(Ok(1), |n| n.size(limits.channels, "channels"));
        let dilations_node = node.need("dilations")?;
        let activation_node = node.need("activation")?;
        let config = ConvNetConfig {
            in_channels: optional("in_channels")?,
            out_channels: optional("out_channels")?,
            channels: node.need("channels")?.size(limits.channels, "channels")?,
            dilations: dilations_node.sizes(limits.receptive_field, "receptive_field")?,
            batchnorm: node.need("batchnorm")?.bool()?,
            activation: Activation::parse(&activation_node)?,
            groups: optional("groups")?,
        };
        super::wavenet_parse::check_layers(&dilations_node, config.dilations.len(), limits)?;
        config.activation.check_width(&activation_node, config.channels)?;
        for (what, n) in [("channels", config.channels), ("input channels", config.in_channels)] {
            if !n.is_multiple_of(config.groups) {
                return Err(node.conflict(format!("groups {} does not divide the {n} {what}", config.groups)));
            }
        }
        let (mut field, mut history) = (Tally::zero(), Tally::zero());
        field.add(&[1]);
        for (block, &d) in config.dilations.iter().enumerate() {
            field.add(&[d]);
            history.add(&[d, config.block_inputs(block)]);
        }
        reading.check(&node.at, field.get(), history.get())?;
        let weights = body.weights(config.weight_count())?;
        // The layers' sizes are known to fit now, so the variances can be found and checked.
        let model = Self { config, weights };
        model.check_variances(body)?;
        Ok(model)
    }

    /// A batch norm divides by the root of variance + epsilon.
    fn check_variances(&self, body: &Body<'_>) -> Result<(), ProfileError> {
        if !self.config.batchnorm {
            return Ok(());
        }
        let c = self.config.channels;
        let mut start = 0;
        for block in 0..self.config.dilations.len() {
            let norm = start + c * (self.config.block_inputs(block) / self.config.groups) * ConvNetConfig::TAPS;
            let eps = self.weights[norm + 4 * c];
            for i in norm + c..norm + 2 * c {
                let sum = self.weights[i] + eps;
                if sum <= 0.0 || !sum.is_finite() {
                    return Err(ProfileError::Range {
                        at: body.weights.at.index(i),
                        got: self.weights[i].to_string(),
                        expected: format!("a variance which is positive with the batch norm's epsilon {eps}"),
                    });
                }
            }
            start = norm + 4 * c + 1;
        }
        Ok(())
    }
}

#[allow(clippy::cast_possible_truncation, reason = "rounding to f32 is meant")]
fn round(v: f64) -> f32 {
    v as f32
}
