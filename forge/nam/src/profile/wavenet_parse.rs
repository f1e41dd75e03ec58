//! Reads the configuration of a WaveNet.

use super::activation::Activation;
use super::error::{ProfileError, shown};
use super::json::{Json, Node};
use super::wavenet::{
    ArrayConfig, ArrayHead, Film, FilmSlot, Gating, Head1x1, LayerConfig, PostHead, Slimming, WaveNet, WaveNetConfig,
};
use super::{Body, Limits, Profile, Reading, Warning};

const HEAD_SCALE: &str = " (a number is required, though the last weight is what scales)";
const ARRAY_HEAD: &str = " (or a `head` with out_channels, kernel_size and bias)";

impl WaveNet {
    pub(super) fn read(
        body: &Body<'_>,
        reading: &Reading<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, ProfileError> {
        let config = WaveNetConfig::read(body, reading)?;
        let (field, history) = config.memory();
        reading.check(&body.config.at, field.get(), history.get())?;
        let weights = body.weights(config.weight_count())?;
        if let Some(&weight) = weights.last()
            && weight != config.head_scale
        {
            warnings.push(Warning::HeadScaleDiffers { config: config.head_scale, weight });
        }
        Ok(Self { config, weights })
    }
}

impl WaveNetConfig {
    fn read(body: &Body<'_>, reading: &Reading<'_>) -> Result<Self, ProfileError> {
        let (node, limits) = (&body.config, reading.limits);
        let in_channels = node.get("in_channels")?.map_or(Ok(1), |n| n.size(limits.channels, "channels"))?;
        let head_scale = node.need_hint("head_scale", HEAD_SCALE)?.float()?;
        let condition = node.get("condition_dsp")?.map(|n| condition(&n, in_channels, body, reading)).transpose()?;
        let condition_channels = condition.as_ref().map_or(in_channels, |p| p.channels().1);

        let list = node.need("layers")?;
        let nodes = list.items("a layer array (an object)")?;
        check_layers(&list, nodes.len(), limits)?;
        let mut arrays: Vec<ArrayConfig> = Vec::with_capacity(nodes.len());
        for node in &nodes {
            let array = ArrayConfig::read(node, reading)?;
            array.check(node, arrays.last(), in_channels, condition_channels)?;
            arrays.push(array);
        }
        let last_head = arrays.last().map_or(0, |a| a.head.out_channels);
        let post_head = node.get("head")?.map(|n| PostHead::read(&n, last_head, limits)).transpose()?;
        if post_head.is_some()
            && let Some(i) = arrays.iter().position(|a| a.slimming.is_some())
        {
            return Err(nodes[i].conflict("`slimmable` cannot stand beside a `head` after the arrays"));
        }
        Ok(Self { in_channels, condition, arrays, post_head, head_scale })
    }
}

/// Checks the count of a list that must hold something.
pub(super) fn check_layers(list: &Node<'_>, count: usize, limits: &Limits) -> Result<(), ProfileError> {
    if count == 0 {
        return Err(list.conflict("is empty, but must have at least one entry"));
    }
    if count > limits.layers {
        return Err(ProfileError::TooLarge {
            what: format!("the count of {}", list.at),
            got: count.to_string(),
            limit: limits.layers,
            limit_name: "layers",
        });
    }
    Ok(())
}

fn condition(
    node: &Node<'_>,
    in_channels: usize,
    body: &Body<'_>,
    reading: &Reading<'_>,
) -> Result<Box<Profile>, ProfileError> {
    let profile = Profile::from_node(node, reading)?;
    let inputs = profile.channels().0;
    if inputs != in_channels {
        return Err(
            node.conflict(format!("the condition model takes {inputs} channels, but the input has {in_channels}"))
        );
    }
    if let (Some(a), Some(b)) = (body.sample_rate, profile.sample_rate)
        && a != b
    {
        return Err(node.conflict(format!("the condition model's sample rate {b} is not the profile's {a}")));
    }
    Ok(Box::new(profile))
}

impl ArrayConfig {
    fn read(node: &Node<'_>, reading: &Reading<'_>) -> Result<Self, ProfileError> {
        let limits = reading.limits;
        let size = |key| node.need(key)?.size(limits.channels, "channels");
        let groups = |key| node.get(key)?.map_or(Ok(1), |n| n.size(limits.channels, "channels"));
        let channels = size("channels")?;
        let bottleneck = node.get("bottleneck")?.map_or(Ok(channels), |n| n.size(limits.channels, "channels"))?;
        let mut films = [None; 8];
        for (film, slot) in films.iter_mut().zip(FilmSlot::ALL) {
            *film = node.get(slot.key())?.map(|n| read_film(&n, limits)).transpose()?.flatten();
        }
        Ok(Self {
            input_size: size("input_size")?,
            condition_size: size("condition_size")?,
            channels,
            bottleneck,
            layers: read_layers(node, bottleneck, reading)?,
            groups_input: groups("groups_input")?,
            groups_input_mixin: groups("groups_input_mixin")?,
            layer1x1: match node.get("layer1x1")? {
                None => Some(1),
                Some(n) => read_switch(&n)?.then(|| read_groups(&n, limits)).transpose()?,
            },
            head1x1: match node.get("head1x1")? {
                None => None,
                Some(n) if !read_switch(&n)? => None,
                Some(n) => Some(Head1x1 {
                    out_channels: n.need("out_channels")?.size(limits.channels, "channels")?,
                    groups: read_groups(&n, limits)?,
                }),
            },
            films,
            head: ArrayHead::read(node, limits)?,
            slimming: node.get("slimmable")?.map(|n| read_slimming(&n, channels, limits)).transpose()?.flatten(),
        })
    }

