//! 03: contraction by name: `dot` for two operands, `einsum!` for any equation.
//!
//! `cargo run --release --example 03_contraction`

#![allow(clippy::print_stdout, reason = "an example shows its results")]

use forge::prelude::*;

axes! { Batch, Head, Seq, Key, Dim, In, Out, Rank }

fn main() {
    // A matrix product: the operands may hold `In` anywhere.
    let x = Tensor::<(Batch, In)>::from([[1.0, 2.0], [3.0, 4.0]]);
    let w = Tensor::<(In, Out)>::from([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]);
    let wt: Tensor<(Out, In)> = w.permute();
    println!("x w = {}\n    = {}", x.dot(&w, In), x.dot(&wt, In));

    // Shared axes that are not contracted are batch axes; nothing needs to be transposed or reshaped.
    let q = Tensor::<(Batch, Seq, Head, Dim)>::ones((2, 3, 4, 8));
    let k = Tensor::<(Batch, Key, Head, Dim)>::ones((2, 5, 4, 8));
    let scores: Tensor<(Batch, Seq, Head, Key)> = q.dot(&k, Dim);
    println!("scores: {}", scores.axes_text());

    // Several axes at once.
    let total: Tensor<(Batch, Seq, Key)> = q.dot(&k, (Head, Dim));
    println!("over heads too: {}", total.axes_text());

    // Three operands: joined in the order that costs least, here through the narrow `Rank`.
    let x = Tensor::<(Batch, In)>::ones((64, 512));
    let down = Tensor::<(In, Rank)>::full((512, 4), 0.1);
    let up = Tensor::<(Rank, Out)>::full((4, 256), 0.1);
    let y = einsum!(x[Batch, In], down[In, Rank], up[Rank, Out] -> [Batch, Out]);
    println!("low rank: {}, every element {}", y.axes_text(), y.get((0, 0)));

    // Sizes are checked when it runs, in the same names.
    let short = Tensor::<(In, Out)>::ones((3, 2));
    println!("{}", x.try_dot(&short, In).unwrap_err());
}
