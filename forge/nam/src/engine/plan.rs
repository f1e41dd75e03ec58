//! [`Plan`]: the steps of a network, and the [`Builder`] that each architecture fills.

use super::{convnet, linear, lstm, wavenet, without};
use crate::options::Options;
use crate::profile::{Activation as Spec, Model, Profile, ProfileError};
use forge_kernels::stream::{Activation, Arena, Conv, Film, Gate, HeadSum, Layout, Lstm, Ring, Rows, Window, activate};
use std::fmt;

/// A profile ready to be played: steps, weights, and a place for everything. It never changes.
pub struct Plan {
    steps: Box<[Step]>,
    rings: Box<[Ring]>,
    input: Rows,
    output: Rows,
    /// The memory before the first sample.
    start: Arena,
    channels: (usize, usize),
    prewarm_samples: usize,
    sample_rate: Option<f64>,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("channels", &self.channels)
            .field("steps", &self.steps.len())
            .field("floats", &self.start.len())
            .finish_non_exhaustive()
    }
}

/// Where a signal of the present chunk is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// In rows of its own.
    Rows(Rows),
    /// In a ring, which keeps it for later chunks.
    Ring(usize),
}

/// One kernel call, or the sealing of a ring.
pub(super) enum Step {
    Conv { conv: Conv, from: Place, mix: Option<Rows>, add: Option<Place>, to: Place },
    Film { film: Film, condition: Rows, from: Place, add: Option<Place>, to: Place },
    Activate { f: Activation, from: Place, gate: Gated, to: Place, head: Joins, channels: usize },
    Seal(usize),
    Cells { cells: Lstm, from: CellInput },
    CellHead { layer: usize, weights: Box<[f32]>, bias: Box<[f32]>, to: Rows },
}

/// What an LSTM layer reads.
pub(super) enum CellInput {
    Rows(Rows),
    /// The layer of this step.
    Layer(usize),
}

/// The other half of a gated layer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gated {
    None,
    Times(Rows),
    Blend(Rows),
}

/// Whether a result joins the head's sum.
#[derive(Clone, Copy, Debug)]
pub(super) enum Joins {
    None,
    Begin(Place),
    Add(Place),
}

impl Plan {
    /// Makes a profile ready (of a container: the submodel that the quality asks for).
    ///
    /// # Errors
    /// When the weights do not fit the configuration, which a parsed profile's do.
    pub fn new(profile: &Profile, options: Options) -> Result<Self, ProfileError> {
        let chosen = profile.submodel(options.quality);
        let channels = chosen.channels();
        let mut b =
            Builder { layout: Layout::new(), steps: Vec::new(), rings: Vec::new(), starts: Vec::new(), options };
        let input = b.layout.rows(channels.0);
        let output = b.layout.rows(channels.1);
        b.network(chosen, input, output)?;
        let mut start = b.layout.arena();
        for (step, h, c) in &b.starts {
            if let Step::Cells { cells, .. } = &b.steps[*step] {
                cells.set(&mut start, h, c);
            }
        }
        Ok(Self {
            steps: b.steps.into(),
            rings: b.rings.into(),
            input,
            output,
            start,
            channels,
            prewarm_samples: chosen.prewarm_samples(),
            sample_rate: chosen.sample_rate.or(profile.sample_rate),
        })
    }

    /// Channels in and out.
    pub fn channels(&self) -> (usize, usize) {
        self.channels
    }

    /// How many samples of silence settle it.
    pub fn prewarm_samples(&self) -> usize {
        self.prewarm_samples
    }

    /// Samples a second that it was trained at, if its profile says so.
    pub fn sample_rate(&self) -> Option<f64> {
        self.sample_rate
    }

    pub(super) fn start(&self) -> &Arena {
        &self.start
    }

    pub(super) fn rings(&self) -> usize {
        self.rings.len()
    }