    /// Checks that it fits its surroundings and that its parts fit each other.
    fn check(
        &self,
        node: &Node<'_>,
        before: Option<&Self>,
        in_channels: usize,
        condition_channels: usize,
    ) -> Result<(), ProfileError> {
        let equal = |what: &str, got: usize, other: &str, expected: usize| {
            if got == expected {
                Ok(())
            } else {
                Err(node.conflict(format!("{what} {got} does not equal {other} {expected}")))
            }
        };
        equal("condition_size", self.condition_size, "the condition's channels", condition_channels)?;
        match before {
            None => equal("input_size", self.input_size, "the input's channels", in_channels)?,
            Some(before) => {
                equal("input_size", self.input_size, "the channels of the array before", before.channels)?;
                equal("channels", self.channels, "the head size of the array before", before.head.out_channels)?;
                equal(
                    "the head sum's width",
                    self.head_inputs(),
                    "the head size of the array before",
                    before.head.out_channels,
                )?;
            }
        }
        if self.layer1x1.is_none() {
            equal("bottleneck", self.bottleneck, "channels (needed while layer1x1 is off)", self.channels)?;
        }
        for (slot, part, on) in [
            (FilmSlot::Layer1x1Post, "layer1x1", self.layer1x1.is_some()),
            (FilmSlot::Head1x1Post, "head1x1", self.head1x1.is_some()),
        ] {
            if self.film(slot).is_some() && !on {
                return Err(node.conflict(format!("{} needs {part}, which is off", slot.key())));
            }
        }
        self.check_groups(node)?;
        if self.slimming.is_some() {
            self.check_slimming(node)?;
        }
        Ok(())
    }

    fn check_groups(&self, node: &Node<'_>) -> Result<(), ProfileError> {
        let divides = |key: &str, groups: usize, n: usize, what: &str| {
            if n.is_multiple_of(groups) {
                Ok(())
            } else {
                Err(node.conflict(format!("{key} {groups} does not divide {what} {n}")))
            }
        };
        divides("groups_input", self.groups_input, self.channels, "channels")?;
        divides("groups_input_mixin", self.groups_input_mixin, self.condition_size, "condition_size")?;
        if let Some(groups) = self.layer1x1 {
            divides("layer1x1.groups", groups, self.bottleneck, "bottleneck")?;
            divides("layer1x1.groups", groups, self.channels, "channels")?;
        }
        if let Some(head) = self.head1x1 {
            divides("head1x1.groups", head.groups, self.bottleneck, "bottleneck")?;
            divides("head1x1.groups", head.groups, head.out_channels, "head1x1.out_channels")?;
        }
        for layer in &self.layers {
            divides("groups_input", self.groups_input, self.width(layer), "a layer's width")?;
            divides("groups_input_mixin", self.groups_input_mixin, self.width(layer), "a layer's width")?;
            for slot in FilmSlot::ALL {
                if let Some(film) = self.film(slot) {
                    let key = format!("{}.groups", slot.key());
                    divides(&key, film.groups, self.condition_size, "condition_size")?;
                    divides(&key, film.groups, film.outputs(self.film_width(slot, layer)), "the FiLM's outputs")?;
                }
            }
        }
        Ok(())
    }

