//! The WaveNet architecture.

use super::activation::Activation;
use super::conv::{Conv, History, Shape};
use super::layer::Layer;
use super::{Condition, HeadOut, HeadSum, Input, Network, Options, Output};
use crate::cursor::Cursor;
use crate::profile::{ArrayConfig, PostHead, ProfileError, WaveNet as Spec};
use forge::axes::{Channel, Time};
use forge::prelude::*;

/// The weights of a WaveNet.
pub(super) struct WaveNet {
    condition: Option<Box<Network>>,
    first: Conv<Input, Channel>,
    arrays: Vec<Array>,
    scale: f32,
    stages: Vec<Stage>,
}

/// Layers of the same channels.
struct Array {
    /// From the residual of the array before; the first array has [`WaveNet::first`] in its place.
    rechannel: Option<Conv<HeadOut, Channel>>,
    layers: Vec<Layer>,
    head: Conv<HeadSum, HeadOut>,
}

/// One stage after the head's scale: an activation, then a convolution.
struct Stage {
    activation: Activation<HeadSum>,
    conv: Conv<HeadSum, HeadOut>,
}

/// The past of every convolution of a WaveNet.
#[derive(Clone)]
pub(super) struct State {
    condition: Option<Box<super::State>>,
    arrays: Vec<(Vec<History<Channel>>, History<HeadSum>)>,
    stages: Vec<History<HeadSum>>,
}

impl WaveNet {
    pub(super) fn new(spec: &Spec, options: Options) -> Result<Self, ProfileError> {
        let config = &spec.config;
        let condition = config.condition.as_ref().map(|p| Network::new(p, options).map(Box::new)).transpose()?;
        let mut weights = Cursor::new(&spec.weights);
        let mut first = None;
        let mut arrays = Vec::with_capacity(config.arrays.len());
        for array in &config.arrays {
            let into = Shape::pointwise(array.input_size, array.channels, 1);
            let mut rechannel = None;
            if first.is_none() {
                first = Some(Conv::read(&mut weights, into, false)?);
            } else {
                rechannel = Some(Conv::read(&mut weights, into, false)?);
            }
            arrays.push(Array::read(&mut weights, array, rechannel, options)?);
        }
        let mut stages = Vec::new();
        if let (Some(head), Some(last)) = (&config.post_head, config.arrays.last()) {
            for i in 0..head.kernel_sizes.len() {
                stages.push(Stage::read(&mut weights, head, i, last.head.out_channels, options)?);
            }
        }
        let scale = weights.take(1)?[0];
        weights.done()?;
        let Some(first) = first else {
            return Err(ProfileError::Unsupported {
                at: crate::profile::JsonPath::default(),
                feature: "a WaveNet without layers".to_owned(),
            });
        };
        Ok(Self { condition, first, arrays, scale, stages })
    }

    pub(super) fn state(&self) -> State {
        State {
            condition: self.condition.as_ref().map(|m| Box::new(m.state())),
            arrays: self
                .arrays
                .iter()
                .map(|a| (a.layers.iter().map(Layer::history).collect(), a.head.history()))
                .collect(),
            stages: self.stages.iter().map(|s| s.conv.history()).collect(),
        }
    }

    pub(super) fn run(&self, x: &Tensor<(Time, Input)>, state: &mut State) -> Tensor<(Time, Output)> {
        let condition = match (&self.condition, &mut state.condition) {
            (Some(network), Some(state)) => network.run(x, state).rename(Output, Condition),
            _ => x.rename(Input, Condition),
        };
        let mut residual = self.first.point(x);
        let mut head: Option<Tensor<(Time, HeadOut)>> = None;
        for (array, (layers, past)) in self.arrays.iter().zip(&mut state.arrays) {
            if let Some(rechannel) = &array.rechannel {
                residual = rechannel.point(&residual.rename(Channel, HeadOut));
            }
            let start = head.map(|h| h.rename(HeadOut, HeadSum));
            let sum;
            (residual, sum) = array.run(residual, start, &condition, layers);
            head = Some(array.head.run(&sum, past));
        }
        let head = head.expect("a WaveNet has at least one array");
        let mut y = head * self.scale;
        for (stage, past) in self.stages.iter().zip(&mut state.stages) {
            y = stage.conv.run(&stage.activation.run(&y.rename(HeadOut, HeadSum)), past);
        }
        y.rename(HeadOut, Output)
    }
}

impl Array {
    fn read(
        weights: &mut Cursor<'_>,
        config: &ArrayConfig,
        rechannel: Option<Conv<HeadOut, Channel>>,
        options: Options,
    ) -> Result<Self, ProfileError> {
        let layers = config.layers.iter().map(|layer| Layer::read(weights, config, layer, options));
        let layers = layers.collect::<Result<_, _>>()?;
        let shape = Shape {
            from: config.head_inputs(),
            to: config.head.out_channels,
            taps: config.head.kernel_size,
            dilation: config.head.dilation,
            groups: 1,
        };
        Ok(Self { rechannel, layers, head: Conv::read(weights, shape, config.head.bias)? })
    }

    /// The residual after the last layer, and the sum that `start` begins.
    fn run(
        &self,
        mut x: Tensor<(Time, Channel)>,
        start: Option<Tensor<(Time, HeadSum)>>,
        condition: &Tensor<(Time, Condition)>,
        past: &mut [History<Channel>],
    ) -> (Tensor<(Time, Channel)>, Tensor<(Time, HeadSum)>) {
        let mut sum = start;
        for (layer, past) in self.layers.iter().zip(past) {
            let part;
            (x, part) = layer.run(x, condition, past);
            sum = Some(match sum {
                Some(sum) => sum + part,
                None => part,
            });
        }
        (x, sum.expect("an array has at least one layer"))
    }
}

impl Stage {
    fn read(
        weights: &mut Cursor<'_>,
        head: &PostHead,
        stage: usize,
        inputs: usize,
        options: Options,
    ) -> Result<Self, ProfileError> {
        let (from, to) = head.stage(stage, inputs);
        let shape = Shape { from, to, taps: head.kernel_sizes[stage], dilation: 1, groups: 1 };
        Ok(Self { activation: Activation::new(&head.activation, options), conv: Conv::read(weights, shape, true)? })
    }
}
