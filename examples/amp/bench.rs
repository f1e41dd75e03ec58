//! How long a block takes.

use crate::render::in_file;
use forge_nam::{
    engine::{Engine, Options},
    profile::Profile,
};
use std::{error::Error, hint::black_box, path::PathBuf, time::Instant};

/// What is measured, and how.
pub struct Bench<'a> {
    pub profiles: &'a [PathBuf],
    /// Samples of a block.
    pub block: usize,
    /// Blocks that are timed for each profile.
    pub blocks: usize,
    pub options: Options,
}

/// Prints a line for each profile: its name, then the median, the tenth and the ninety-ninth percentile of the
/// microseconds that a block of noise takes.
pub fn bench(bench: &Bench<'_>) -> Result<(), Box<dyn Error>> {
    for path in bench.profiles {
        let profile = Profile::open(path).map_err(|e| in_file(path, &e))?;
        let mut engine = Engine::new(&profile, bench.block, bench.options).map_err(|e| in_file(path, &e))?;
        let (ins, outs) = engine.plan().channels();
        engine.prewarm();
        let mut input = vec![vec![0.0f64; bench.block]; ins];
        let mut output = vec![vec![0.0f64; bench.block]; outs];
        let mut seed = 1u32;
        let mut times: Vec<f64> = (0..bench.blocks)
            .map(|_| {
                for v in input.iter_mut().flatten() {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    *v = 0.3 * (f64::from(seed) / f64::from(1u32 << 31) - 1.0);
                }
                let x: Vec<&[f64]> = input.iter().map(Vec::as_slice).collect();
                let mut y: Vec<&mut [f64]> = output.iter_mut().map(Vec::as_mut_slice).collect();
                let start = Instant::now();
                engine.process_channels(&x, &mut y);
                let time = start.elapsed().as_secs_f64() * 1e6;
                black_box(&output);
                time
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        println!("{name} {:.2} {:.2} {:.2}", at(50), at(10), at(99));
    }
    Ok(())
}
