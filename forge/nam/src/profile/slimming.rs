//! Cutting a WaveNet to the channels that a quality asks for.

use super::{Activation, FilmSlot, Gating, WaveNet, WaveNetConfig};
use std::borrow::Cow;

impl WaveNet {
    /// This network with each array that can be cut at the count of channels that `quality` (in 0..1) asks for: the leading
    /// channels of everything are kept as they are. `None` asks for all.
    pub(crate) fn slimmed(&self, quality: Option<f64>) -> Cow<'_, Self> {
        let full = self.config.arrays.iter().map(|a| a.channels).collect::<Vec<_>>();
        let kept: Vec<usize> = self
            .config
            .arrays
            .iter()
            .map(|a| match (&a.slimming, quality) {
                (Some(s), Some(q)) => pick(&s.allowed_channels, q),
                _ => a.channels,
            })
            .collect();
        if kept == full { Cow::Borrowed(self) } else { Cow::Owned(self.cut(&kept)) }
    }

    /// With `kept[i]` channels in array `i`. The file is parsed, so the weights are there.
    fn cut(&self, kept: &[usize]) -> Self {
        let mut cutter = Cutter { from: &self.weights, to: Vec::new() };
        let mut arrays = Vec::with_capacity(kept.len());
        for (i, a) in self.config.arrays.iter().enumerate() {
            let mut slim = a.clone();
            slim.channels = kept[i];
            if i > 0 {
                slim.input_size = kept[i - 1];
            }
            slim.bottleneck = match a.layer1x1 {
                Some(_) => (a.bottleneck * kept[i] / a.channels).max(1),
                None => kept[i],
            };
            slim.head.out_channels = kept.get(i + 1).copied().unwrap_or(a.head.out_channels);
            cutter.matrix((a.channels, slim.channels), (a.input_size, slim.input_size), 1);
            for slim_layer in &mut slim.layers {
                for f in [Some(&mut slim_layer.activation), second(&mut slim_layer.gating)].into_iter().flatten() {
                    if let Activation::PRelu { slopes } = f
                        && slopes.len() > slim.bottleneck
                    {
                        *slopes = slopes[..slim.bottleneck].into();
                    }
                }
            }
            for (layer, slim_layer) in a.layers.iter().zip(&slim.layers) {
                let wide = (a.width(layer), slim.width(slim_layer));
                let (channels, mid) = ((a.channels, slim.channels), (a.bottleneck, slim.bottleneck));
                cutter.matrix(wide, channels, layer.kernel_size);
                cutter.row(wide);
                cutter.matrix(wide, (a.condition_size, a.condition_size), 1);
                if a.layer1x1.is_some() {
                    cutter.matrix(channels, mid, 1);
                    cutter.row(channels);
                }
                if let Some(head) = a.head1x1 {
                    cutter.matrix((head.out_channels, head.out_channels), mid, 1);
                    cutter.row((head.out_channels, head.out_channels));
                }
                for slot in FilmSlot::ALL {
                    if let Some(film) = a.film(slot) {
                        let outs = film.outputs(a.film_width(slot, layer));
                        let slim_outs = film.outputs(slim.film_width(slot, slim_layer));
                        cutter.matrix((outs, slim_outs), (a.condition_size, a.condition_size), 1);
                        cutter.row((outs, slim_outs));
                    }
                }
            }
            let outs = (a.head.out_channels, slim.head.out_channels);
            cutter.matrix(outs, (a.head_inputs(), slim.head_inputs()), a.head.kernel_size);
            if a.head.bias {
                cutter.row(outs);
            }
            arrays.push(slim);
        }
        // The head's scale; arrays that can be cut stand beside no post head.
        cutter.row((cutter.from.len(), cutter.from.len()));
        Self { config: WaveNetConfig { arrays, ..self.config.clone() }, weights: cutter.to }
    }
}

fn second(gating: &mut Gating) -> Option<&mut Activation> {
    match gating {
        Gating::None => None,
        Gating::Gated(f) | Gating::Blended(f) => Some(f),
    }
}

/// The count that stands where `quality` falls among them.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a few counts")]
fn pick(allowed: &[usize], quality: f64) -> usize {
    let at = (quality.clamp(0.0, 1.0) * allowed.len() as f64) as usize;
    allowed[at.min(allowed.len() - 1)]
}

/// Takes weights in the file's order and keeps the leading ones. Sizes are (all, kept).
struct Cutter<'a> {
    from: &'a [f32],
    to: Vec<f32>,
}

impl Cutter<'_> {
    fn matrix(&mut self, outs: (usize, usize), ins: (usize, usize), taps: usize) {
        let (taken, rest) = self.from.split_at(outs.0 * ins.0 * taps);
        for row in taken.chunks(ins.0 * taps).take(outs.1) {
            self.to.extend_from_slice(&row[..ins.1 * taps]);
        }
        self.from = rest;
    }

    fn row(&mut self, count: (usize, usize)) {
        self.matrix(count, (1, 1), 1);
    }
}
