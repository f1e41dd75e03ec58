//! The Linear architecture.

use super::conv::{Conv, History, Shape};
use super::{Input, Output};
use crate::profile::{Linear as Spec, ProfileError};
use forge::axes::Time;
use forge::prelude::*;

/// One impulse response, for each channel by itself.
pub(super) struct Linear {
    conv: Conv<Input, Output>,
}

impl Linear {
    pub(super) fn new(spec: &Spec) -> Result<Self, ProfileError> {
        let config = &spec.config;
        let taps = config.receptive_field;
        let mut cursor = crate::cursor::Cursor::new(&spec.weights);
        let response = cursor.take(taps)?;
        let bias = if config.bias { cursor.take(1)?[0] } else { 0.0 };
        cursor.done()?;
        let (from, to) = (config.in_channels, config.out_channels);
        // (out, in, tap), where the last tap is the newest sample and the response begins with it. Outputs beyond the
        // inputs are silent.
        let mut weights = vec![0.0; from * to * taps];
        let mut biases = vec![0.0; to];
        for c in 0..from.min(to) {
            let row = &mut weights[(c * from + c) * taps..][..taps];
            for (w, v) in row.iter_mut().rev().zip(response) {
                *w = *v;
            }
            biases[c] = bias;
        }
        Ok(Self { conv: Conv::new(&weights, Some(&biases), Shape { from, to, taps, dilation: 1, groups: 1 }) })
    }

    pub(super) fn state(&self) -> History<Input> {
        self.conv.history()
    }

    pub(super) fn run(&self, x: &Tensor<(Time, Input)>, past: &mut History<Input>) -> Tensor<(Time, Output)> {
        self.conv.run(x, past)
    }
}
