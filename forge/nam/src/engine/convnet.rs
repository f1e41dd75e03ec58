//! ConvNets as steps.

use super::plan::{Builder, Place};
use crate::cursor::Cursor;
use crate::profile::{ConvNet, ConvNetConfig, ProfileError};
use forge_kernels::stream::{Activation, Conv, ConvShape, Rows};

/// The steps of `net`. Each batch norm is folded into the convolution before it.
pub(super) fn lower(b: &mut Builder, net: &ConvNet, input: Rows, output: Rows) -> Result<(), ProfileError> {
    let config = &net.config;
    let mut weights = Cursor::new(&net.weights);
    let mut convs = Vec::with_capacity(config.dilations.len());
    for i in 0..config.dilations.len() {
        let (matrix, bias) = config.fold(&mut weights, i)?;
        let shape = ConvShape {
            ins: config.block_inputs(i),
            outs: config.channels,
            taps: ConvNetConfig::TAPS,
            dilation: config.dilations[i],
            groups: config.groups,
        };
        convs.push(Conv::new(shape, &matrix, Some(&bias), None));
    }
    let z = Place::Rows(b.layout.rows(config.channels));
    // Each activation goes into the ring of the next convolution, the last into rows for the head.
    let mut from = Place::Rows(input);
    let mut f = Activation::Identity;
    let mut channels = config.in_channels;
    for conv in convs {
        let to = b.place(channels, conv.shape().history());
        b.activate(f, from, to, channels);
        b.written(to);
        f = b.function(&config.activation);
        channels = conv.shape().outs;
        b.conv(conv, to, z);
        from = z;
    }
    b.activate(f, from, z, channels);
    let shape = ConvShape::pointwise(channels, config.out_channels, 1);
    let matrix = weights.take(shape.weights())?;
    let head = Conv::new(shape, matrix, Some(weights.take(config.out_channels)?), None);
    b.conv(head, z, Place::Rows(output));
    weights.done()
}
