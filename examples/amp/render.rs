//! From a WAV file through a profile to a WAV file.

use crate::picture::{Picture, draw};
use forge_nam::{
    audio::{Sound, read_wav, write_wav},
    engine::{Engine, Options},
    profile::{Profile, ProfileError},
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
    /// Whether a quotient of polynomials stands for tanh.
    pub fast_tanh: bool,
    /// The quality in 0..1 for profiles that have several sizes.
    pub quality: Option<f64>,
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
    let (ins, outs) = profile.channels();
    if (ins, outs) != (1, 1) {
        let what = format!("it takes {ins} channels and gives {outs}: only profiles of one channel are played here");
        return Err(format!("{}: {what}", job.profile.display()).into());
    }
    let options = Options::default().fast_tanh(job.fast_tanh).quality(job.quality);
    let mut engine = Engine::new(&profile, job.block, options).map_err(|e| in_file(job.profile, &e))?;
    engine.reset(f64::from(sound.sample_rate), job.block).map_err(|e| in_file(job.input, &e))?;
    let start = Instant::now();
    if job.prewarm {
        engine.prewarm();
    }
    let mut out = vec![0.0; sound.samples.len()];
    let mut progress = Progress::new();
    let mut done = 0;
    for (input, output) in sound.samples.chunks(job.block).zip(out.chunks_mut(job.block)) {
        engine.process(input, output);
        done += input.len();
        progress.show(done, sound.samples.len());
    }
    progress.clear();
    let took = start.elapsed().as_secs_f64();
    if let Some(index) = out.iter().position(|v| !v.is_finite()) {
        return Err(format!("{}: its output is not finite from sample {index} on", job.profile.display()).into());
    }
    write_wav(job.output, sound.sample_rate, &out)?;
    let seconds = out.len() as f64 / f64::from(sound.sample_rate);
    println!(
        "{}: {seconds:.2} s of sound in {:.0} ms ({:.0} times as fast as it sounds), peak {:.3}",
        job.output.display(),
        1e3 * took,
        seconds / took,
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
        fast_tanh: false,
        quality: None,
    };
    let (sound, out) = render(&job)?;
    let title = "di-guitar.wav through feather.nam";
    draw(&png, &Picture { title, sample_rate: sound.sample_rate, before: &sound.samples, after: &out })?;
    println!("{}: wave and spectrum before and after", png.display());
    Ok(())
}

fn in_file(path: &Path, error: &ProfileError) -> Box<dyn Error> {
    match error {
        // It names the file itself.
        ProfileError::Read { .. } => error.to_string().into(),
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
