//! 07: checkpointing trades time for memory, with the same bits; a function may bring its own derivative.
//!
//! `cargo run --release --example 07_recompute`

#![allow(clippy::print_stdout, reason = "an example shows its results")]

use forge::autograd::{checkpoint, custom_vjp};
use forge::prelude::*;

axes! { Batch, Width }

fn main() -> Result<(), Error> {
    let w = Tensor::<Width>::from_fn(256, |i| 0.5 + (i as f32).sin() * 0.1).requires_grad();
    let x = Tensor::<(Batch, Width)>::from_fn((64, 256), |i| (i as f32 * 0.01).cos());

    // Eight segments of a deep function. Plainly, every intermediate result stays until the backward pass; with
    // checkpoints only the segments' inputs do.
    let segment = |x: &Tensor<(Batch, Width)>, w: &Tensor<Width>| (x * w).tanh().square().sin();
    let mut plain = x.clone();
    let mut saved = x.clone();
    for _ in 0..8 {
        plain = segment(&plain, &w);
        let w = w.clone();
        saved = checkpoint(saved, move |x| segment(&x, &w));
    }
    let a = plain.mean_all().backward()?.get(&w).expect("used");
    let b = saved.mean_all().backward()?.get(&w).expect("used");
    println!("gradients have the same bits: {}", a.to_vec() == b.to_vec());

    // Rounding has the slope 0 almost everywhere; a straight-through estimator passes the gradient as it is.
    let x = Tensor::<Width>::from([0.2, 0.6, 1.4]).requires_grad();
    let y = custom_vjp(x.clone(), |x: &Tensor<Width>| x.round(), |_, _, g| g.clone());
    println!("rounded {y}, gradient {}", y.square().sum_all().backward()?.get(&x).expect("used"));
    Ok(())
}
