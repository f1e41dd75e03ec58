//! 06: gradients are values. Two losses, a gradient of a gradient, and a network that fits a curve by hand.
//!
//! `cargo run --release --example 06_gradients`

#![allow(clippy::print_stdout, reason = "an example shows its results")]

use forge::prelude::*;

axes! { Point, Hidden }

fn main() -> Result<(), Error> {
    // Two losses over one trunk, in one pass.
    let x = Tensor::<()>::scalar(2.0).requires_grad();
    let trunk = x.square();
    let grads = backward_all(&[&trunk.scale(3.0), &trunk.exp()])?;
    println!("d(3x^2 + e^(x^2))/dx at 2 = {}", grads.get(&x).expect("x is a parameter").item());

    // A gradient of a gradient: record the pass itself.
    let x = Tensor::<(), f64>::scalar(0.5).requires_grad();
    let slope = x.sin().backward_with(Backward::create_graph())?.get(&x).expect("x is a parameter");
    let curvature = slope.backward()?.get(&x).expect("x is a parameter");
    println!("sin''(0.5) = {}, -sin(0.5) = {}", curvature.item(), -0.5f64.sin());

    // One hidden layer fits a parabola; the update is plain arithmetic.
    let xs = Tensor::<Point>::from_fn(64, |i| i as f32 / 32.0 - 1.0);
    let target = xs.square();
    let mut w1 = Tensor::<Hidden>::from_fn(16, |i| (i as f32 * 1.3).sin() * 2.0).requires_grad();
    let mut b1 = Tensor::<Hidden>::from_fn(16, |i| (i as f32 * 0.7).cos()).requires_grad();
    let mut w2 = Tensor::<Hidden>::from_fn(16, |i| (i as f32 * 2.1).sin() * 0.3).requires_grad();
    for step in 0..=400 {
        let hidden = (xs.outer_mul(&w1) + &b1).tanh(); // Tensor<(Point, Hidden)>
        let loss = (hidden.dot(&w2, Hidden) - &target).square().mean_all();
        let g = loss.backward()?;
        for w in [&mut w1, &mut b1, &mut w2] {
            let step = g.get(w).expect("every parameter is used").scale(0.1);
            *w = (&*w - &step).requires_grad();
        }
        if step % 100 == 0 {
            println!("step {step}: loss {:.6}", loss.item());
        }
    }
    Ok(())
}
