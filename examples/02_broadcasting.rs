//! 02: arithmetic broadcasts by name, and never grows a result that nobody asked to grow.
//!
//! `cargo run --release --example 02_broadcasting`

#![allow(clippy::print_stdout, reason = "an example shows its results")]

use forge::prelude::*;

axes! { Batch, In, Row, Col }

fn main() {
    let x = Tensor::<(Batch, In)>::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let bias = Tensor::<In>::from([10.0, 20.0, 30.0]);

    // The right operand's axes must be among the left's. It is repeated along the others.
    println!("x + bias = {}", &x + &bias);

    // Their order does not matter: names decide.
    let other: Tensor<(In, Batch)> = x.permute();
    println!("x - x^T = {}", &x - &other);

    // Numbers work from both sides; an operand given by value lends its memory to the result.
    println!("2 x + 1 = {}", 2.0 * &x + 1.0);

    // An outer product is asked for by name. (`&row * &col` does not compile: `Col` is not in `Row`.)
    let row = Tensor::<Row>::from([1.0, 2.0]);
    let col = Tensor::<Col>::from([10.0, 20.0, 30.0]);
    let table: Tensor<(Row, Col)> = row.outer_mul(&col);
    println!("row x col = {table}");

    // Centre the columns: the mean over `Batch` lacks that axis, so it is repeated along it.
    let centred = &x - &x.mean(Batch);
    println!("centred = {centred}, which sums to {}", centred.sum(Batch));
}
