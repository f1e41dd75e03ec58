//! From a WAV file through a profile to a WAV file.

use crate::picture::{Picture, draw};
use forge_nam::{
    audio::{Sound, read_wav, write_wav},
    model::Options,
    player::Player,
    profile::Profile,
};
use std::{
    error::Error,
    fs,
    io::{IsTerminal, Write, stderr},
    path::Path,
    time::Instant,
};

/// What to play, and how.
pub struct Job<'a> {
    pub profile: &'a Path,
    pub input: &'a Path,
    pub output: &'a Path,
    /// Samples of a block.
    pub block: usize,
    /// Whether silence settles the profile first.
    pub prewarm: bool,
}

/// Plays and writes; gives back what went in and what came out.
pub fn render(job: &Job<'_>) -> Result<(Sound, Vec<f32>), Box<dyn Error>> {
    let profile = Profile::open(job.profile).map_err(|e| in_file(job.profile, &e))?;
    for warning in &profile.warnings {
        eprintln!("amp: note: {}: {warning}", job.profile.display());
    }
    let sound = read_wav(job.input)?;
    if sound.channels > 1 {
        eprintln!("amp: note: {} has {} channels: the first is played", job.input.display(), sound.channels);
    }
    if let Some(rate) = profile.sample_rate
        && rate != f64::from(sound.sample_rate)
    {
        return Err(format!(
            "{} has {} samples a second, but the profile was trained at {rate}: convert the sound to that rate",
            job.input.display(),
            sound.sample_rate
        )
        .into());
    }
    let mut player = Player::new(&profile, job.block, Options::default()).map_err(|e| in_file(job.profile, &e))?;
    let start = Instant::now();
    if job.prewarm {
        player.prewarm();
    }
    let mut out = vec![0.0; sound.samples.len()];
    let mut progress = Progress::new();
    let mut done = 0;
    for (input, output) in sound.samples.chunks(job.block).zip(out.chunks_mut(job.block)) {
        player.process(input, output);
        done += input.len();
        progress.show(done, sound.samples.len());
    }
    progress.clear();
    if let Some(index) = out.iter().position(|v| !v.is_finite()) {
        return Err(format!("{}: its output is not finite from sample {index} on", job.profile.display()).into());
    }
    write_wav(job.output, sound.sample_rate, &out)?;
    let seconds = out.len() as f64 / f64::from(sound.sample_rate);
    println!(
        "{}: {seconds:.2} s of sound in {:.2} s, peak {:.3}",
        job.output.display(),
        start.elapsed().as_secs_f64(),
        out.iter().fold(0.0f32, |m, v| m.max(v.abs()))
    );
    Ok((sound, out))
}

/// The shipped phrase through the shipped profile, and the picture.
pub fn demo() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = root.join("target");
    fs::create_dir_all(&target).map_err(|e| format!("cannot make the folder {}: {e}", target.display()))?;
    let (wav, png) = (target.join("amp.wav"), target.join("amp.png"));
    let job = Job {
        profile: &root.join("examples/assets/amp/feather.nam"),
        input: &root.join("examples/assets/amp/di-guitar.wav"),
        output: &wav,
        block: 64,
        prewarm: true,
    };
    let (sound, out) = render(&job)?;
    let title = "di-guitar.wav through feather.nam";
    draw(&png, &Picture { title, sample_rate: sound.sample_rate, before: &sound.samples, after: &out })?;
    println!("{}: wave and spectrum before and after", png.display());
    Ok(())
}

fn in_file(path: &Path, error: &forge_nam::profile::ProfileError) -> Box<dyn Error> {
    match error {
        // It names the file itself.
        forge_nam::profile::ProfileError::Read { .. } => error.to_string().into(),
        _ => format!("{}: {error}", path.display()).into(),
    }
}

/// A line on the terminal that says how far it is; nothing where stderr is no terminal.
struct Progress {
    shown: Option<u64>,
    terminal: bool,
}

impl Progress {
    fn new() -> Self {
        Self { shown: None, terminal: stderr().is_terminal() }
    }

    fn show(&mut self, done: usize, total: usize) {
        let percent = done as u64 * 100 / total.max(1) as u64;
        if self.terminal && self.shown != Some(percent) {
            self.shown = Some(percent);
            // A terminal that is gone is no reason to stop.
            let _ = write!(stderr(), "\rplaying {percent:3} %");
        }
    }

    fn clear(&self) {
        if self.shown.is_some() {
            let _ = write!(stderr(), "\r              \r");
        }
    }
}
