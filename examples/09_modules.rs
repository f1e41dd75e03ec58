//! 09: modules. A model is a struct; its parameters are found by the names of its fields.
//!
//! `cargo run --release --example 09_modules`

#![allow(clippy::print_stdout, reason = "an example shows its results")]

use forge::nn::{Cx, Dropout, LayerNorm, Linear, Module, Param};
use forge::prelude::*;
use forge::rng::Key;

axes! { Batch, Hour, Feature, Hidden, Out }

/// One block: norm, map, dropout. Its axes are in the types of its layers, so a wrong order does not compile.
#[derive(Clone, Module)]
struct Block {
    norm: LayerNorm<Feature>,
    map: Linear<Feature, Hidden>,
    back: Linear<Hidden, Feature>,
    dropout: Dropout,
}

impl Block {
    fn new(key: Key) -> Self {
        Self {
            norm: LayerNorm::new(8),
            map: Linear::new((8, 16), key.derive("map")),
            back: Linear::new((16, 8), key.derive("back")),
            dropout: Dropout::new(0.1),
        }
    }

    fn forward(&self, x: &Tensor<(Batch, Feature)>, cx: &Cx) -> Tensor<(Batch, Feature)> {
        let h = self.map.forward(&self.norm.forward(x)).silu();
        x + &self.dropout.forward(&self.back.forward(&h), &cx.at("dropout"))
    }
}

#[derive(Clone, Module)]
struct Net {
    blocks: Vec<Block>,
    head: Linear<Feature, Out>,
    /// A parameter of one's own needs no layer.
    scale: Param<()>,
}

impl Net {
    fn forward(&self, x: &Tensor<(Batch, Feature)>, cx: &Cx) -> Tensor<(Batch, Out)> {
        let mut x = x.clone();
        for (i, block) in self.blocks.iter().enumerate() {
            x = block.forward(&x, &cx.at("blocks").index(i));
        }
        self.head.forward(&x) * &*self.scale
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let key = Key::new(0);
    let mut net = Net {
        blocks: (0..2).map(|i| Block::new(key.derive("blocks").derive(i))).collect(),
        head: Linear::new((8, 2), key.derive("head")),
        scale: Param::new(Tensor::scalar(0.5)),
    };
    for (name, value) in net.state_dict() {
        println!("{name:24} {}", value.axes_text());
    }
    println!("{} parameters", net.parameter_count());

    // Training and evaluation are told apart by what the forward pass is given, not by a switch in the model.
    let x = Tensor::<(Batch, Feature)>::from_fn((3, 8), |i| (i as f32).sin());
    let train = Cx::train(key.derive("step 0"));
    let (a, b) = (net.forward(&x, &train), net.forward(&x, &train));
    println!("the same key drops the same elements: {}", a.to_vec() == b.to_vec());
    println!("evaluation drops none: {}", a.to_vec() != net.forward(&x, &Cx::eval()).to_vec());

    // A layer does not ask what other axes there are.
    let hours = Tensor::<(Batch, Hour, Feature)>::ones((3, 24, 8));
    let y: Tensor<(Batch, Hour, Out)> = net.head.forward(&hours);
    println!("{}", y.axes_text());

    // Parts are addressed by name: here all but the head is frozen.
    println!("{} frozen", net.set_trainable("blocks", false));
    let grads = net.forward(&x, &Cx::eval()).square().mean_all().backward()?;
    println!("gradients: {}", grads.len());

    // The values of one model go into another of the same shape; what does not fit is said by name.
    let mut other = net.clone();
    other.load_state_dict(&net.state_dict())?;
    other.blocks.pop();
    if let Err(e) = other.load_state_dict(&net.state_dict()) {
        println!("{e}");
    }
    Ok(())
}
