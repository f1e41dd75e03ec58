//! 04: split, permute and merge in one readable line.
//!
//! `cargo run --release --example 04_rearrange`

#![allow(clippy::print_stdout, reason = "an example shows its results")]

use forge::prelude::*;

axes! { Batch, Seq, Model, Head, Dim, Height, Width, Channel, PatchRow, PatchCol, Row, Col, Patch, Pixel }

fn main() {
    // Split the model axis into heads and bring them forward.
    let x = Tensor::<(Batch, Seq, Model)>::from_fn((2, 3, 32), |i| i as f32);
    let heads = rearrange!(x[Batch, Seq, Model => (Head = 4, Dim)] -> [Batch, Head, Seq, Dim]);
    println!("heads: {}", heads.axes_text());

    // And back.
    let back = rearrange!(heads[Batch, Head, Seq, Dim] -> [Batch, Seq, (Head, Dim) => Model]);
    println!("back: {}, equal: {}", back.axes_text(), back.to_vec() == x.to_vec());

    // Cut an image into patches of 8 x 8.
    let image = Tensor::<(Height, Width, Channel)>::from_fn((32, 48, 3), |i| (i % 255) as f32);
    let patches = rearrange!(
        image[Height => (Row, PatchRow = 8), Width => (Col, PatchCol = 8), Channel]
            -> [(Row, Col) => Patch, (PatchRow, PatchCol, Channel) => Pixel]
    );
    println!("patches: {}", patches.axes_text());

    // Axes that vanish are reduced, and the line says how.
    let mean = rearrange!(mean image[Height, Width, Channel] -> [Channel]);
    println!("mean colour: {mean}");

    // Views are free: the diagonal, a flip, every second column.
    let m = Tensor::<(Row, Col)>::from_fn((4, 4), |i| i as f32);
    println!("diagonal: {}", m.diagonal(Row, Col, Patch));
    println!("flipped: {}", m.flip(Row).select(Row, 0));
    println!("every second column: {}", m.slice(Col, None, None, 2).select(Row, -1));
}
