//! 10: training. A transformer of one layer learns to turn a sequence around.
//!
//! `cargo run --release --example 10_training`

#![allow(clippy::print_stdout, reason = "an example shows its results")]

use forge::CrossEntropy;
use forge::axes::{Batch, Ffn, Model, Seq, Vocab};
use forge::loss::Mean;
use forge::nn::{Activation, Attention, Embedding, Heads, LayerNorm, Linear, Mlp, Module, Param};
use forge::optim::{AdamW, Schedule, clip_global_norm};
use forge::prelude::*;
use forge::rng::Key;

const LETTERS: usize = 10;
const LENGTH: usize = 8;
const WIDTH: usize = 32;
const STEPS: usize = 400;

#[derive(Module)]
struct Reverser {
    letter: Embedding<Vocab, Model>,
    place: Param<(Seq, Model)>,
    norm: LayerNorm<Model>,
    attention: Attention<Model>,
    mlp_norm: LayerNorm<Model>,
    mlp: Mlp<Model, Ffn>,
    head: Linear<Model, Vocab>,
}

impl Reverser {
    fn new(key: Key) -> Self {
        Self {
            letter: Embedding::new((LETTERS, WIDTH), key.derive("letter")),
            place: Param::new(Tensor::randn((LENGTH, WIDTH), key.derive("place"))),
            norm: LayerNorm::new(WIDTH),
            attention: Attention::new(WIDTH, Heads::new(4, 8), key.derive("attention")),
            mlp_norm: LayerNorm::new(WIDTH),
            mlp: Mlp::new((WIDTH, 2 * WIDTH), Activation::Gelu, key.derive("mlp")),
            head: Linear::new((WIDTH, LETTERS), key.derive("head")),
        }
    }

    fn forward(&self, letters: &Tensor<(Batch, Seq), i64>) -> Tensor<(Batch, Seq, Vocab)> {
        let x = self.letter.forward(letters) + &*self.place;
        let x = &x + &self.attention.forward(&self.norm.forward(&x), Seq);
        let x = &x + &self.mlp.forward(&self.mlp_norm.forward(&x));
        self.head.forward(&x)
    }
}

fn words(key: Key) -> Tensor<(Batch, Seq), i64> {
    Tensor::randint((64, LENGTH), 0, LETTERS as i64, key)
}

/// How many letters of the answer are right, of all.
fn accuracy(scores: &Tensor<(Batch, Seq, Vocab)>, target: &Tensor<(Batch, Seq), i64>) -> f64 {
    let scores = scores.to_vec();
    let best = scores.chunks(LETTERS).map(|s| (0..LETTERS).max_by(|&a, &b| s[a].total_cmp(&s[b])).unwrap_or(0) as i64);
    let right = best.zip(target.to_vec()).filter(|(b, t)| b == t).count();
    right as f64 / target.len() as f64
}

fn main() -> Result<(), Error> {
    let key = Key::new(0);
    let mut model = Reverser::new(key.derive("model"));
    println!("{} parameters", model.parameter_count());

    // Only matrices decay.
    let decay = AdamW::new().lr(3e-3).weight_decay(0.01);
    let mut optimizer = decay.build()?.group("*.bias", decay.weight_decay(0.0))?;
    let schedule = Schedule::cosine(STEPS as u64).warmup(40).build()?;

    for step in 0..STEPS {
        let letters = words(key.derive("train").derive(step));
        let target = letters.flip(Seq);
        let scores = model.forward(&letters);
        let loss = scores.cross_entropy(Vocab, &target, CrossEntropy::new(), Mean);
        let mut grads = loss.backward()?;
        clip_global_norm(&mut grads, 1.0)?;
        optimizer.set_lr_factor(schedule.factor(step as u64));
        optimizer.step(&mut model, &grads)?;
        if step % 50 == 0 || step == STEPS - 1 {
            println!("step {step:3}: loss {:.4}, accuracy {:.3}", loss.item(), accuracy(&scores, &target));
        }
    }

    // Words that it has not seen.
    let letters = words(key.derive("test"));
    let scores = no_grad(|| model.forward(&letters));
    println!("unseen words: accuracy {:.3}", accuracy(&scores, &letters.flip(Seq)));
    Ok(())
}
