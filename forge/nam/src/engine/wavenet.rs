//! WaveNets as steps.

use super::layer;
use super::plan::{Builder, Place};
use super::without;
use crate::cursor::Cursor;
use crate::profile::{ArrayConfig, ProfileError, WaveNet};
use forge_kernels::stream::{Conv, ConvShape, Rows};

/// The steps of `net`.
pub(super) fn lower(b: &mut Builder, net: &WaveNet, input: Rows, output: Rows) -> Result<(), ProfileError> {
    let config = &net.config;
    let condition = match &config.condition {
        Some(profile) => {
            let rows = b.layout.rows(profile.channels().1);
            b.network(profile, input, rows)?;
            rows
        }
        None => input,
    };
    let (&scale, weights) = net.weights.split_last().ok_or_else(|| without("a WaveNet without weights"))?;
    let mut weights = Cursor::new(weights);
    // What comes into the next array, and what its head sum begins with.
    let mut x = Place::Rows(input);
    let mut heads = Vec::with_capacity(config.arrays.len());
    for array in &config.arrays {
        heads.push(b.place(array.head_inputs(), head_shape(array).history()));
    }
    let first_stage = config.post_head.as_ref().map_or(0, |h| h.kernel_sizes.len());
    let scaled = match (&config.post_head, config.arrays.last()) {
        (Some(_), Some(last)) if first_stage > 0 => Place::Rows(b.layout.rows(last.head.out_channels)),
        _ => Place::Rows(output),
    };
    for (i, array) in config.arrays.iter().enumerate() {
        let last = i + 1 == config.arrays.len();
        x = layers(b, &mut weights, array, x, condition, heads[i], i == 0, last)?;
        b.written(heads[i]);
        let shape = head_shape(array);
        let mut matrix = weights.take(shape.weights())?.to_vec();
        let mut bias = if array.head.bias { Some(weights.take(shape.outs)?.to_vec()) } else { None };
        if last {
            // The head's scale goes into the last weights before it.
            matrix.iter_mut().chain(bias.iter_mut().flatten()).for_each(|w| *w *= scale);
        }
        let to = if last { scaled } else { heads[i + 1] };
        b.conv(Conv::new(shape, &matrix, bias.as_deref(), None), heads[i], to);
    }
    if let (Some(head), Some(last)) = (&config.post_head, config.arrays.last()) {
        let mut x = scaled;
        for (stage, &taps) in head.kernel_sizes.iter().enumerate() {
            let (ins, outs) = head.stage(stage, last.head.out_channels);
            let shape = ConvShape { ins, outs, taps, dilation: 1, groups: 1 };
            let matrix = weights.take(shape.weights())?;
            let conv = Conv::new(shape, matrix, Some(weights.take(outs)?), None);
            let from = b.place(ins, shape.history());
            let f = b.function(&head.activation);
            b.activate(f, x, from, ins);
            b.written(from);
            let to = if stage + 1 == head.kernel_sizes.len() { output } else { b.layout.rows(outs) };
            x = Place::Rows(to);
            b.conv(conv, from, x);
        }
    }
    weights.done()
}

fn head_shape(array: &ArrayConfig) -> ConvShape {
    ConvShape {
        ins: array.head_inputs(),
        outs: array.head.out_channels,
        taps: array.head.kernel_size,
        dilation: array.head.dilation,
        groups: 1,
    }
}

/// The layers of an array, from its input `x`; returns where its residual ends.
fn layers(
    b: &mut Builder,
    weights: &mut Cursor<'_>,
    array: &ArrayConfig,
    x: Place,
    condition: Rows,
    head: Place,
    begins: bool,
    last: bool,
) -> Result<Place, ProfileError> {
    let into = ConvShape::pointwise(array.input_size, array.channels, 1);
    let into = Conv::new(into, weights.take(into.weights())?, None, None);
    let scratch = layer::Scratch::new(b, array);
    let mut residual = layer::residual(b, array, array.layers.first());
    b.conv(into, x, residual);
    for (i, spec) in array.layers.iter().enumerate() {
        let after = array.layers.get(i + 1);
        // Nobody reads the residual after the last layer of all.
        let next = (after.is_some() || !last).then(|| layer::residual(b, array, after));
        let layer = layer::Layer { array, spec, condition, head, begins: begins && i == 0 };
        layer.lower(b, weights, &scratch, residual, next)?;
        residual = next.unwrap_or(residual);
    }
    Ok(residual)
}
