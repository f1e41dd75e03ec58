//! Two spirals, told apart by a small network: the whole of training on one page.
//!
//! `cargo run --release --example spirals` checks the model's gradients, trains it with three optimizers, resumes each run
//! from a checkpoint bit for bit, and ends in a picture.

mod picture;

use clap::Parser;
use forge::autograd::GradCheck;
use forge::dtype::Differentiable;
use forge::io::checkpoint::{Checkpoint, TrainerState};
use forge::nn::{Linear, Module, StateDict};
use forge::optim::{Adam, AdamW, Optimizer, Sgd};
use forge::prelude::*;
use forge::rng::Key;
use forge::team::Team;
use std::error::Error;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

axes! {
    /// The points of the training set.
    pub Point,
    /// The two coordinates of a point.
    pub Coordinate = 2,
    /// The first hidden layer.
    First = 64,
    /// The second hidden layer.
    Second = 64,
    /// The two spirals.
    pub Class = 2,
}

/// Coordinates in, scores of the two spirals out. `D` is f32, and f64 where the gradients are checked.
#[derive(Module)]
pub struct Mlp<D: Differentiable = f32> {
    first: Linear<Coordinate, First, D>,
    second: Linear<First, Second, D>,
    last: Linear<Second, Class, D>,
}

impl<D: Differentiable> Mlp<D> {
    fn new(key: Key) -> Self {
        Self {
            first: Linear::new((Coordinate, First), key.derive("first")),
            second: Linear::new((First, Second), key.derive("second")),
            last: Linear::new((Second, Class), key.derive("last")),
        }
    }

    /// Scores of every point. Try to feed a layer the wrong axis: it does not compile.
    pub fn forward(&self, x: &Tensor<(Point, Coordinate), D>) -> Tensor<(Point, Class), D> {
        let h = self.first.forward(x).tanh();
        let h = self.second.forward(&h).tanh();
        self.last.forward(&h)
    }

    /// Cross-entropy: minus the mean log-probability of the right class.
    fn loss(&self, data: &Data<D>) -> Tensor<(), D> {
        let log_p = self.forward(&data.points).log_softmax(Class);
        (log_p * &data.one_hot).sum(Class).mean_all().scale(-1.0)
    }
}

/// Points of two interleaved spirals, with the right class of each as a one-hot row.
pub struct Data<D: Differentiable = f32> {
    /// Where the points are.
    pub points: Tensor<(Point, Coordinate), D>,
    one_hot: Tensor<(Point, Class), D>,
}

impl Data {
    /// `n` points on each spiral: 1.75 turns, radius growing to 1.
    fn new(n: usize) -> Self {
        let coordinate = |i: usize| {
            let (point, axis) = (i / 2, i % 2);
            let t = (point / 2) as f32 / n as f32;
            let angle = 3.5 * std::f32::consts::PI * t + std::f32::consts::PI * (point % 2) as f32;
            (0.05 + 0.95 * t) * if axis == 0 { angle.cos() } else { angle.sin() }
        };
        let points = Tensor::from_fn((2 * n, Coordinate), coordinate);
        let one_hot = Tensor::from_fn((2 * n, Class), |i| if (i / 2) % 2 == i % 2 { 1.0 } else { 0.0 });
        Self { points, one_hot }
    }

    fn to_f64(&self) -> Data<f64> {
        Data { points: self.points.to(), one_hot: self.one_hot.to() }
    }

    /// Share of the points that `model` gives to the right spiral.
    fn accuracy(&self, model: &Mlp) -> f64 {
        let scores = no_grad(|| model.forward(&self.points));
        let margin = (scores * &self.one_hot.add_scalar(-0.5).scale(2.0)).sum(Class).to_vec();
        margin.iter().filter(|m| **m > 0.0).count() as f64 / margin.len() as f64
    }
}

/// Tells two spirals apart; checks gradients, trains with three optimizers, resumes each from a checkpoint.
#[derive(Parser)]
#[command(version, after_help = "Example: spirals --steps 1000 --seed 7 --out /tmp/spirals.png")]
struct Options {
    /// Optimizer steps of each run.
    #[arg(long, default_value_t = 3000, value_parser = clap::value_parser!(u64).range(3..=1_000_000))]
    steps: u64,
    /// Seed of the initial weights.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads of the worker team [default: one for each free core].
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: Option<u8>,
    /// Where the picture goes.
    #[arg(long, default_value = "target/spirals.png")]
    out: PathBuf,
}

/// A finished run.
pub struct Run {
    name: &'static str,
    model: Mlp,
    /// Loss before each step.
    losses: Vec<f32>,
}

