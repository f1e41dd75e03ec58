//! The WaveNet architecture: its configuration, its sizes, and the order of its weights.

use super::Profile;
use super::activation::Activation;
use super::tally::Tally;

/// Arrays of layers of dilated causal convolutions, with residual sums and head sums.
///
/// Weights, for each array: the 1x1 convolution into it (channels, input_size), without bias; for each layer the dilated
/// convolution (width, channels / groups, taps) and its biases, the mix-in of the condition (width, condition_size /
/// groups), the 1x1 back into the residual and its biases if there is one, the 1x1 to the head and its biases if there is
/// one, then the FiLMs that are on, in the order of [`FilmSlot::ALL`], each a matrix and its biases; after the layers the
/// array's head (out_channels, width, taps) and its biases if it has them. After the arrays the convolutions of the post
/// head, each with biases. The last number is the head's scale. A layer's width is its bottleneck, or twice that if it is
/// gated. In a grouped convolution the order is group, output of the group, input of the group, tap.
#[derive(Clone, Debug)]
pub struct WaveNet {
    /// The sizes and functions.
    pub config: WaveNetConfig,
    /// The weights, in the file's order. The last is the scale of the head's output.
    pub weights: Vec<f32>,
}

/// The configuration of a [`WaveNet`].
#[derive(Clone, Debug)]
pub struct WaveNetConfig {
    /// Channels in.
    pub in_channels: usize,
    /// A profile of its own that makes the condition from the input. Without it the condition is the input.
    pub condition: Option<Box<Profile>>,
    /// The arrays, in order.
    pub arrays: Vec<ArrayConfig>,
    /// Convolutions after the head's scale.
    pub post_head: Option<PostHead>,
    /// The scale as the configuration states it. The last weight rules.
    pub head_scale: f32,
}

/// Layers of the same channels, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayConfig {
    /// Channels of what comes in: the input, or the residual of the array before.
    pub input_size: usize,
    /// Channels of the condition.
    pub condition_size: usize,
    /// Channels of the residual.
    pub channels: usize,
    /// Channels of what a layer's activation gives.
    pub bottleneck: usize,
    /// The layers.
    pub layers: Vec<LayerConfig>,
    /// Groups of the dilated convolutions.
    pub groups_input: usize,
    /// Groups of the mix-ins.
    pub groups_input_mixin: usize,
    /// Groups of the 1x1 back into the residual, if there is one.
    pub layer1x1: Option<usize>,
    /// The 1x1 to the head sum, if there is one.
    pub head1x1: Option<Head1x1>,
    /// Modulations by the condition, each on or off.
    pub films: [Option<Film>; 8],
    /// The convolution of the head sum.
    pub head: ArrayHead,
    /// How the array can be cut to fewer channels.
    pub slimming: Option<Slimming>,
}

/// One layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerConfig {
    /// Taps of its convolution.
    pub kernel_size: usize,
    /// Distance of the taps in samples.
    pub dilation: usize,
    /// Its activation.
    pub activation: Activation,
    /// What its second half of channels does, if it has one.
    pub gating: Gating,
}

/// What a layer does with the activated first half `a` of its channels and the second half `b`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Gating {
    /// There is no second half.
    None,
    /// activation(a) * gate(b).
    Gated(Activation),
    /// With m = mix(b): m * activation(a) + (1 - m) * a.
    Blended(Activation),
}

/// The 1x1 convolution of each layer to the head sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head1x1 {
    /// Channels of the head sum.
    pub out_channels: usize,
    /// Groups.
    pub groups: usize,
}

/// A modulation by the condition: y = x * scale(c) + shift(c), both 1x1 convolutions of the condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Film {
    /// Whether there is a shift.
    pub shift: bool,
    /// Groups of its convolution.
    pub groups: usize,
}

/// Where in a layer a [`Film`] stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilmSlot {
    /// On the residual, before the convolution.
    ConvPre,
    /// After the convolution.
    ConvPost,
    /// On the condition, before the mix-in.
    MixinPre,
    /// After the mix-in.
    MixinPost,
    /// On the sum of both, before the activation.
    ActivationPre,
    /// After the activation (and the gate).
    ActivationPost,
    /// After the 1x1 back into the residual. It acts only in blended layers; elsewhere its weights are passed over.
    Layer1x1Post,
    /// After the 1x1 to the head sum.
    Head1x1Post,
}

impl FilmSlot {
    /// All slots, in the order of their weights.
    pub const ALL: [Self; 8] = [
        Self::ConvPre,
        Self::ConvPost,
        Self::MixinPre,
        Self::MixinPost,
        Self::ActivationPre,
        Self::ActivationPost,
        Self::Layer1x1Post,
        Self::Head1x1Post,
    ];

    /// Its key in an array's configuration.
    pub fn key(self) -> &'static str {
        match self {
            Self::ConvPre => "conv_pre_film",
            Self::ConvPost => "conv_post_film",
            Self::MixinPre => "input_mixin_pre_film",
            Self::MixinPost => "input_mixin_post_film",
            Self::ActivationPre => "activation_pre_film",
            Self::ActivationPost => "activation_post_film",
            Self::Layer1x1Post => "layer1x1_post_film",
            Self::Head1x1Post => "head1x1_post_film",
        }
    }
}

/// The convolution that makes an array's output for the head from its head sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayHead {
    /// Channels out.
    pub out_channels: usize,
    /// Taps.
    pub kernel_size: usize,
    /// Distance of the taps in samples.
    pub dilation: usize,
    /// Whether it has biases.
    pub bias: bool,
}