    /// Leading channels can be kept only where no group or tap is cut through.
    fn check_slimming(&self, node: &Node<'_>) -> Result<(), ProfileError> {
        let grouped = self.groups_input != 1
            || self.groups_input_mixin != 1
            || self.layer1x1.is_some_and(|groups| groups != 1)
            || self.head1x1.is_some_and(|head| head.groups != 1);
        if grouped {
            return Err(node.conflict("`slimmable` cannot stand beside grouped convolutions"));
        }
        if self.head.kernel_size != 1 {
            return Err(node.conflict(format!("`slimmable` needs a head of one tap, not {}", self.head.kernel_size)));
        }
        Ok(())
    }
}

/// `active` of a layer1x1 or head1x1.
fn read_switch(node: &Node<'_>) -> Result<bool, ProfileError> {
    node.need("active")?.bool()
}

fn read_groups(node: &Node<'_>, limits: &Limits) -> Result<usize, ProfileError> {
    node.need("groups")?.size(limits.channels, "channels")
}

/// `false` is off, `true` or an object is on unless it says `"active": false`.
fn read_film(node: &Node<'_>, limits: &Limits) -> Result<Option<Film>, ProfileError> {
    if let Json::Bool(on) = node.json {
        return Ok(on.then_some(Film { shift: true, groups: 1 }));
    }
    if node.object().is_err() {
        return Err(node.wrong("true, false or an object"));
    }
    let flag = |key| node.get(key)?.map_or(Ok(true), |n| n.bool());
    let (active, shift) = (flag("active")?, flag("shift")?);
    let groups = node.get("groups")?.map_or(Ok(1), |n| n.size(limits.channels, "channels"))?;
    Ok(active.then_some(Film { shift, groups }))
}

impl ArrayHead {
    fn read(node: &Node<'_>, limits: &Limits) -> Result<Self, ProfileError> {
        if let Some(head) = node.get("head")? {
            return Ok(Self {
                out_channels: head.need("out_channels")?.size(limits.channels, "channels")?,
                kernel_size: head.need("kernel_size")?.size(limits.kernel_size, "kernel_size")?,
                dilation: head
                    .get("head_dilation")?
                    .map_or(Ok(1), |n| n.size(limits.receptive_field, "receptive_field"))?,
                bias: head.need("bias")?.bool()?,
            });
        }
        Ok(Self {
            out_channels: node.need_hint("head_size", ARRAY_HEAD)?.size(limits.channels, "channels")?,
            kernel_size: 1,
            dilation: 1,
            bias: node.need("head_bias")?.bool()?,
        })
    }
}

impl PostHead {
    fn read(node: &Node<'_>, inputs: usize, limits: &Limits) -> Result<Self, ProfileError> {
        let sizes = node.need("kernel_sizes")?;
        let activation = node.need("activation")?;
        let head = Self {
            channels: node.need("channels")?.size(limits.channels, "channels")?,
            out_channels: node.need("out_channels")?.size(limits.channels, "channels")?,
            kernel_sizes: sizes.sizes(limits.kernel_size, "kernel_size")?,
            activation: Activation::parse(&activation)?,
        };
        check_layers(&sizes, head.kernel_sizes.len(), limits)?;
        if let Some(n) = node.get("in_channels")? {
            let got = n.size(limits.channels, "channels")?;
            if got != inputs {
                return Err(n.conflict(format!("{got} does not equal the head size {inputs} of the last array")));
            }
        }
        for stage in 0..head.kernel_sizes.len() {
            head.activation.check_width(&activation, head.stage(stage, inputs).0)?;
        }
        Ok(head)
    }
}

/// The layers of an array: some keys hold one value for all, or a list with one for each.
fn read_layers(node: &Node<'_>, bottleneck: usize, reading: &Reading<'_>) -> Result<Vec<LayerConfig>, ProfileError> {
    let limits = reading.limits;
    let list = node.need("dilations")?;
    let dilations = list.sizes(limits.receptive_field, "receptive_field")?;
    check_layers(&list, dilations.len(), limits)?;
    reading.take_layers(&list, dilations.len())?;
    let n = dilations.len();
    let length = |node: &Node<'_>, got: usize| {
        if got == n { Ok(()) } else { Err(node.conflict(format!("has {got} entries, where dilations has {n}"))) }
    };

    let kernel_sizes = match (node.get("kernel_size")?, node.get("kernel_sizes")?) {
        (Some(_), Some(_)) => return Err(node.conflict("give kernel_size or kernel_sizes, not both")),
        (Some(one), None) => vec![one.size(limits.kernel_size, "kernel_size")?; n],
        (None, Some(row)) => {
            let sizes = row.sizes(limits.kernel_size, "kernel_size")?;
            length(&row, sizes.len())?;
            sizes
        }
        (None, None) => {
            vec![node.need_hint("kernel_size", " (or kernel_sizes)")?.size(limits.kernel_size, "kernel_size")?; n]
        }
    };

