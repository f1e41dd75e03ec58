//! The recurrent layer.

use crate::{Doc, check_gradients, close, names, noise, shared, weigh};
use forge::axes::{Batch, Gate, Hidden, In, Recurrent, Time};
use forge::nn::{Lstm, LstmState};
use forge::prelude::*;
use forge::rng::Key;

/// One step of an LSTM in plain loops: `(h, c)` after `x`.
fn lstm_step(l: &Lstm<In, Hidden, f64>, x: &[f64], h: &[f64], c: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let n = h.len();
    let gate = |g: usize, j: usize| {
        let mut s = l.bias.get((g, j));
        s += (0..x.len()).map(|i| l.weight_ih.get((g, j, i)) * x[i]).sum::<f64>();
        s + (0..n).map(|i| l.weight_hh.get((g, j, i)) * h[i]).sum::<f64>()
    };
    let c: Vec<f64> = (0..n).map(|j| sigmoid(gate(1, j)) * c[j] + sigmoid(gate(0, j)) * gate(2, j).tanh()).collect();
    let h = (0..n).map(|j| sigmoid(gate(3, j)) * c[j].tanh()).collect();
    (h, c)
}

#[test]
fn lstm() {
    let mut l = Lstm::<In, Hidden, f64>::new((3, 4), Key::new(2));
    let x = noise::<(Batch, Time, In)>((2, 5, 3), 3);
    let y: Tensor<(Batch, Time, Hidden), f64> = l.forward(&x, Time);
    for b in 0..2 {
        let (mut h, mut c) = (vec![0.0; 4], vec![0.0; 4]);
        for t in 0..5 {
            (h, c) = lstm_step(&l, &x.select(Batch, b).select(Time, t).to_vec(), &h, &c);
            close(&y.select(Batch, b).select(Time, t).to_vec(), &h, 1e-12);
        }
    }

    // In pieces, step by step, and alone: the same bits.
    let zeros = LstmState::<(Batch, Hidden), f64>::zeros((2, 4));
    let (first, state) = l.forward_from(&x.narrow(Time, 0..2), Time, &zeros);
    let (second, end) = l.forward_from(&x.narrow(Time, 2..5), Time, &state);
    assert_eq!(first.concat(Time, &[&second]).to_vec(), y.to_vec());
    let mut state = zeros.clone();
    for t in 0..5 {
        state = l.step(&x.select(Time, t), &state);
    }
    assert_eq!((state.h.to_vec(), state.c.to_vec()), (end.h.to_vec(), end.c.to_vec()));
    let alone: Tensor<(Time, Hidden), f64> = l.forward(&x.select(Batch, 1), Time);
    assert_eq!(alone.to_vec(), y.select(Batch, 1).to_vec());
    let wide: Tensor<(In, Doc, Time, Batch), f64> = x.insert(Doc).permute();
    let wide: Tensor<(Batch, Time, Doc, Hidden), f64> = l.forward(&wide, Time).permute();
    assert_eq!(wide.squeeze(Doc).to_vec(), y.to_vec());

    // Nothing in, nothing out.
    let (none, same) = l.forward_from(&x.narrow(Time, 0..0), Time, &end);
    assert_eq!(none.shape(), [2, 0, 4]);
    assert_eq!(same.c.to_vec(), end.c.to_vec());

    let wrong = LstmState::<(Batch, Hidden), f64>::zeros((3, 4));
    let error = l.try_step(&x.select(Time, 0), &wrong).unwrap_err();
    assert!(error.to_string().contains("lstm: axis `Batch` has size"), "{error}");

    check_gradients(&mut l, |l| weigh(&l.forward(&x, Time)));
    // The gradient of the input comes through every position, and of a loss on some of them too.
    let leaf = x.requires_grad();
    let loss = |x: &Tensor<(Batch, Time, In), f64>| weigh(&l.forward(x, Time).narrow(Time, 1..4));
    let g = loss(&leaf).backward().unwrap().get(&leaf).unwrap();
    assert!(g.narrow(Time, 4..5).to_vec().iter().all(|g| *g == 0.0), "what comes later has no part in it");
    for i in [0, 7, 13, 19, 29] {
        let at = |step: f64| {
            let mut v = x.to_vec();
            v[if i % 15 >= 12 { i - 3 } else { i }] += step;
            loss(&Tensor::from_vec((2, 5, 3), v)).item()
        };
        let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
        let got = g.to_vec()[if i % 15 >= 12 { i - 3 } else { i }];
        assert!((got - slope).abs() < 1e-7, "{got}, not {slope}");
    }
}

/// torch's parameters are these with the first two axes joined, gates in the order i, f, g, o; the bias is the sum of its
/// two. The figures are worked by hand: with all weights 0, the gates are their biases.
#[test]
fn lstm_gate_order() {
    let mut l = Lstm::<In, Hidden, f64>::new((1, 1), Key::new(0));
    l.weight_ih.set(&Tensor::zeros((Gate, 1, 1))).unwrap();
    l.weight_hh.set(&Tensor::<(Gate, Hidden, Recurrent), f64>::zeros((Gate, 1, 1))).unwrap();
    l.bias.set(&Tensor::from_vec((Gate, 1), vec![1.0, 2.0, 0.5, -1.0])).unwrap();
    let state = LstmState { h: Tensor::<Hidden, f64>::zeros(1), c: Tensor::full(1, 3.0) };
    let next = l.step(&Tensor::<In, f64>::zeros(1), &state);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let c = sigmoid(2.0) * 3.0 + sigmoid(1.0) * 0.5f64.tanh();
    close(&next.c.to_vec(), &[c], 1e-14);
    close(&next.h.to_vec(), &[sigmoid(-1.0) * c.tanh()], 1e-14);
}

#[test]
fn start_and_names() {
    shared::<Lstm<In, Hidden>>();
    shared::<LstmState<(Batch, Hidden)>>();
    let l = Lstm::<In, Hidden>::new((3, 16), Key::new(5));
    assert_eq!(names(&l), ["bias", "weight_hh", "weight_ih"]);
    let bounded = |v: Vec<f32>| v.iter().all(|w| w.abs() <= 0.25) && v.iter().any(|w| w.abs() > 0.2);
    assert!(bounded(l.weight_ih.to_vec()) && bounded(l.weight_hh.to_vec()) && bounded(l.bias.to_vec()));
}
