//! Checkpoints: a training run on disk, whole at any moment.
//!
//! A checkpoint is a folder of generations. Each save writes a new generation beside the last one, makes it durable, and
//! gives it its name by one rename: that is the moment at which it counts. Then the older ones go. Whoever loads takes the
//! newest name, so a process that is killed at any point leaves the old state or the new one.
//!
//! ```text
//! run/
//!   00000017/
//!     model.safetensors      parameters and buffers
//!     optimizer.safetensors  the optimizer's state
//!     trainer_state.json     step, random key, position in the data; sizes and checksums of the other two
//! ```

use super::atomic::{bad, io, sync_dir, write_new};
use super::safetensors::{self, Text};
use crate::error::{Error, Result};
use crate::nn::{Module, StateDict};
use crate::optim::Optimizer;
use forge_kernels::rng::{Key, mix};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const VERSION: u32 = 1;
const MODEL: &str = "model.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const TRAINER: &str = "trainer_state.json";

/// Where a training run is, beside its tensors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainerState {
    /// Optimizer steps that were taken.
    pub step: u64,
    /// Position in the learning-rate schedule: usually the step.
    pub schedule_step: u64,
    /// Seed of the run's random key.
    pub seed: u64,
    /// Stream of the run's random key.
    pub stream: u64,
    /// Passes over the data that are complete.
    pub epoch: u64,
    /// Examples of the current pass that were used.
    pub example: u64,
    /// Whatever else the program wants to find again.
    #[serde(default)]
    pub extra: BTreeMap<String, String>,
}

impl TrainerState {
    /// After `step` steps of a run with the random numbers of `key`.
    pub fn new(step: u64, key: Key) -> Self {
        Self { step, schedule_step: step, seed: key.seed, stream: key.stream, ..Self::default() }
    }

    /// The run's random key.
    pub fn key(&self) -> Key {
        Key { seed: self.seed, stream: self.stream }
    }
}

/// `trainer_state.json`.
#[derive(Serialize, Deserialize)]
struct Manifest {
    version: u32,
    /// [`Optimizer::description`]: a state continues only under the same rules.
    optimizer: Vec<String>,
    files: BTreeMap<String, Seal>,
    trainer: TrainerState,
}

/// Size and checksum of a file.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
struct Seal {
    bytes: u64,
    checksum: String,
}

impl Seal {
    fn of(bytes: &[u8]) -> Self {
        let mut sum = mix(bytes.len() as u64);
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            sum = mix(sum ^ u64::from_le_bytes(word));
        }
        Self { bytes: bytes.len() as u64, checksum: format!("{sum:016x}") }
    }
}

/// The folder that holds a run's checkpoint. One process at a time may save to it; any number may load.
///
/// ```
/// use forge::io::{Checkpoint, TrainerState};
/// use forge::nn::Linear;
/// use forge::optim::Sgd;
/// use forge::prelude::*;
/// use forge::rng::Key;
/// axes! { Batch, In, Out }
///
/// let dir = std::env::temp_dir().join(format!("forge-doc-checkpoint-{}", std::process::id()));
/// let checkpoint = Checkpoint::at(&dir);
/// let key = Key::new(3);
/// let new = || Linear::<In, Out>::new((2, 1), key);
/// let (mut model, mut optimizer) = (new(), Sgd::new().lr(0.1).momentum(0.9).build()?);
/// let grads = model.forward(&Tensor::<(Batch, In)>::ones((4, 2))).square().mean_all().backward()?;
/// optimizer.step(&mut model, &grads)?;
/// checkpoint.save(&model, &optimizer, &TrainerState::new(1, key))?;
///
/// let (mut again, mut its_optimizer) = (new(), Sgd::new().lr(0.1).momentum(0.9).build()?);
/// let state = checkpoint.load(&mut again, &mut its_optimizer)?;
/// assert_eq!((state.step, state.key()), (1, key));
/// assert_eq!(again.weight.to_vec(), model.weight.to_vec());
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), forge::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint {
    dir: PathBuf,
    keep: usize,
}