    let activations = node.need("activation")?;
    let mut per_layer = Vec::new();
    if activations.is_array() {
        for item in activations.items("an activation")? {
            per_layer.push(Activation::parse(&item)?);
            per_layer[per_layer.len() - 1].check_width(&item, bottleneck)?;
        }
        length(&activations, per_layer.len())?;
    } else {
        let one = Activation::parse(&activations)?;
        one.check_width(&activations, bottleneck)?;
        per_layer = vec![one; n];
    }

    let gatings = read_gatings(node, n, bottleneck, &length)?;
    let parts = dilations.into_iter().zip(kernel_sizes).zip(per_layer).zip(gatings);
    Ok(parts
        .map(|(((dilation, kernel_size), activation), gating)| LayerConfig {
            kernel_size,
            dilation,
            activation,
            gating,
        })
        .collect())
}

/// `gating_mode` with `secondary_activation`, or the older `gated`, whose gate is always a sigmoid.
fn read_gatings(
    node: &Node<'_>,
    n: usize,
    bottleneck: usize,
    length: &dyn Fn(&Node<'_>, usize) -> Result<(), ProfileError>,
) -> Result<Vec<Gating>, ProfileError> {
    let Some(mode) = node.get("gating_mode")? else {
        let gated = node.get("gated")?.map_or(Ok(false), |n| n.bool())?;
        return Ok(vec![if gated { Gating::Gated(Activation::Sigmoid) } else { Gating::None }; n]);
    };
    let second = node.get("secondary_activation")?;
    let seconds = match &second {
        Some(list) if list.is_array() => {
            let items = list.items("an activation or null")?;
            length(list, items.len())?;
            Some(items)
        }
        _ => None,
    };
    // What an ungated layer has for a second activation is never looked at: exporters write null or nothing there.
    let gating = |mode: &Node<'_>, layer: usize| {
        let name = mode.text()?;
        if name == "none" {
            return Ok(Gating::None);
        }
        let given = match (&seconds, &second) {
            (Some(items), _) => items.get(layer),
            (None, one) => one.as_ref(),
        };
        let activation = match given {
            Some(item) if !matches!(item.json, Json::Null) => {
                let activation = Activation::parse(item)?;
                activation.check_width(item, bottleneck)?;
                activation
            }
            _ => Activation::Sigmoid,
        };
        match name {
            "gated" => Ok(Gating::Gated(activation)),
            "blended" => Ok(Gating::Blended(activation)),
            other => Err(ProfileError::Unknown {
                at: mode.at.clone(),
                what: "gating mode",
                got: shown(other),
                known: "none, gated, blended",
            }),
        }
    };
    if mode.is_array() {
        let items = mode.items("a gating mode")?;
        length(&mode, items.len())?;
        items.iter().enumerate().map(|(i, item)| gating(item, i)).collect()
    } else if seconds.is_some() {
        (0..n).map(|i| gating(&mode, i)).collect()
    } else {
        Ok(vec![gating(&mode, 0)?; n])
    }
}

/// An object without a method says nothing.
fn read_slimming(node: &Node<'_>, channels: usize, limits: &Limits) -> Result<Option<Slimming>, ProfileError> {
    const METHOD: &str = "slice_channels_uniform";
    if node.object().is_err() {
        return Err(node.wrong("an object"));
    }
    let Some(method) = node.get("method")? else { return Ok(None) };
    match method.text()? {
        METHOD => {}
        "" => return Ok(None),
        other => {
            return Err(ProfileError::Unknown {
                at: method.at.clone(),
                what: "slimming method",
                got: shown(other),
                known: METHOD,
            });
        }
    }
    let list = match node.get("kwargs")? {
        Some(kwargs) => kwargs.get("allowed_channels")?,
        None => None,
    };
    let Some(list) = list else { return Ok(Some(Slimming { allowed_channels: (1..=channels).collect() })) };
    let allowed_channels = list.sizes(limits.channels, "channels")?;
    if allowed_channels.is_empty() {
        return Ok(None);
    }
    if !allowed_channels.is_sorted_by(|a, b| a < b) || allowed_channels.last() != Some(&channels) {
        return Err(list.conflict(format!("must rise and end with all {channels} channels")));
    }
    Ok(Some(Slimming { allowed_channels }))
}
