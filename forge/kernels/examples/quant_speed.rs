//! How fast products with stored weights are: `cargo run --release -p forge-kernels --example quant_speed [FORMAT..]`.
//!
//! For each format and number of rows `m`, GB/s of weights and GOP/s (a multiplication and an addition are two), beside
//! what one pass over memory gives. `FORGE_THREADS` sets the threads.

#![allow(clippy::print_stdout, reason = "a program that prints a table")]

use forge_kernels::quant::{Format, Matrix, Mode, matmul};
use forge_kernels::team;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Rows and columns of one matrix, as in a model of about 600 million weights.
const ROWS: usize = 3072;
const COLS: usize = 1024;
/// Weights of all matrices together: more than caches hold.
const TOTAL: usize = 1 << 27;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    println!("{} threads, {}", team::threads(), forge_kernels::isa::report());
    println!("memory: {:.1} GB/s", memory());
    println!("{:8}{:>6}{:>10}{:>10}", "format", "m", "GB/s", "GOP/s");
    for &format in Format::ALL {
        let wanted = if asked.is_empty() {
            format.is_real()
        } else {
            asked.iter().any(|a| Format::from_name(a) == Some(format))
        };
        if wanted {
            measure(format);
        }
    }
}

/// Best of some passes over more memory than caches hold, in GB/s.
fn memory() -> f64 {
    let data = vec![1u64; 1 << 25];
    let best = (0..7)
        .map(|_| {
            let sum = AtomicU64::new(0);
            let start = Instant::now();
            team::run(256, |i| {
                let part = &data[i << 17..(i + 1) << 17];
                let lanes = part.as_chunks::<8>().0.iter().fold([0u64; 8], |mut a, x| {
                    a.iter_mut().zip(x).for_each(|(a, x)| *a = a.wrapping_add(*x));
                    a
                });
                sum.fetch_add(lanes.iter().sum(), Ordering::Relaxed);
            });
            black_box(sum);
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    (data.len() * 8) as f64 / best / 1e9
}

fn measure(format: Format) {
    let bytes = ROWS * format.row_bytes(COLS).unwrap();
    let count = (TOTAL / (ROWS * COLS)).max(2);
    // Bytes that are small numbers in every format.
    let data: Vec<u8> = (0..bytes * count).map(|i| (i % 29) as u8).collect();
    for m in [1, 2, 3, 4, 8, 16, 32, 64, 512] {
        let x: Vec<f32> = (0..m * COLS).map(|i| (i % 17) as f32 - 8.0).collect();
        let mut out = vec![0.0; m * ROWS];
        let runs = if m == 1 { 5 } else { 3 };
        // Enough matrices to leave the caches, or enough time.
        let used = if m >= 16 { 2.min(count) } else { count };
        let mut best = f64::INFINITY;
        for _ in 0..runs {
            let start = Instant::now();
            for w in data.chunks_exact(bytes).take(used) {
                let w = Matrix::new(format, ROWS, COLS, w).unwrap();
                matmul(&w, &x, m, &mut out, Mode::Fast).unwrap();
                black_box(&out);
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        let (gb, gop) = ((bytes * used) as f64 / best / 1e9, (2 * ROWS * COLS * used * m) as f64 / best / 1e9);
        println!("{:8}{m:>6}{gb:>10.1}{gop:>10.1}", format.name());
    }
}
