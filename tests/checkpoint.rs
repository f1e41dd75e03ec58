//! Checkpoints under fire: a training process is killed at random moments and at every step of a save; what is left is
//! always a complete state, the last one or the one before, and training goes on from it with the same bits.

use forge::io::{Checkpoint, TrainerState};
use forge::nn::{Linear, Module};
use forge::optim::{AdamW, Optimizer};
use forge::prelude::*;
use forge::rng::Key;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

axes! { Batch, In, Out }

const DIR: &str = "FORGE_CHECKPOINT_DIR";
const DIE_AT: &str = "FORGE_CHECKPOINT_DIE_AT";
/// Steps of a save, as `Checkpoint::save_observed` counts them; a test below holds it to that.
const SAVE_STEPS: usize = 12;

/// A training run: every state follows from the number of steps alone.
struct Run {
    model: Linear<In, Out>,
    optimizer: Optimizer,
    state: TrainerState,
}

impl Run {
    fn new() -> Self {
        let key = Key::new(17);
        Self {
            model: Linear::new((3, 2), key),
            optimizer: AdamW::new().lr(0.01).build().unwrap(),
            state: TrainerState::new(0, key),
        }
    }

    /// Where the checkpoint is, or at the start when there is none.
    fn resume(c: &Checkpoint) -> Self {
        let mut r = Self::new();
        if c.exists().unwrap() {
            r.state = c.load(&mut r.model, &mut r.optimizer).unwrap();
        }
        r
    }

    fn step(&mut self) {
        let key = self.state.key().derive(self.state.step);
        let x = Tensor::<(Batch, In)>::from_fn((4, 3), |i| key.normal_at(i as u64) as f32);
        let grads = self.model.forward(&x).tanh().square().mean_all().backward().unwrap();
        self.optimizer.step(&mut self.model, &grads).unwrap();
        self.state.step += 1;
        self.state.example += 4;
    }

