//! 08: the same operations without types, for shapes that only a file or a user knows.
//!
//! `cargo run --release --example 08_erased`

#![allow(clippy::print_stdout, reason = "an example shows its results")]

use forge::prelude::*;

axes! { Batch, In }

fn main() -> Result<(), Error> {
    // Names come as strings, and mistakes come back as errors in the words of the compiler.
    let x = DynTensor::from_vec(&["Batch", "In"], &[2, 3], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let w = DynTensor::from_vec(&["In", "Out"], &[3, 2], vec![1.0f32, 0.0, 0.0, 1.0, 1.0, 1.0])?;
    println!("{:?}", x.dot(&w, &["In"])?);
    println!("{}", x.dot(&w, &["Batch"]).unwrap_err());
    println!("{}", x.add(&w).unwrap_err());
    println!("{}", x.permute(&["In"]).unwrap_err());

    // Into the typed world and back, without a copy. Names, order, fixed sizes and element type are checked.
    let typed: Tensor<(Batch, In)> = x.typed()?;
    println!("{}", typed.mean(Batch));
    println!("{}", x.typed::<(In, Batch), f32>().unwrap_err());
    println!("{:?}", typed.erase().sum("In")?);
    Ok(())
}
