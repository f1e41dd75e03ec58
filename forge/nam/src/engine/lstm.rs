//! LSTMs as steps.

use super::plan::{Builder, CellInput, Step};
use crate::cursor::Cursor;
use crate::profile::{Lstm as Spec, ProfileError};
use forge_kernels::stream::{Lstm, PACK, Rows};

/// The steps of `net`.
pub(super) fn lower(b: &mut Builder, net: &Spec, input: Rows, output: Rows) -> Result<(), ProfileError> {
    let config = &net.config;
    let hidden = config.hidden_size;
    let mut weights = Cursor::new(&net.weights);
    let mut from = CellInput::Rows(input);
    let mut layer = b.steps.len();
    for i in 0..config.num_layers {
        let ins = config.layer_inputs(i);
        let matrix = weights.take(4 * hidden * (ins + hidden))?;
        let bias = weights.take(4 * hidden)?;
        let cells = Lstm::new(ins, hidden, matrix, bias, b.options.fast_tanh, &mut b.layout);
        layer = b.steps.len();
        let (h, c) = (weights.take(hidden)?.to_vec(), weights.take(hidden)?.to_vec());
        b.starts.push((layer, h, c));
        b.steps.push(Step::Cells { cells, from });
        from = CellInput::Layer(layer);
    }
    // The head reads whole packs of units.
    let mut packed = Vec::new();
    for row in weights.take(config.out_channels * hidden)?.chunks(hidden) {
        packed.extend_from_slice(row);
        packed.resize(packed.len().next_multiple_of(PACK), 0.0);
    }
    let bias = weights.take(config.out_channels)?;
    b.steps.push(Step::CellHead { layer, weights: packed.into(), bias: bias.into(), to: output });
    weights.done()
}