    fn bits(&self) -> Vec<u32> {
        let dicts = [self.model.state_dict(), self.optimizer.state_dict()];
        let floats = dicts.iter().flat_map(|d| d.values()).filter(|t| t.dtype() == DType::F32);
        floats.flat_map(|t| t.to_vec::<f32>().unwrap()).map(f32::to_bits).collect()
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("forge-checkpoint-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Self(dir)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Not a test of its own: the process that gets killed. It trains and saves after every step.
#[test]
fn child() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let die_at: Option<usize> = std::env::var(DIE_AT).ok().map(|n| n.parse().unwrap());
    let c = Checkpoint::at(dir);
    let mut run = Run::resume(&c);
    let mut steps = 0;
    loop {
        run.step();
        c.save_observed(&run.model, &run.optimizer, &run.state, &mut |_| {
            // No destructor runs, no buffer is flushed: the process is gone, as after `kill -9`.
            if die_at == Some(steps) {
                std::process::abort();
            }
            steps += 1;
        })
        .unwrap();
        if die_at.is_some_and(|d| steps > d) {
            panic!("there is no step {die_at:?}");
        }
    }
}

fn spawn(dir: &Path, die_at: Option<usize>) -> Child {
    let mut c = Command::new(std::env::current_exe().unwrap());
    c.args(["--exact", "child", "--nocapture", "--test-threads=1"]).env(DIR, dir).env("FORGE_THREADS", "1");
    c.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
    if let Some(n) = die_at {
        c.env(DIE_AT, n.to_string());
    }
    c.spawn().unwrap()
}

/// Loads what is left and compares it with a run that was never interrupted; `reference` follows it.
fn survivor(dir: &Path, reference: &mut Run) -> u64 {
    let r = Run::resume(&Checkpoint::at(dir));
    assert!(r.state.step >= reference.state.step, "a state that was complete is lost");
    while reference.state.step < r.state.step {
        reference.step();
    }
    assert_eq!(r.state, reference.state);
    assert_eq!(r.bits(), reference.bits(), "step {}", r.state.step);
    r.state.step
}

#[test]
fn killed_at_any_moment() {
    let f = Folder::new("random");
    let key = Key::new(5);
    let mut reference = Run::new();
    for i in 0..200 {
        let mut child = spawn(&f.0, None);
        std::thread::sleep(Duration::from_micros(key.int_at(i, 0, 60_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        survivor(&f.0, &mut reference);
    }
    assert!(reference.state.step > 20, "the children hardly lived: {} steps", reference.state.step);
}

#[test]
fn killed_at_every_step_of_a_save() {
    let f = Folder::new("steps");
    let mut reference = Run::new();
    // The first save has no old generation to remove; the second has.
    for die_at in 0..2 * SAVE_STEPS {
        let before = reference.state.step;
        let status = spawn(&f.0, Some(die_at)).wait().unwrap();
        assert!(!status.success());
        let step = survivor(&f.0, &mut reference);
        assert!(step <= before + 3, "at most the saves before the kill");
        let left = std::fs::read_dir(&f.0).map(|d| d.count()).unwrap_or(0);
        assert!(left <= 3, "a generation, and what two kills in a row can leave: {left}");
    }
    assert!(reference.state.step >= SAVE_STEPS as u64);
}

#[test]
fn the_steps_of_a_save() {
    let f = Folder::new("count");
    let c = Checkpoint::at(&f.0);
    let mut run = Run::new();
    let mut counts = Vec::new();
    for _ in 0..3 {
        run.step();
        let mut n = 0;
        c.save_observed(&run.model, &run.optimizer, &run.state, &mut |_| n += 1).unwrap();
        counts.push(n);
    }
    assert_eq!(counts, [SAVE_STEPS - 2, SAVE_STEPS, SAVE_STEPS]);
    assert_eq!(c.generations().unwrap(), [3]);
    let c = c.keep(2);
    c.save(&run.model, &run.optimizer, &run.state).unwrap();
    assert_eq!(c.generations().unwrap(), [3, 4]);
}

#[test]
fn resumed_training_has_the_same_bits() {
    let f = Folder::new("resume");
    let c = Checkpoint::at(f.0.join("deep/run"));
    let mut run = Run::new();
    (0..7).for_each(|_| run.step());
    run.state.extra.insert("note".into(), "half way".into());
    c.save(&run.model, &run.optimizer, &run.state).unwrap();
    let mut again = Run::resume(&c);
    assert_eq!(again.state, run.state);
    (0..5).for_each(|_| run.step());
    (0..5).for_each(|_| again.step());
    assert_eq!(again.bits(), run.bits());
    // For inference, the model alone.
    let mut model = Run::new().model;
    c.load_model(&mut model).unwrap();
    assert_ne!(model.weight.to_vec(), Run::new().model.weight.to_vec());
}

#[test]
fn what_does_not_fit_is_said() {
    let f = Folder::new("errors");
    let c = Checkpoint::at(&f.0);
    let mut run = Run::new();
    let text = |r: &mut Run| c.load(&mut r.model, &mut r.optimizer).unwrap_err().to_string();
    assert!(text(&mut run).ends_with("no checkpoint here"));
    run.step();
    c.save(&run.model, &run.optimizer, &run.state).unwrap();

    let mut other = Run::new();
    other.optimizer = AdamW::new().betas(0.5, 0.9).build().unwrap();
    let e = text(&mut other);
    assert!(
        e.contains("saved with the optimizer AdamW(betas 0.9 0.999") && e.contains("this one is AdamW(betas 0.5 0.9"),
        "{e}"
    );
    let mut other = Run::new();
    other.model = Linear::new((9, 2), Key::new(0));
    let before = other.bits();
    assert!(text(&mut other).contains("expected f32 (In 9, Out 2), found f32 (In 3, Out 2)"));
    assert_eq!(other.bits(), before, "nothing is changed by a load that fails");

    let path = |name: &str| f.0.join("00000001").join(name);
    let spoil = |name: &str, change: &dyn Fn(&mut Vec<u8>), words: &str| {
        let good = std::fs::read(path(name)).unwrap();
        let mut bytes = good.clone();
        change(&mut bytes);
        std::fs::write(path(name), bytes).unwrap();
        let e = text(&mut Run::new());
        assert!(e.contains(name) && e.contains(words), "{e}");
        std::fs::write(path(name), good).unwrap();
    };
    spoil("model.safetensors", &|b| *b.last_mut().unwrap() ^= 1, "are not the");
    spoil("optimizer.safetensors", &|b| b.truncate(40), "its 40 bytes are not the");
    spoil("trainer_state.json", &|b| b.truncate(40), "not a trainer's state");
    spoil("trainer_state.json", &|b| b.clear(), "not a trainer's state");
    let newer =
        |b: &mut Vec<u8>| *b = String::from_utf8_lossy(b).replace("\"version\": 1", "\"version\": 2").into_bytes();
    spoil("trainer_state.json", &newer, "version 2 of the format; this program reads 1");
    assert!(c.load(&mut Run::new().model, &mut Run::new().optimizer).is_ok());
    std::fs::remove_file(path("optimizer.safetensors")).unwrap();
    assert!(matches!(c.load(&mut run.model, &mut run.optimizer), Err(Error::Io { .. })));
}

#[test]
fn loading_while_another_saves() {
    let f = Folder::new("race");
    let c = Checkpoint::at(&f.0);
    let mut run = Run::new();
    run.step();
    c.save(&run.model, &run.optimizer, &run.state).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            let mut last = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let r = Run::resume(&c);
                assert!(r.state.step >= last);
                last = r.state.step;
            }
        });
        for _ in 0..100 {
            run.step();
            c.save(&run.model, &run.optimizer, &run.state).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