impl Checkpoint {
    /// The checkpoint in folder `dir`, which the first save makes.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), keep: 1 }
    }

    /// Keeps the newest `n` generations instead of one. (0 is 1: the last one always stays.)
    #[must_use]
    pub fn keep(mut self, n: usize) -> Self {
        self.keep = n.max(1);
        self
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Complete generations, oldest first.
    ///
    /// # Errors
    /// When the folder exists and cannot be read.
    pub fn generations(&self) -> Result<Vec<u64>> {
        let entries = match fs::read_dir(&self.dir) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(io(&self.dir))?,
        };
        let mut found = Vec::new();
        for e in entries {
            let name = e.map_err(io(&self.dir))?.file_name();
            let name = name.to_string_lossy();
            if name.len() >= 8 && name.bytes().all(|b| b.is_ascii_digit()) {
                found.extend(name.parse::<u64>());
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Whether there is a generation to load.
    ///
    /// # Errors
    /// When the folder exists and cannot be read.
    pub fn exists(&self) -> Result<bool> {
        Ok(!self.generations()?.is_empty())
    }

    fn generation(&self, n: u64) -> PathBuf {
        self.dir.join(format!("{n:08}"))
    }

    /// Saves a new generation and, when it is complete and durable, removes the older ones.
    ///
    /// # Errors
    /// When something cannot be written. The last generation is then still there.
    pub fn save(&self, model: &(impl Module + ?Sized), optimizer: &Optimizer, state: &TrainerState) -> Result<u64> {
        self.save_observed(model, optimizer, state, &mut |_| ())
    }

    /// [`Self::save`] that says before each step on disk which one it is. For tests that stop there.
    #[doc(hidden)]
    pub fn save_observed(
        &self,
        model: &(impl Module + ?Sized),
        optimizer: &Optimizer,
        state: &TrainerState,
        step: &mut dyn FnMut(&'static str),
    ) -> Result<u64> {
        step("make the folder");
        fs::create_dir_all(&self.dir).map_err(io(&self.dir))?;
        step("remove what a killed process left");
        self.sweep()?;
        let last = self.generations()?.pop().unwrap_or(0);
        let next = last.checked_add(1).ok_or_else(|| bad(&self.dir, "its generations are used up"))?;

        let temp = self.dir.join(format!(".new-{next:08}"));
        step("make the new generation");
        fs::create_dir(&temp).map_err(io(&temp))?;
        let mut files = BTreeMap::new();
        let mut write = |name: &str, dict: &StateDict| {
            let path = temp.join(name);
            let bytes = safetensors::to_bytes(&path, dict, &Text::new())?;
            files.insert(name.to_owned(), Seal::of(&bytes));
            write_new(&path, &bytes)
        };
        step("write the model");
        write(MODEL, &model.state_dict())?;
        step("write the optimizer");
        write(OPTIMIZER, &optimizer.state_dict())?;
        let manifest = Manifest { version: VERSION, optimizer: optimizer.description(), files, trainer: state.clone() };
        let path = temp.join(TRAINER);
        let json = serde_json::to_vec_pretty(&manifest).map_err(|e| bad(&path, format!("not written: {e}")))?;
        step("write the trainer's state");
        write_new(&path, &json)?;
        step("make the new generation durable");
        sync_dir(&temp)?;
        step("give it its name");
        let named = self.generation(next);
        fs::rename(&temp, &named).map_err(io(&named))?;
        step("make the name durable");
        sync_dir(&self.dir)?;

        let all = self.generations()?;
        for &old in &all[..all.len().saturating_sub(self.keep)] {
            // First the name goes, so that no half of a generation is ever under one.
            let gone = self.dir.join(format!(".old-{old:08}"));
            step("take an old generation's name");
            fs::rename(self.generation(old), &gone).map_err(io(&gone))?;
            step("remove an old generation");
            fs::remove_dir_all(&gone).map_err(io(&gone))?;
        }
        step("done");
        Ok(next)
    }

    /// Removes what a process that was killed left behind.
    fn sweep(&self) -> Result<()> {
        for e in fs::read_dir(&self.dir).map_err(io(&self.dir))? {
            let path = e.map_err(io(&self.dir))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(".new-") || name.starts_with(".old-") {
                fs::remove_dir_all(&path).map_err(io(&path))?;
            }
        }
        Ok(())
    }

    /// Loads the newest generation into a model and an optimizer that were built as those that were saved.
    ///
    /// Training that goes on from here gives the same bits as training that never stopped. Learning rates are not part
    /// of a checkpoint: they are the program's.
    ///
    /// # Errors
    /// When there is none, a file is missing, cut or changed, or it does not fit the model or the optimizer's rules.
    /// Neither is changed then.
    pub fn load(&self, model: &mut (impl Module + ?Sized), optimizer: &mut Optimizer) -> Result<TrainerState> {
        let (dir, manifest, [weights, state]) = self.newest([MODEL, OPTIMIZER])?;
        if manifest.optimizer != optimizer.description() {
            let (theirs, ours) = (manifest.optimizer.join("; "), optimizer.description().join("; "));
            return Err(bad(&dir, format!("saved with the optimizer {theirs}; this one is {ours}")));
        }
        let mut loaded = optimizer.clone();
        loaded.load_state_dict(&state)?;
        model.load_state_dict(&weights)?;
        *optimizer = loaded;
        Ok(manifest.trainer)
    }

    /// Loads the newest generation's parameters and buffers: for inference, or to begin another training.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_model(&self, model: &mut (impl Module + ?Sized)) -> Result<TrainerState> {
        let (_, manifest, [weights]) = self.newest([MODEL])?;
        model.load_state_dict(&weights)?;
        Ok(manifest.trainer)
    }

    /// The newest generation: its folder, its manifest and the tensors of the files `names`.
    fn newest<const N: usize>(&self, names: [&str; N]) -> Result<(PathBuf, Manifest, [StateDict; N])> {
        loop {
            let Some(n) = self.generations()?.pop() else {
                return Err(bad(&self.dir, "no checkpoint here"));
            };
            let dir = self.generation(n);
            match open(&dir, names) {
                // A saving process has removed it under our hands: then there is a newer one.
                Err(Error::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound && self.generations()?.last() > Some(&n) => {}
                other => {
                    let (manifest, dicts) = other?;
                    return Ok((dir, manifest, dicts));
                }
            }
        }
    }
}

/// The manifest and the named files of one generation, checked against each other.
fn open<const N: usize>(dir: &Path, names: [&str; N]) -> Result<(Manifest, [StateDict; N])> {
    let path = dir.join(TRAINER);
    let bytes = fs::read(&path).map_err(io(&path))?;
    let manifest: Manifest =
        serde_json::from_slice(&bytes).map_err(|e| bad(&path, format!("not a trainer's state: {e}")))?;
    if manifest.version != VERSION {
        let what = format!("version {} of the format; this program reads {VERSION}", manifest.version);
        return Err(bad(&path, what));
    }
    let mut dicts = [const { StateDict::new() }; N];
    for (dict, name) in dicts.iter_mut().zip(names) {
        let seal = manifest.files.get(name).ok_or_else(|| bad(&path, format!("does not list {name}")))?;
        let path = dir.join(name);
        let bytes = fs::read(&path).map_err(io(&path))?;
        if *seal != Seal::of(&bytes) {
            let what = format!("its {} bytes are not the {} bytes that were saved", bytes.len(), seal.bytes);
            return Err(bad(&path, what));
        }
        *dict = safetensors::from_bytes(&path, &bytes)?.0;
    }
    Ok((manifest, dicts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts_in_the_checksum() {
        let mut data: Vec<u8> = (0..100).collect();
        let all = Seal::of(&data);
        for i in 0..data.len() {
            data[i] ^= 1;
            assert!(Seal::of(&data) != all, "byte {i}");
            data[i] ^= 1;
        }
        data.push(0);
        assert!(Seal::of(&data) != all, "a zero at the end");
    }
}
