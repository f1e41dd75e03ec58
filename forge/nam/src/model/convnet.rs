//! The ConvNet architecture.

use super::activation::Activation;
use super::conv::{Conv, History, Shape};
use super::cursor::Cursor;
use super::{Input, Mid, Options, Output};
use crate::profile::{ConvNet as Spec, ConvNetConfig, ProfileError};
use forge::axes::{Channel, Time};
use forge::prelude::*;

/// The weights of a ConvNet. Each batch norm is folded into the convolution before it.
pub(super) struct ConvNet {
    first: Conv<Input, Mid>,
    others: Vec<Conv<Channel, Mid>>,
    activation: Activation<Mid>,
    head: Conv<Mid, Output>,
}

/// The past of every convolution of a ConvNet.
#[derive(Clone)]
pub(super) struct State {
    first: History<Input>,
    others: Vec<History<Channel>>,
}

impl ConvNet {
    pub(super) fn new(spec: &Spec, options: Options) -> Result<Self, ProfileError> {
        let config = &spec.config;
        let mut weights = Cursor::new(&spec.weights);
        let (matrix, bias, shape) = block(&mut weights, config, 0)?;
        let first = Conv::new(&matrix, Some(&bias), shape);
        let mut others = Vec::new();
        for i in 1..config.dilations.len() {
            let (matrix, bias, shape) = block(&mut weights, config, i)?;
            others.push(Conv::new(&matrix, Some(&bias), shape));
        }
        let head = Conv::read(&mut weights, Shape::pointwise(config.channels, config.out_channels, 1), true)?;
        weights.done()?;
        Ok(Self { first, others, activation: Activation::new(&config.activation, options), head })
    }

    pub(super) fn state(&self) -> State {
        State { first: self.first.history(), others: self.others.iter().map(Conv::history).collect() }
    }

    pub(super) fn run(&self, x: &Tensor<(Time, Input)>, state: &mut State) -> Tensor<(Time, Output)> {
        let mut y = self.activation.run(&self.first.run(x, &mut state.first));
        for (conv, past) in self.others.iter().zip(&mut state.others) {
            y = self.activation.run(&conv.run(&y.rename(Mid, Channel), past));
        }
        self.head.point(&y)
    }
}

/// Weights and biases of a block's convolution.
fn block(
    weights: &mut Cursor<'_>,
    config: &ConvNetConfig,
    i: usize,
) -> Result<(Vec<f32>, Vec<f32>, Shape), ProfileError> {
    let shape = Shape {
        from: config.block_inputs(i),
        to: config.channels,
        taps: ConvNetConfig::TAPS,
        dilation: config.dilations[i],
        groups: config.groups,
    };
    let per_out = (shape.from / shape.groups) * shape.taps;
    let mut matrix = weights.take(per_out * shape.to)?.to_vec();
    if !config.batchnorm {
        return Ok((matrix, weights.take(shape.to)?.to_vec(), shape));
    }
    let [mean, variance, gain, shift] = [0; 4].map(|_| weights.take(shape.to));
    let (mean, variance, gain, shift) = (mean?, variance?, gain?, shift?);
    let epsilon = f64::from(weights.take(1)?[0]);
    let mut bias = Vec::with_capacity(shape.to);
    for o in 0..shape.to {
        let scale = f64::from(gain[o]) / (f64::from(variance[o]) + epsilon).sqrt();
        for w in &mut matrix[o * per_out..(o + 1) * per_out] {
            *w = round(f64::from(*w) * scale);
        }
        bias.push(round(f64::from(shift[o]) - scale * f64::from(mean[o])));
    }
    Ok((matrix, bias, shape))
}

#[allow(clippy::cast_possible_truncation, reason = "rounding to f32 is meant")]
fn round(v: f64) -> f32 {
    v as f32
}
