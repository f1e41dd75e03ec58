//! One layer of a WaveNet as steps.

use super::plan::{Builder, Gated, Joins, Place, Step};
use crate::cursor::Cursor;
use crate::profile::{ArrayConfig, FilmSlot, Gating, LayerConfig, ProfileError};
use forge_kernels::stream::{Activation, Conv, ConvShape, Film, Rows};

/// Rows that the layers of an array write one after the other.
pub(super) struct Scratch {
    /// The convolution, and the activation in its place.
    wide: Rows,
    /// A second signal as wide as any.
    other: Rows,
}

impl Scratch {
    pub(super) fn new(b: &mut Builder, array: &ArrayConfig) -> Self {
        let wide = array.layers.iter().map(|l| array.width(l)).max().unwrap_or(0);
        let most = wide.max(array.channels).max(array.condition_size).max(array.head_inputs());
        Self { wide: b.layout.rows(wide), other: b.layout.rows(most) }
    }
}

/// Where the residual before `layer` stands: in the ring that its convolution reads, unless something is done to it first.
pub(super) fn residual(b: &mut Builder, array: &ArrayConfig, layer: Option<&LayerConfig>) -> Place {
    match layer {
        Some(layer) if array.film(FilmSlot::ConvPre).is_none() => {
            b.place(array.channels, shape(array, layer).history())
        }
        _ => Place::Rows(b.layout.rows(array.channels)),
    }
}

fn shape(array: &ArrayConfig, layer: &LayerConfig) -> ConvShape {
    ConvShape {
        ins: array.channels,
        outs: array.width(layer),
        taps: layer.kernel_size,
        dilation: layer.dilation,
        groups: array.groups_input,
    }
}

/// A layer and what stands around it.
pub(super) struct Layer<'a> {
    pub(super) array: &'a ArrayConfig,
    pub(super) spec: &'a LayerConfig,
    pub(super) condition: Rows,
    /// Where the head sum is.
    pub(super) head: Place,
    /// Whether this layer is the first of the sum.
    pub(super) begins: bool,
}

impl Layer<'_> {
    /// The steps from the residual `x` to the residual `next`, if somebody reads that, and into the head sum.
    pub(super) fn lower(
        &self,
        b: &mut Builder,
        weights: &mut Cursor<'_>,
        scratch: &Scratch,
        x: Place,
        next: Option<Place>,
    ) -> Result<(), ProfileError> {
        let Self { array, spec, condition, .. } = *self;
        let (mid, wide) = (array.bottleneck, array.width(spec));
        let shape = shape(array, spec);
        let matrix = weights.take(shape.weights())?;
        let bias = weights.take(wide)?;
        let mix = weights.take(wide * (array.condition_size / array.groups_input_mixin))?;
        let pointwise = |weights: &mut Cursor<'_>, outs, groups| {
            let shape = ConvShape::pointwise(mid, outs, groups);
            let matrix = weights.take(shape.weights())?;
            Ok::<_, ProfileError>(Conv::new(shape, matrix, Some(weights.take(outs)?), None))
        };
        let back = array.layer1x1.map(|groups| pointwise(weights, array.channels, groups)).transpose()?;
        let to_head = array.head1x1.map(|h| pointwise(weights, h.out_channels, h.groups)).transpose()?;
        let mut films = [const { None }; 8];
        for (film, slot) in films.iter_mut().zip(FilmSlot::ALL) {
            if let Some(f) = array.film(slot) {
                let width = array.film_width(slot, spec);
                let outs = f.outputs(width);
                let matrix = weights.take(outs * (array.condition_size / f.groups))?;
                let bias = weights.take(outs)?;
                *film = Some(Film::new(width, array.condition_size, f.groups, f.shift, matrix, bias));
            }
        }
        let [conv_pre, conv_post, mixin_pre, mixin_post, activation_pre, activation_post, back_post, head_post] = films;
        let (z, other) = (Place::Rows(scratch.wide), Place::Rows(scratch.other));
        let film = |b: &mut Builder, film: Film, from, add, to| {
            b.steps.push(Step::Film { film, condition, from, add, to });
        };

        // The convolution, from the residual or from what the first modulation makes of it.
        let from = match conv_pre {
            Some(f) => {
                let to = b.place(array.channels, shape.history());
                film(b, f, x, None, to);
                to
            }
            None => x,
        };
        b.written(from);
        let mix_spec = (array.condition_size, array.groups_input_mixin, mix);
        if conv_post.is_none() && mixin_pre.is_none() && mixin_post.is_none() {
            let conv = Conv::new(shape, matrix, Some(bias), Some(mix_spec));
            b.steps.push(Step::Conv { conv, from, mix: Some(condition), add: None, to: z });
        } else {
            b.conv(Conv::new(shape, matrix, Some(bias), None), from, z);
            if let Some(f) = conv_post {
                film(b, f, z, None, z);
            }
            let mut steer = Place::Rows(condition);
            if let Some(f) = mixin_pre {
                film(b, f, steer, None, other);
                steer = other;
            }
            let mixin = ConvShape::pointwise(array.condition_size, wide, array.groups_input_mixin);
            let mixin = Conv::new(mixin, mix, None, None);
            match mixin_post {
                Some(f) => {
                    let mixed = Place::Rows(b.layout.rows(wide));
                    b.conv(mixin, steer, mixed);
                    film(b, f, mixed, Some(z), z);
                }
                None => b.steps.push(Step::Conv { conv: mixin, from: steer, mix: None, add: Some(z), to: z }),
            }
        }
        if let Some(f) = activation_pre {
            film(b, f, z, None, z);
        }

        // The activation, in place, and the head sum if nothing is done to it on the way.
        let half = scratch.wide.from(mid);
        let (gate, second) = match &spec.gating {
            Gating::None => (Gated::None, None),
            Gating::Gated(f) => (Gated::Times(half), Some(f)),
            Gating::Blended(f) => (Gated::Blend(half), Some(f)),
        };
        if let Some(f) = second {
            let f = b.function(f);
            b.activate(f, Place::Rows(half), Place::Rows(half), mid);
        }
        let join = if self.begins { Joins::Begin(self.head) } else { Joins::Add(self.head) };
        let direct = to_head.is_none() && activation_post.is_none();
        let f = b.function(&spec.activation);
        let head = if direct { join } else { Joins::None };
        b.steps.push(Step::Activate { f, from: z, gate, to: z, head, channels: mid });
        if let Some(f) = activation_post {
            film(b, f, z, None, z);
        }
        let add = (!self.begins).then_some(self.head);
        match (to_head, head_post) {
            (Some(conv), None) => b.steps.push(Step::Conv { conv, from: z, mix: None, add, to: self.head }),
            (Some(conv), Some(f)) => {
                b.conv(conv, z, other);
                film(b, f, other, add, self.head);
            }
            (None, _) if !direct => {
                let f = Activation::Identity;
                b.steps.push(Step::Activate { f, from: z, gate: Gated::None, to: z, head: join, channels: mid });
            }
            (None, _) => {}
        }

        // Back into the residual.
        let Some(next) = next else { return Ok(()) };
        match (back, back_post) {
            // The format has this modulation act in blended layers alone; in others its weights are only read.
            (Some(conv), Some(f)) if matches!(spec.gating, Gating::Blended(_)) => {
                b.conv(conv, z, other);
                film(b, f, other, Some(x), next);
            }
            (Some(conv), _) => b.steps.push(Step::Conv { conv, from: z, mix: None, add: Some(x), to: next }),
            (None, _) => b.activate(Activation::Identity, x, next, array.channels),
        }
        Ok(())
    }
}