    /// Where channel `channel` of the next chunk is put.
    pub(super) fn input<'a>(&self, arena: &'a mut Arena, channel: usize, frames: usize) -> &'a mut [f32] {
        &mut arena[self.input.from(channel).at..][..frames]
    }

    /// Where channel `channel` of the last chunk is found.
    pub(super) fn output<'a>(&self, arena: &'a Arena, channel: usize, frames: usize) -> &'a [f32] {
        &arena[self.output.from(channel).at..][..frames]
    }

    /// Runs `frames` frames and moves the rings on.
    pub(super) fn run(&self, arena: &mut Arena, now: &mut [usize], frames: usize) {
        for step in &self.steps {
            self.step(step, arena, now, frames);
        }
        for (now, ring) in now.iter_mut().zip(&self.rings) {
            *now = ring.advance(*now, frames);
        }
    }

    fn step(&self, step: &Step, arena: &mut [f32], now: &[usize], frames: usize) {
        let rows = |place: Place| match place {
            Place::Rows(rows) => rows,
            Place::Ring(i) => self.rings[i].rows(now[i]),
        };
        match step {
            Step::Conv { conv, from, mix, add, to } => {
                let from = match *from {
                    Place::Rows(rows) => Window::from(rows),
                    Place::Ring(i) => self.rings[i].window(now[i]),
                };
                conv.run(arena, from, *mix, add.map(rows), rows(*to), frames);
            }
            Step::Film { film, condition, from, add, to } => {
                film.run(arena, *condition, rows(*from), add.map(rows), rows(*to), frames);
            }
            Step::Activate { f, from, gate, to, head, channels } => {
                let gate = match *gate {
                    Gated::None => Gate::None,
                    Gated::Times(g) => Gate::Times(g),
                    Gated::Blend(g) => Gate::Blend(g),
                };
                let head = match *head {
                    Joins::None => HeadSum::None,
                    Joins::Begin(h) => HeadSum::Begin(rows(h)),
                    Joins::Add(h) => HeadSum::Add(rows(h)),
                };
                activate(arena, f, rows(*from), gate, rows(*to), head, *channels, frames);
            }
            Step::Seal(i) => self.rings[*i].seal(arena, now[*i], frames),
            Step::Cells { cells, from } => match from {
                CellInput::Rows(rows) => cells.run(arena, *rows, frames),
                CellInput::Layer(before) => {
                    if let Step::Cells { cells: before, .. } = &self.steps[*before] {
                        cells.run_after(arena, before, frames);
                    }
                }
            },
            Step::CellHead { layer, weights, bias, to } => {
                if let Step::Cells { cells, .. } = &self.steps[*layer] {
                    cells.head(arena, weights, bias, *to, frames);
                }
            }
        }
    }
}

/// Collects the steps and places of a plan.
pub(super) struct Builder {
    pub(super) layout: Layout,
    pub(super) steps: Vec<Step>,
    rings: Vec<Ring>,
    /// The trained past of the LSTM layer of a step: hidden state, cell state.
    pub(super) starts: Vec<(usize, Vec<f32>, Vec<f32>)>,
    pub(super) options: Options,
}

impl Builder {
    /// The steps of a whole network, from the rows of its input to those of its output.
    pub(super) fn network(&mut self, profile: &Profile, input: Rows, output: Rows) -> Result<(), ProfileError> {
        match &profile.submodel(self.options.quality).model {
            Model::WaveNet(m) => wavenet::lower(self, &m.slimmed(self.options.quality), input, output),
            Model::Lstm(m) => lstm::lower(self, m, input, output),
            Model::ConvNet(m) => convnet::lower(self, m, input, output),
            Model::Linear(m) => linear::lower(self, m, input, output),
            Model::Container(_) => Err(without("a container without submodels")),
        }
    }

    /// A ring for what `conv` reads.
    pub(super) fn ring(&mut self, channels: usize, history: usize) -> usize {
        self.rings.push(self.layout.ring(channels, history));
        self.rings.len() - 1
    }

    /// A place that keeps `history` frames: a ring if that is any.
    pub(super) fn place(&mut self, channels: usize, history: usize) -> Place {
        if history == 0 { Place::Rows(self.layout.rows(channels)) } else { Place::Ring(self.ring(channels, history)) }
    }

    /// To be called once a place is written, before a convolution reads it.
    pub(super) fn written(&mut self, place: Place) {
        if let Place::Ring(i) = place {
            self.steps.push(Step::Seal(i));
        }
    }

    pub(super) fn conv(&mut self, conv: Conv, from: Place, to: Place) {
        self.steps.push(Step::Conv { conv, from, mix: None, add: None, to });
    }

    /// Activates `channels` rows, each by itself.
    pub(super) fn activate(&mut self, f: Activation, from: Place, to: Place, channels: usize) {
        self.steps.push(Step::Activate { f, from, gate: Gated::None, to, head: Joins::None, channels });
    }

    /// A function of a profile as the kernels know it.
    pub(super) fn function(&self, spec: &Spec) -> Activation {
        match spec {
            Spec::Tanh if self.options.fast_tanh => Activation::FastTanh,
            Spec::Tanh => Activation::Tanh,
            Spec::HardTanh => Activation::HardTanh,
            Spec::FastTanh => Activation::FastTanh,
            Spec::Relu => Activation::Relu,
            Spec::LeakyRelu { slope } => Activation::LeakyRelu { slope: *slope },
            Spec::PRelu { slopes } if slopes.len() == 1 => Activation::LeakyRelu { slope: slopes[0] },
            Spec::PRelu { slopes } => Activation::PRelu { slopes: slopes.to_vec().into() },
            Spec::Sigmoid => Activation::Sigmoid,
            Spec::Silu => Activation::Silu,
            Spec::HardSwish => Activation::HardSwish,
            &Spec::LeakyHardTanh { low, high, low_slope, high_slope } => {
                Activation::LeakyHardTanh { low, high, low_slope, high_slope }
            }
            Spec::Softsign => Activation::Softsign,
        }
    }
}
