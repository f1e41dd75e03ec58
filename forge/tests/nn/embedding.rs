//! Embedding.

use crate::{check_gradients, names, shared, weigh};
use forge::axes::{Batch, Model, Seq, Vocab};
use forge::nn::Embedding;
use forge::prelude::*;
use forge::rng::Key;

#[test]
fn embedding() {
    let mut e = Embedding::<Vocab, Model, f64>::new((5, 3), Key::new(1));
    let ids = Tensor::<(Batch, Seq), i64>::from([[4, 0], [0, 2]]);
    let y: Tensor<(Batch, Seq, Model), f64> = e.forward(&ids);
    for (b, s, id) in [(0, 0, 4), (0, 1, 0), (1, 0, 0), (1, 1, 2)] {
        assert_eq!(y.select(Batch, b).select(Seq, s).to_vec(), e.weight.select(Vocab, id).to_vec());
    }
    // One id without axes, and ids with the table's own axis.
    let one: Tensor<Model, f64> = e.forward(&Tensor::scalar(3));
    assert_eq!(one.to_vec(), e.weight.select(Vocab, 3).to_vec());
    let all: Tensor<(Vocab, Model), f64> = e.forward(&Tensor::<Vocab, i64>::from([0, 1, 2, 3, 4]));
    assert_eq!(all.to_vec(), e.weight.to_vec());

    let scores: Tensor<(Batch, Seq, Vocab), f64> = e.scores(&y);
    let want = y.dot(&*e.weight, Model);
    assert_eq!(scores.to_vec(), want.to_vec());

    let error = e.try_forward(&Tensor::<Seq, i64>::from([5])).unwrap_err();
    assert!(error.to_string().contains("index 5 is outside axis `Vocab` of size 5"), "{error}");
    check_gradients(&mut e, |e| weigh(&e.scores(&e.forward(&ids))));
}

#[test]
fn start_and_names() {
    shared::<Embedding<Vocab, Model>>();
    let key = Key::new(5);
    let e = Embedding::<Vocab, Model, f64>::new((100, 100), key);
    assert_eq!(names(&e), ["weight"]);
    assert!(e.weight.mean_all().item().abs() < 0.05);
    assert!((e.weight.square().mean_all().item() - 1.0).abs() < 0.05);
    assert_eq!(e.weight.get((1, 2)), key.derive("weight").normal_at(102));
    let small = Embedding::<Vocab, Model>::with_std((100, 100), 0.02, key);
    assert!((small.weight.square().mean_all().item().sqrt() - 0.02).abs() < 1e-3);
}
