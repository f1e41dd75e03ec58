//! 05: a block is written once, for the axes it names, and runs over whatever else a tensor has.
//!
//! `cargo run --release --example 05_blocks`

#![allow(clippy::print_stdout, reason = "an example shows its results")]

use forge::axes::Rest;
use forge::prelude::*;

axes! { Batch, Doc, Seq, Key, Model, Dim }

/// Self-attention with one head. Inside `over` all lists of axes are concrete, so no further bound is needed.
struct Attention {
    query: Tensor<(Model, Dim)>,
    key: Tensor<(Model, Dim)>,
    value: Tensor<(Model, Dim)>,
    out: Tensor<(Dim, Model)>,
}

impl Attention {
    fn forward<X: Axes>(&self, x: &Tensor<X>) -> Tensor<X>
    where
        (Seq, Model): SubsetOf<X>,
    {
        x.over::<(Seq, Model)>(|x: &Tensor<(Rest, Seq, Model)>| {
            let q = x.dot(&self.query, Model);
            // The same sequence a second time, as keys and values: a rename, which costs nothing.
            let k = x.dot(&self.key, Model).rename(Seq, Key);
            let v = x.dot(&self.value, Model).rename(Seq, Key);
            let e = q.dot(&k, Dim).scale(0.25).exp();
            let weights = &e / &e.sum(Key);
            x + &weights.dot(&v, Key).dot(&self.out, Dim)
        })
    }
}

fn main() {
    let w = |phase: f32| move |i: usize| (i as f32 * 0.7 + phase).sin() * 0.3;
    let attention = Attention {
        query: Tensor::from_fn((6, 4), w(0.1)),
        key: Tensor::from_fn((6, 4), w(0.2)),
        value: Tensor::from_fn((6, 4), w(0.3)),
        out: Tensor::from_fn((4, 6), w(0.4)),
    };
    // One sequence, a batch of them, a batch of documents with the axes in an odd order: one block.
    let one = Tensor::<(Seq, Model)>::from_fn((5, 6), w(0.0));
    let batch = one.insert_front(Batch).expand(Batch, 3);
    let odd: Tensor<(Model, Batch, Doc, Seq)> = batch.insert(Doc).permute();
    let a = attention.forward(&one);
    let b = attention.forward(&batch);
    let c = attention.forward(&odd);
    println!("{}\n{}\n{}", a.axes_text(), b.axes_text(), c.axes_text());
    println!("equal: {}", b.select(Batch, 2).to_vec() == a.to_vec());
}