/// Stages of activation, then convolution, after the head's scale.
#[derive(Clone, Debug, PartialEq)]
pub struct PostHead {
    /// Channels between the stages.
    pub channels: usize,
    /// Channels of the last stage.
    pub out_channels: usize,
    /// Taps of each stage.
    pub kernel_sizes: Vec<usize>,
    /// The activation before each convolution.
    pub activation: Activation,
}

/// How an array can be cut: its leading channels are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slimming {
    /// The counts of channels it can be cut to, rising; the last is all of them.
    pub allowed_channels: Vec<usize>,
}

impl Gating {
    /// Channels of the convolution for each channel of the activation.
    pub fn factor(&self) -> usize {
        if matches!(self, Self::None) { 1 } else { 2 }
    }
}

impl ArrayConfig {
    /// The modulation in a slot, if it is on.
    pub fn film(&self, slot: FilmSlot) -> Option<Film> {
        self.films[slot as usize]
    }

    /// Channels that the modulation in `slot` of `layer` acts on.
    pub fn film_width(&self, slot: FilmSlot, layer: &LayerConfig) -> usize {
        match slot {
            FilmSlot::ConvPre | FilmSlot::Layer1x1Post => self.channels,
            FilmSlot::MixinPre => self.condition_size,
            FilmSlot::ConvPost | FilmSlot::MixinPost | FilmSlot::ActivationPre => self.width(layer),
            FilmSlot::ActivationPost => self.bottleneck,
            FilmSlot::Head1x1Post => self.head_inputs(),
        }
    }

    /// Channels of a layer's convolution: the bottleneck, twice if it is gated.
    pub fn width(&self, layer: &LayerConfig) -> usize {
        layer.gating.factor() * self.bottleneck
    }

    /// Channels of the head sum.
    pub fn head_inputs(&self) -> usize {
        self.head1x1.map_or(self.bottleneck, |h| h.out_channels)
    }

    fn count(&self, t: &mut Tally) {
        t.add(&[self.channels, self.input_size]);
        for layer in &self.layers {
            let width = self.width(layer);
            t.add(&[width, self.channels / self.groups_input, layer.kernel_size]);
            t.add(&[width]);
            t.add(&[width, self.condition_size / self.groups_input_mixin]);
            if let Some(groups) = self.layer1x1 {
                t.add(&[self.channels, self.bottleneck / groups]);
                t.add(&[self.channels]);
            }
            if let Some(head) = self.head1x1 {
                t.add(&[head.out_channels, self.bottleneck / head.groups]);
                t.add(&[head.out_channels]);
            }
            for slot in FilmSlot::ALL {
                if let Some(film) = self.film(slot) {
                    let width = film.outputs(self.film_width(slot, layer));
                    t.add(&[width, self.condition_size / film.groups]);
                    t.add(&[width]);
                }
            }
        }
        t.add(&[self.head.out_channels, self.head_inputs(), self.head.kernel_size]);
        if self.head.bias {
            t.add(&[self.head.out_channels]);
        }
    }
}

impl Film {
    /// Channels of its convolution for `width` channels to act on.
    pub fn outputs(self, width: usize) -> usize {
        if self.shift { 2 * width } else { width }
    }
}

impl PostHead {
    /// Channels in and out of stage `stage`, where `inputs` come into the first.
    pub fn stage(&self, stage: usize, inputs: usize) -> (usize, usize) {
        let last = stage + 1 == self.kernel_sizes.len();
        (if stage == 0 { inputs } else { self.channels }, if last { self.out_channels } else { self.channels })
    }
}

impl WaveNetConfig {
    /// Channels out.
    pub fn out_channels(&self) -> usize {
        match (&self.post_head, self.arrays.last()) {
            (Some(head), _) => head.out_channels,
            (None, Some(array)) => array.head.out_channels,
            (None, None) => 0,
        }
    }

    /// Channels of the condition.
    pub fn condition_channels(&self) -> usize {
        self.condition.as_ref().map_or(self.in_channels, |profile| profile.channels().1)
    }

    /// How many weights it has, its condition model's not counted.
    pub(super) fn weight_count(&self) -> usize {
        let mut t = Tally::zero();
        for array in &self.arrays {
            array.count(&mut t);
        }
        if let Some(head) = &self.post_head {
            let inputs = self.arrays.last().map_or(0, |a| a.head.out_channels);
            for (i, &taps) in head.kernel_sizes.iter().enumerate() {
                let (from, to) = head.stage(i, inputs);
                t.add(&[to, from, taps]);
                t.add(&[to]);
            }
        }
        t.add(&[1]);
        t.count()
    }

    /// How many samples before the present one its output depends on (not counting the condition model), and how many
    /// past values all its convolutions keep together.
    pub(super) fn memory(&self) -> (Tally, Tally) {
        let (mut field, mut history) = (Tally::zero(), Tally::zero());
        let mut conv = |taps: usize, dilation: usize, channels: usize| {
            field.add(&[dilation, taps - 1]);
            history.add(&[dilation, taps - 1, channels]);
        };
        for array in &self.arrays {
            for layer in &array.layers {
                conv(layer.kernel_size, layer.dilation, array.channels);
            }
            conv(array.head.kernel_size, array.head.dilation, array.head_inputs());
        }
        if let Some(head) = &self.post_head {
            let inputs = self.arrays.last().map_or(0, |a| a.head.out_channels);
            for (i, &taps) in head.kernel_sizes.iter().enumerate() {
                conv(taps, 1, head.stage(i, inputs).0);
            }
        }
        (field, history)
    }

    /// Samples of silence until its state is that of endless silence.
    pub(super) fn prewarm_samples(&self) -> usize {
        let own = self.memory().0.count();
        self.condition.as_ref().map_or(1, |profile| profile.prewarm_samples()).saturating_add(own)
    }
}
