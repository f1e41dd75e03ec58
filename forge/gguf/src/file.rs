//! A model: one file, or the parts of a split one.

use crate::error::{GgufError, Result};
use crate::kind::GgmlType;
use crate::limits::Limits;
use crate::metadata::{self, Metadata};
use crate::parse::{self, Part, TensorInfo};
use crate::split;
use crate::storage::{Load, Storage, TensorBytes};
use std::path::{Path, PathBuf};

/// A model file, or all parts of a split one, read and checked.
///
/// Nothing of it is copied but its names: metadata and tensors are read in place. Every offset, count and size was
/// checked when it was opened, so that looking at it cannot fail for want of bytes.
///
/// ```
/// use forge_gguf::{Gguf, GgmlType, Writer};
/// let mut w = Writer::new();
/// w.set("general.architecture", "tiny")?;
/// w.tensor("scale", GgmlType::F32, &[2], [1.0f32, 0.5].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>())?;
/// let model = Gguf::from_bytes(w.to_bytes()?)?;
///
/// let scale = model.tensor("scale")?;
/// assert_eq!((scale.info().kind, scale.info().sizes.as_slice()), (GgmlType::F32, &[2][..]));
/// assert_eq!(scale.bytes().len(), 8);
/// assert_eq!(
///     model.tensor("scales").unwrap_err().to_string(),
///     "tensor `scales` is missing; the file has `scale`"
/// );
/// # Ok::<(), forge_gguf::GgufError>(())
/// ```
pub struct Gguf {
    /// The parts in order; at least one.
    pub(crate) parts: Vec<Part>,
    /// The files of the parts; empty for bytes in memory.
    paths: Vec<PathBuf>,
    /// Part and number within it of every tensor, sorted by name.
    sorted: Vec<(u32, u32)>,
}

/// How to open a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How its bytes come into memory.
    pub load: Load,
    /// How much it may ask for.
    pub limits: Limits,
    /// Whether to open this file alone even if it is part of a split model.
    pub alone: bool,
}

impl Gguf {
    /// Opens a model. If the file is one part of a split model (`NAME-00001-of-00003.gguf`), whichever it is, all parts
    /// are opened from its folder.
    ///
    /// # Errors
    /// [`GgufError::File`] that says of which file, and what is wrong with it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &Options::default())
    }

    /// [`Gguf::open`] with options.
    ///
    /// # Errors
    /// As [`Gguf::open`].
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        let path = path.as_ref();
        let open = |path: &Path| {
            Storage::open(path, options.load).and_then(|s| parse::part(s, &options.limits)).map_err(|e| e.of(path))
        };
        let first = open(path)?;
        let split = split::of(&first.metadata).map_err(|e| e.of(path))?;
        let Some(split) = split.filter(|s| s.count > 1 && !options.alone) else {
            return Self::new(vec![first], vec![path.to_owned()]).map_err(|e| e.of(path));
        };
        if u64::from(split.count) > options.limits.parts {
            let what = "the count of parts of the split model".to_owned();
            let (got, limit) = (split.count.into(), options.limits.parts);
            return Err(GgufError::Limit { what, got, limit, name: "parts" }.of(path));
        }
        let (mut parts, mut paths) = (Vec::new(), Vec::new());
        let mut first = Some(first);
        for no in 0..split.count {
            let other = split::path_of(path, split, no).map_err(|e| e.of(path))?;
            let part = match first.take_if(|_| no == split.no) {
                Some(p) => p,
                None => open(&other)?,
            };
            split::check(&part.metadata, no, split).map_err(|e| e.of(&other))?;
            parts.push(part);
            paths.push(other);
        }
        let have: usize = parts.iter().map(|p| p.tensors.len()).sum();
        split::check_total(have, split).map_err(|e| e.of(path))?;
        Self::new(parts, paths).map_err(|e| e.of(path))
    }

    /// Reads a file that is in memory. Part of a split model is read alone.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::from_bytes_with(bytes, &Limits::default())
    }

    /// [`Gguf::from_bytes`] within limits.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_bytes_with(bytes: Vec<u8>, limits: &Limits) -> Result<Self> {
        Self::new(vec![parse::part(Storage::heap(bytes), limits)?], Vec::new())
    }

    fn new(parts: Vec<Part>, paths: Vec<PathBuf>) -> Result<Self> {
        let all: Vec<(u32, u32)> = parts
            .iter()
            .enumerate()
            .flat_map(|(p, part)| (0..part.tensors.len()).map(move |t| (p as u32, t as u32)))
            .collect();
        let names: Vec<&str> = parts.iter().flat_map(|p| &p.tensors).map(|t| t.name.as_str()).collect();
        let sorted = metadata::sorted(&names, "tensor")?.into_iter().map(|i| all[i as usize]).collect();
        Ok(Self { parts, paths, sorted })
    }

    /// The metadata; of a split model, that of its first part.
    pub fn metadata(&self) -> &Metadata {
        &self.parts[0].metadata
    }

    /// The version of the format: 2 or 3.
    pub fn version(&self) -> u32 {
        self.parts[0].version
    }

    /// The alignment of tensors in the (first) file.
    pub fn alignment(&self) -> u64 {
        self.parts[0].alignment
    }

    /// The files that were opened; none if it was read from memory.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The size of all files together, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.parts.iter().map(|p| p.storage.len() as u64).sum()
    }

    /// All tensors, in the order of the files.
    pub fn tensors(&self) -> impl Iterator<Item = Tensor<'_>> {
        self.parts.iter().flat_map(|part| part.tensors.iter().map(move |info| Tensor { part, info }))
    }

    /// The tensor of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<Tensor<'_>> {
        let of = |&(p, t): &(u32, u32)| {
            let part = &self.parts[p as usize];
            Tensor { part, info: &part.tensors[t as usize] }
        };
        let at = self.sorted.binary_search_by(|k| of(k).info.name.as_str().cmp(name)).ok()?;
        Some(of(&self.sorted[at]))
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// [`GgufError::MissingTensor`], which names the most similar tensor that there is.
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>> {
        self.find(name).ok_or_else(|| {
            let names = self.tensors().map(|t| t.info.name.as_str());
            let common = |n: &str| n.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
            // The longest common start; of several the one whose length is nearest.
            let near = names.max_by_key(|n| (common(n), usize::MAX - n.len().abs_diff(name.len())));
            let hint = near.filter(|n| 2 * common(n) >= name.len());
            let hint = hint.map(|n| format!("; the file has `{n}`")).unwrap_or_default();
            GgufError::MissingTensor { tensor: name.to_owned(), hint }
        })
    }
}

impl std::fmt::Debug for Gguf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tensors = self.sorted.len();
        f.debug_struct("Gguf")
            .field("paths", &self.paths)
            .field("version", &self.version())
            .field("entries", &self.metadata().len())
            .field("tensors", &tensors)
            .finish()
    }
}

/// A tensor in a file.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    part: &'a Part,
    info: &'a TensorInfo,
}

impl<'a> Tensor<'a> {
    /// What it is.
    pub fn info(&self) -> &'a TensorInfo {
        self.info
    }

    /// The type of its elements.
    pub fn kind(&self) -> GgmlType {
        self.info.kind
    }

    /// Its bytes, in the file.
    pub fn bytes(&self) -> &'a [u8] {
        &self.part.storage[self.part.range(self.info)]
    }

    /// Its bytes as a value that keeps the file alive.
    pub fn shared(&self) -> TensorBytes {
        TensorBytes::new(&self.part.storage, self.part.range(self.info))
    }
}

impl std::fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.info.fmt(f)
    }
}
