//! Training is a pure function of its inputs: the network of the spirals example, trained by each optimizer, has the same
//! bits on any number of threads, and it learns.

use forge::CrossEntropy;
use forge::loss::Mean;
use forge::nn::{Linear, Module};
use forge::optim::{Adam, AdamW, Optimizer, Sgd};
use forge::prelude::*;
use forge::rng::Key;
use forge::team::Team;

axes! { Point, Coordinate = 2, First = 64, Second = 64, Class = 2 }

#[derive(Module)]
struct Mlp {
    first: Linear<Coordinate, First>,
    second: Linear<First, Second>,
    last: Linear<Second, Class>,
}

impl Mlp {
    fn new(key: Key) -> Self {
        Self {
            first: Linear::new((Coordinate, First), key.derive("first")),
            second: Linear::new((First, Second), key.derive("second")),
            last: Linear::new((Second, Class), key.derive("last")),
        }
    }

    fn loss(&self, points: &Tensor<(Point, Coordinate)>, labels: &Tensor<Point, i64>) -> Tensor<()> {
        let h = self.first.forward(points).tanh();
        let h = self.second.forward(&h).tanh();
        self.last.forward(&h).cross_entropy(Class, labels, CrossEntropy::new(), Mean)
    }
}

/// 400 points of two interleaved spirals; point `i` lies on spiral `i % 2`.
fn data() -> (Tensor<(Point, Coordinate)>, Tensor<Point, i64>) {
    let points = Tensor::from_fn((400, Coordinate), |i| {
        let (point, axis) = (i / 2, i % 2);
        let t = (point / 2) as f32 / 200.0;
        let angle = 3.5 * std::f32::consts::PI * t + std::f32::consts::PI * (point % 2) as f32;
        (0.05 + 0.95 * t) * if axis == 0 { angle.cos() } else { angle.sin() }
    });
    (points, Tensor::from_fn(400, |i| (i % 2) as i64))
}

/// Bits of every loss and of every parameter after `steps` steps, and the first and last loss.
fn train(threads: usize, build: fn() -> forge::Result<Optimizer>, steps: usize) -> (Vec<u32>, f32, f32) {
    Team::new(threads).enter(|| {
        let (points, labels) = data();
        let (mut model, mut optimizer) = (Mlp::new(Key::new(1)), build().unwrap());
        let mut losses = Vec::new();
        for _ in 0..steps {
            let loss = model.loss(&points, &labels);
            let grads = loss.backward().unwrap();
            optimizer.step(&mut model, &grads).unwrap();
            losses.push(loss.item());
        }
        let parameters = model.state_dict();
        let values = parameters.values().flat_map(|t| t.to_vec::<f32>().unwrap());
        let (first, last) = (losses[0], losses[steps - 1]);
        (losses.iter().copied().chain(values).map(f32::to_bits).collect(), first, last)
    })
}

#[test]
fn the_same_bits_on_1_to_8_threads() {
    let optimizers: [(&str, fn() -> forge::Result<Optimizer>); 3] = [
        ("SGD", || Sgd::new().lr(0.3).momentum(0.9).build()),
        ("Adam", || Adam::new().lr(0.01).build()),
        ("AdamW", || AdamW::new().lr(0.01).build()),
    ];
    for (name, build) in optimizers {
        let (one, first, last) = train(1, build, 60);
        assert!(last < first, "{name} learns nothing: {first} -> {last}");
        for threads in 2..=8 {
            assert_eq!(train(threads, build, 60).0, one, "{name} on {threads} threads");
        }
    }
}
