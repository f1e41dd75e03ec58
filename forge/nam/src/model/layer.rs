//! One layer of a WaveNet.

use super::activation::Activation;
use super::conv::{Conv, History, Shape};
use super::film::Film;
use super::{Condition, HeadSum, Mid, Options, Wide};
use crate::cursor::Cursor;
use crate::profile::{ArrayConfig, FilmSlot, Gating, LayerConfig, ProfileError};
use forge::axes::{Channel, Time};
use forge::prelude::*;

/// A dilated convolution, mixed with the condition, activated, and passed on to the residual and to the head.
pub(super) struct Layer {
    conv: Conv<Channel, Wide>,
    mixin: Conv<Condition, Wide>,
    gate: Gate,
    residual: Option<Conv<Mid, Channel>>,
    to_head: Option<Conv<Mid, HeadSum>>,
    films: [Option<Film>; 8],
    /// Channels of the activation.
    mid: usize,
}

enum Gate {
    None(Activation<Mid>),
    Gated(Activation<Mid>, Activation<Mid>),
    Blended(Activation<Mid>, Activation<Mid>),
}

impl Layer {
    pub(super) fn read(
        weights: &mut Cursor<'_>,
        array: &ArrayConfig,
        layer: &LayerConfig,
        options: Options,
    ) -> Result<Self, ProfileError> {
        let (mid, wide) = (array.bottleneck, array.width(layer));
        let shape = Shape {
            from: array.channels,
            to: wide,
            taps: layer.kernel_size,
            dilation: layer.dilation,
            groups: array.groups_input,
        };
        let conv = Conv::read(weights, shape, true)?;
        let mixin = Shape::pointwise(array.condition_size, wide, array.groups_input_mixin);
        let mixin = Conv::read(weights, mixin, false)?;
        let residual = array.layer1x1.map(|g| Conv::read(weights, Shape::pointwise(mid, array.channels, g), true));
        let residual = residual.transpose()?;
        let to_head = array.head1x1.map(|h| Conv::read(weights, Shape::pointwise(mid, h.out_channels, h.groups), true));
        let to_head = to_head.transpose()?;
        let mut films = [const { None }; 8];
        for (film, slot) in films.iter_mut().zip(FilmSlot::ALL) {
            if let Some(spec) = array.film(slot) {
                *film = Some(Film::read(weights, spec, array.condition_size, array.film_width(slot, layer))?);
            }
        }
        let first = Activation::new(&layer.activation, options);
        let gate = match &layer.gating {
            Gating::None => Gate::None(first),
            Gating::Gated(second) => Gate::Gated(first, Activation::new(second, options)),
            Gating::Blended(second) => Gate::Blended(first, Activation::new(second, options)),
        };
        Ok(Self { conv, mixin, gate, residual, to_head, films, mid })
    }

    pub(super) fn history(&self) -> History<Channel> {
        self.conv.history()
    }

    fn film(&self, slot: FilmSlot) -> Option<&Film> {
        self.films[slot as usize].as_ref()
    }

    /// The residual after the layer, and what it gives to the head.
    pub(super) fn run(
        &self,
        x: Tensor<(Time, Channel)>,
        condition: &Tensor<(Time, Condition)>,
        past: &mut History<Channel>,
    ) -> (Tensor<(Time, Channel)>, Tensor<(Time, HeadSum)>) {
        let mut z = match self.film(FilmSlot::ConvPre) {
            Some(film) => self.conv.run(&film.run(&x, condition), past),
            None => self.conv.run(&x, past),
        };
        if let Some(film) = self.film(FilmSlot::ConvPost) {
            z = film.run(&z, condition);
        }
        let mut mix = match self.film(FilmSlot::MixinPre) {
            Some(film) => self.mixin.point(&film.run(condition, condition)),
            None => self.mixin.point(condition),
        };
        if let Some(film) = self.film(FilmSlot::MixinPost) {
            mix = film.run(&mix, condition);
        }
        z = z + mix;
        if let Some(film) = self.film(FilmSlot::ActivationPre) {
            z = film.run(&z, condition);
        }
        let mut a = self.activate(&z);
        if let Some(film) = self.film(FilmSlot::ActivationPost) {
            a = film.run(&a, condition);
        }
        let x = match &self.residual {
            Some(conv) => {
                let mut r = conv.point(&a);
                // The format has this modulation act in blended layers alone; in others its weights are only read.
                if let (Gate::Blended(..), Some(film)) = (&self.gate, self.film(FilmSlot::Layer1x1Post)) {
                    r = film.run(&r, condition);
                }
                x + r
            }
            None => x,
        };
        let head = match &self.to_head {
            Some(conv) => {
                let y = conv.point(&a);
                match self.film(FilmSlot::Head1x1Post) {
                    Some(film) => film.run(&y, condition),
                    None => y,
                }
            }
            None => a.rename(Mid, HeadSum),
        };
        (x, head)
    }

    fn activate(&self, z: &Tensor<(Time, Wide)>) -> Tensor<(Time, Mid)> {
        let half = |i: usize| z.narrow(Wide, i * self.mid..(i + 1) * self.mid).rename(Wide, Mid);
        match &self.gate {
            Gate::None(f) => f.run(&z.rename(Wide, Mid)),
            Gate::Gated(f, g) => f.run(&half(0)) * g.run(&half(1)),
            Gate::Blended(f, g) => {
                let a = half(0);
                let m = g.run(&half(1));
                let dry = (-&m + 1.0) * &a;
                m * f.run(&a) + dry
            }
        }
    }
}
