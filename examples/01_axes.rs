//! 01: axes are types. Declare them, make tensors of them, ask for sizes.
//!
//! `cargo run --release --example 01_axes`

#![allow(clippy::print_stdout, reason = "an example shows its results")]

use forge::prelude::*;

axes! {
    /// Independent examples: dynamic, the size is a number at run time.
    Batch,
    /// Pixels of an image: fixed, the size is part of the type.
    Pixel = 784,
    Class,
}

fn main() {
    // A dynamic axis takes a number in a shape, a fixed one stands for itself.
    let images = Tensor::<(Batch, Pixel)>::zeros((32, Pixel));
    println!("images: {}", images.axes_text());

    // One axis is written bare, no axis is `()`.
    let bias = Tensor::<Class>::from([0.1, 0.2, 0.3]);
    let loss = Tensor::<()>::scalar(0.5);
    println!("bias: {bias}\nloss: {loss}");

    // Another order is another type: the annotation asks for the transpose (a view, nothing is copied).
    let transposed: Tensor<(Pixel, Batch)> = images.permute();
    println!("transposed: {}, {} columns", transposed.axes_text(), transposed.size(Batch));

    // Other element types are the second parameter.
    let labels = Tensor::<Batch, i64>::from_vec(3, vec![7, 2, 1]);
    println!("labels: {labels}");

    // What would not compile here: `images.size(Class)`, `Tensor::<(Batch, Batch)>::zeros((2, 2))`,
    // `let y: Tensor<(Batch, Pixel)> = transposed;`.
}
