//! The ConvNet architecture.

use super::activation::Activation;
use super::conv::{Conv, History, Shape};
use super::{Input, Mid, Options, Output};
use crate::cursor::Cursor;
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

/// A block's convolution, with its batch norm in it.
fn block(
    weights: &mut Cursor<'_>,
    config: &ConvNetConfig,
    i: usize,
) -> Result<(Vec<f32>, Vec<f32>, Shape), ProfileError> {
    let (matrix, bias) = config.fold(weights, i)?;
    let (from, to, groups) = (config.block_inputs(i), config.channels, config.groups);
    Ok((matrix, bias, Shape { from, to, taps: ConvNetConfig::TAPS, dilation: config.dilations[i], groups }))
}