/// Steps `from..to`, with the loss before each.
fn train(
    name: &str,
    model: &mut Mlp,
    optimizer: &mut Optimizer,
    data: &Data,
    (from, to): (u64, u64),
    progress: bool,
) -> Result<Vec<f32>, Box<dyn Error>> {
    let mut losses = Vec::with_capacity((to - from) as usize);
    for step in from..to {
        let loss = model.loss(data);
        let grads = loss.backward()?;
        optimizer.step(model, &grads)?;
        losses.push(loss.item());
        if progress && (step % 250 == 0 || step + 1 == to) {
            let mut err = std::io::stderr().lock();
            write!(err, "\r{name}: step {} of {to}, loss {:.5}  ", step + 1, loss.item())?;
            err.flush()?;
        }
    }
    if progress {
        writeln!(std::io::stderr())?;
    }
    Ok(losses)
}

fn bits(state: &StateDict) -> Vec<(String, Vec<u32>)> {
    let read = |t: &DynTensor| t.to_vec::<f32>().map(|v| v.iter().map(|x| x.to_bits()).collect()).unwrap_or_default();
    state.iter().map(|(name, t)| (name.clone(), read(t))).collect()
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let progress = std::io::stderr().is_terminal();
    let data = Data::new(200);
    let key = Key::new(options.seed);

    // 1. The gradients of this very model, against finite differences in f64.
    let small = Data::new(10).to_f64();
    let mut twin = Mlp::<f64>::new(key);
    let checked = GradCheck::new().at_most(64).model(&mut twin, |m| m.loss(&small))?;
    writeln!(out, "gradients: {} of them equal finite differences to 1e-7", checked.elements)?;

    // 2. Three optimizers. Each run is saved after two thirds and continued in a fresh process' place.
    let optimizers: [(&str, fn() -> forge::Result<Optimizer>); 3] = [
        ("SGD", || Sgd::new().lr(0.3).momentum(0.9).build()),
        ("Adam", || Adam::new().lr(0.01).build()),
        ("AdamW", || AdamW::new().lr(0.01).build()),
    ];
    let scratch = options.out.with_extension("checkpoints");
    let (mut runs, mut time, mut good) = (Vec::new(), Duration::ZERO, true);
    for (name, build) in optimizers {
        let saved_at = options.steps * 2 / 3;
        let checkpoint = Checkpoint::at(scratch.join(name));
        let (mut model, mut optimizer) = (Mlp::new(key), build()?);
        let start = Instant::now();
        let mut losses = train(name, &mut model, &mut optimizer, &data, (0, saved_at), progress)?;
        time += start.elapsed();
        checkpoint.save(&model, &optimizer, &TrainerState::new(saved_at, key))?;
        let start = Instant::now();
        losses.extend(train(name, &mut model, &mut optimizer, &data, (saved_at, options.steps), progress)?);
        time += start.elapsed();

        // 3. A model that knows only the checkpoint ends in the same bits.
        let (mut resumed, mut optimizer) = (Mlp::new(Key::new(!options.seed)), build()?);
        let state = checkpoint.load(&mut resumed, &mut optimizer)?;
        train(name, &mut resumed, &mut optimizer, &data, (state.step, options.steps), false)?;
        let same = bits(&model.state_dict()) == bits(&resumed.state_dict());
        let accuracy = 100.0 * data.accuracy(&model);
        good &= same && (accuracy == 100.0 || options.steps < 3000);
        writeln!(
            out,
            "{name}: loss {:.5}, accuracy {accuracy:.1} %, resumed at step {} {}",
            model.loss(&data).item(),
            state.step,
            if same { "with the same bits" } else { "with OTHER BITS" }
        )?;
        runs.push(Run { name, model, losses });
    }
    let steps = 3 * options.steps;
    writeln!(
        out,
        "{steps} steps in {:.2} s, {:.0} us each",
        time.as_secs_f64(),
        1e6 * time.as_secs_f64() / steps as f64
    )?;
    std::fs::remove_dir_all(&scratch)?;

    // 4. What it learned.
    picture::draw(&options.out, &data, &runs)?;
    writeln!(out, "wrote {}", options.out.display())?;
    Ok(good)
}

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match options.threads {
        Some(n) => Team::new(usize::from(n)).enter(|| run(&options)),
        None => run(&options),
    };
    let problem = match outcome {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => "a run did not learn every point, or did not resume with the same bits".to_owned(),
        Err(e) => e.to_string(),
    };
    let _ = writeln!(std::io::stderr(), "spirals: {problem}");
    ExitCode::FAILURE
}
