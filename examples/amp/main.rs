//! Plays neural amp profiles (.nam): `cargo run --release --example amp`, and `-- render --help` for your own.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program talks on its terminal")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts of samples, and places in a picture"
)]

mod picture;
mod render;

use clap::{Args, Parser, Subcommand};
use std::{path::PathBuf, process::ExitCode};

/// Plays sound through neural amp profiles (.nam).
///
/// Without arguments it plays a shipped phrase of guitar through a shipped profile, and writes target/amp.wav and a
/// picture of both waves and spectra, target/amp.png.
#[derive(Parser)]
#[command(name = "amp", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "Examples:
  amp                                        the shipped profile and phrase
  amp render twin.nam guitar.wav out.wav     your own
  amp render twin.nam guitar.wav out.wav --block 512 --no-prewarm
  amp render a2.nam guitar.wav out.wav --slim 0.3

Exit codes: 0 done, 1 something is wrong with a file, 2 something is wrong with the command line.";

#[derive(Subcommand)]
enum Command {
    /// Play a WAV file through a profile into another WAV file.
    ///
    /// The first channel of the input is played (16, 24 or 32-bit integer, or 32-bit float). Its sample rate must be the
    /// profile's. The output is mono, 32-bit float, of the same length.
    Render(Render),
}

#[derive(Args)]
struct Render {
    /// The profile, a .nam file.
    profile: PathBuf,
    /// The sound to play, a WAV file.
    input: PathBuf,
    /// The WAV file to write. It appears whole or not at all.
    output: PathBuf,
    /// Samples of a block. It changes how much silence is played before, not the sound that follows from it.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    block: u32,
    /// Begin at once, without silence that settles the profile first.
    #[arg(long)]
    no_prewarm: bool,
    /// Play a quotient of polynomials for tanh, as some hosts do. It differs by about a thousandth.
    #[arg(long)]
    fast_tanh: bool,
    /// The quality from 0 to 1, for profiles that hold several sizes of a model. The best unless given.
    #[arg(long, value_name = "V", value_parser = quality)]
    slim: Option<f64>,
}

/// Parses a number from 0 to 1.
fn quality(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(v) if (0.0..=1.0).contains(&v) => Ok(v),
        _ => Err("it must be a number from 0 to 1".to_owned()),
    }
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Some(Command::Render(r)) => {
            let job = render::Job {
                profile: &r.profile,
                input: &r.input,
                output: &r.output,
                block: r.block as usize,
                prewarm: !r.no_prewarm,
                fast_tanh: r.fast_tanh,
                quality: r.slim,
            };
            render::render(&job).map(drop)
        }
        None => render::demo(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("amp: {error}");
            ExitCode::FAILURE
        }
    }
}
