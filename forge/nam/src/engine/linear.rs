//! Impulse responses as steps.

use super::plan::{Builder, Place};
use crate::cursor::Cursor;
use crate::profile::{Linear, ProfileError};
use forge_kernels::stream::{Activation, Conv, ConvShape, Rows};

/// The steps of `net`: one response for each channel by itself; outputs beyond the inputs are silent.
pub(super) fn lower(b: &mut Builder, net: &Linear, input: Rows, output: Rows) -> Result<(), ProfileError> {
    let config = &net.config;
    let mut weights = Cursor::new(&net.weights);
    // The response begins with the newest sample, a convolution ends with it.
    let response: Vec<f32> = weights.take(config.receptive_field)?.iter().rev().copied().collect();
    let bias = if config.bias { Some(weights.take(1)?) } else { None };
    weights.done()?;
    let shape = ConvShape { ins: 1, outs: 1, taps: config.receptive_field, dilation: 1, groups: 1 };
    let conv = Conv::new(shape, &response, bias, None);
    for c in 0..config.in_channels.min(config.out_channels) {
        let past = b.place(1, shape.history());
        b.activate(Activation::Identity, Place::Rows(input.from(c)), past, 1);
        b.written(past);
        b.conv(conv.clone(), past, Place::Rows(output.from(c)));
    }
    Ok(())
}
