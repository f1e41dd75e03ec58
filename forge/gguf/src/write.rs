//! Writing a model: declared first, then streamed, seen by others only when complete.

use crate::atomic::Draft;
use crate::error::{GgufError, Result};
use crate::file::Gguf;
use crate::kind::GgmlType;
use crate::parse::{ALIGNMENT, ALIGNMENT_KEY, RANK_MAX, TensorInfo, bytes_of};
use crate::split;
use crate::storage::TensorBytes;
use crate::value::{ToValue, ValueType};
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

/// Where a tensor's bytes come from.
enum Source {
    /// They are streamed.
    Streamed,
    Owned(Vec<u8>),
    File(TensorBytes),
}

impl Source {
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Streamed => None,
            Self::Owned(b) => Some(b),
            Self::File(b) => Some(b),
        }
    }
}

/// The data of a file as it stood, with its gaps.
struct Verbatim {
    /// What stands between the header and the data.
    gap: TensorBytes,
    /// From the first tensor to the end of the file.
    data: TensorBytes,
    header_end: usize,
}

/// A model to be written: metadata and tensors, in the order in which they were added.
///
/// A model that fits in memory is given whole ([`Writer::tensor`]) and saved. A larger one is declared
/// ([`Writer::declare`]) and then streamed through [`Writer::create`]. A model made [from a file](Writer::from) writes
/// that file again, byte for byte, as long as nothing is changed; tensors that are kept are copied from the file.
///
/// ```
/// use forge_gguf::{Gguf, GgmlType, Writer};
/// # let dir = std::env::temp_dir().join(format!("forge-gguf-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir)?;
/// # let path = dir.join("a.gguf");
/// let mut w = Writer::new();
/// w.set("general.architecture", "tiny")?.set("tiny.sizes", &[3u32, 4])?;
/// w.declare("big", GgmlType::F16, &[64, 64])?;
/// let mut out = w.create(&path)?;
/// for _row in 0..64 {
///     out.write(&[0; 128])?; // a row at a time: the tensor is never whole in memory
/// }
/// out.finish()?;
/// assert_eq!(Gguf::open(&path)?.tensor("big")?.bytes().len(), 8192);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer {
    version: u32,
    entries: Vec<(String, ValueType, Vec<u8>)>,
    keys: HashMap<String, usize>,
    tensors: Vec<(TensorInfo, Source)>,
    names: HashMap<String, usize>,
    verbatim: Option<Verbatim>,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// An empty model of version 3.
    pub fn new() -> Self {
        Self {
            version: 3,
            entries: Vec::new(),
            keys: HashMap::new(),
            tensors: Vec::new(),
            names: HashMap::new(),
            verbatim: None,
        }
    }

    /// The model of `file`; the parts of a split one become one file.
    pub fn from(file: &Gguf) -> Self {
        let mut w = Self::new();
        w.version = file.version();
        let whole = file.parts.len() == 1;
        for (key, kind, bytes) in file.metadata().raw() {
            if whole || !split::KEYS.contains(&key) {
                w.put(key, kind, bytes.to_vec());
            }
        }
        for t in file.tensors() {
            w.names.insert(t.info().name.clone(), w.tensors.len());
            w.tensors.push((t.info().clone(), Source::File(t.shared())));
        }
        if let [part] = file.parts.as_slice() {
            w.verbatim = Some(Verbatim {
                gap: TensorBytes::new(&part.storage, part.header_end..part.data),
                data: TensorBytes::new(&part.storage, part.data..part.storage.len()),
                header_end: part.header_end,
            });
        } else {
            w.lay_out();
        }
        w
    }

    fn put(&mut self, key: &str, kind: ValueType, bytes: Vec<u8>) {
        match self.keys.get(key) {
            Some(&i) => self.entries[i] = (key.to_owned(), kind, bytes),
            None => {
                self.keys.insert(key.to_owned(), self.entries.len());
                self.entries.push((key.to_owned(), kind, bytes));
            }
        }
    }

    /// Sets the metadata of `key`: in its place if it is there, else at the end.
    ///
    /// # Errors
    /// [`GgufError::Unwritable`] for a key that the format does not allow, or an alignment that is none.
    pub fn set(&mut self, key: &str, value: &(impl ToValue + ?Sized)) -> Result<&mut Self> {
        if key.is_empty() || key.len() > 65_535 {
            let why = "a key has 1 to 65,535 bytes".to_owned();
            return Err(GgufError::Unwritable { what: format!("metadata `{key}`"), why });
        }
        let mut bytes = Vec::new();
        value.write(&mut bytes);
        if key == ALIGNMENT_KEY {
            let bits = <[u8; 4]>::try_from(bytes.as_slice()).ok().filter(|_| value.kind() == ValueType::U32);
            let n = bits.map(u32::from_le_bytes).filter(|n| n.is_power_of_two() && *n <= 1 << 20);
            if n.is_none() {
                let why = "it is a u32, and a power of two up to 2^20".to_owned();
                return Err(GgufError::Unwritable { what: format!("metadata `{key}`"), why });
            }
        }
        let before = self.alignment();
        self.put(key, value.kind(), bytes);
        if self.alignment() != before {
            self.lay_out();
        }
        Ok(self)
    }

    /// Removes the metadata of `key`; whether it was there.
    pub fn unset(&mut self, key: &str) -> bool {
        let Some(i) = self.keys.remove(key) else { return false };
        let before = self.alignment_of(i);
        self.entries.remove(i);
        self.keys.values_mut().filter(|j| **j > i).for_each(|j| *j -= 1);
        if before.is_some() {
            self.lay_out();
        }
        true
    }

    /// The alignment that entry `i` says, if it says one.
    fn alignment_of(&self, i: usize) -> Option<u64> {
        let (key, kind, bytes) = &self.entries[i];
        let (value, _) = crate::value::Value::read(*kind, bytes)?;
        (key == ALIGNMENT_KEY).then(|| value.as_int()).flatten().and_then(|n| u64::try_from(n).ok())
    }

    fn alignment(&self) -> u64 {
        self.keys.get(ALIGNMENT_KEY).and_then(|&i| self.alignment_of(i)).unwrap_or(ALIGNMENT)
    }

    /// Adds a tensor of type `kind` and `sizes` (the fastest first) with its bytes, or replaces the one of its name.
    ///
    /// # Errors
    /// [`GgufError::Shape`] for sizes that make no sense; [`GgufError::Unwritable`] for bytes of another length.
    pub fn tensor(&mut self, name: &str, kind: GgmlType, sizes: &[u64], bytes: Vec<u8>) -> Result<&mut Self> {
        let need = bytes_of(name, kind, sizes)?;
        if bytes.len() as u64 != need {
            let why = format!("its type and sizes need {need} bytes, and {} were given", bytes.len());
            return Err(GgufError::Unwritable { what: format!("tensor `{name}`"), why });
        }
        self.add(name, kind, sizes, need, Source::Owned(bytes))
    }

    /// Adds a tensor whose bytes are streamed later, or replaces the one of its name: how a file's tensor gets another
    /// type.
    ///
    /// # Errors
    /// [`GgufError::Shape`] for sizes that make no sense.
    pub fn declare(&mut self, name: &str, kind: GgmlType, sizes: &[u64]) -> Result<&mut Self> {
        let need = bytes_of(name, kind, sizes)?;
        self.add(name, kind, sizes, need, Source::Streamed)
    }

    fn add(&mut self, name: &str, kind: GgmlType, sizes: &[u64], bytes: u64, source: Source) -> Result<&mut Self> {
        if sizes.len() > RANK_MAX {
            let what = format!("has {} sizes, more than {RANK_MAX}", sizes.len());
            return Err(GgufError::Shape { tensor: name.to_owned(), what });
        }
        let info = TensorInfo { name: name.to_owned(), kind, sizes: sizes.to_vec(), offset: 0, bytes };
        match self.names.get(name) {
            Some(&i) => self.tensors[i] = (info, source),
            None => {
                self.names.insert(name.to_owned(), self.tensors.len());
                self.tensors.push((info, source));
            }
        }
        self.verbatim = None;
        Ok(self)
    }

    /// Removes a tensor; whether it was there.
    pub fn remove(&mut self, name: &str) -> bool {
        let Some(i) = self.names.remove(name) else { return false };
        self.tensors.remove(i);
        self.names.values_mut().filter(|j| **j > i).for_each(|j| *j -= 1);
        self.verbatim = None;
        true
    }

    /// The tensors that will be written, in order. Their offsets are set when the file is made.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorInfo> {
        self.tensors.iter().map(|t| &t.0)
    }

    /// Puts each tensor after the one before it.
    fn lay_out(&mut self) {
        self.verbatim = None;
        let alignment = self.alignment();
        let mut at = 0u64;
        for (info, _) in &mut self.tensors {
            info.offset = at;
            at = (at + info.bytes).next_multiple_of(alignment);
        }
    }

    /// Everything before the data, padded to where that begins.
    fn header(&mut self) -> Vec<u8> {
        if self.verbatim.is_none() {
            self.lay_out();
        }
        let mut out = Vec::new();
        out.extend_from_slice(b"GGUF");
        self.version.write(&mut out);
        (self.tensors.len() as u64).write(&mut out);
        (self.entries.len() as u64).write(&mut out);
        for (key, kind, bytes) in &self.entries {
            key.as_str().write(&mut out);
            kind.id().write(&mut out);
            out.extend_from_slice(bytes);
        }
        for (info, _) in &self.tensors {
            info.name.as_str().write(&mut out);
            (info.sizes.len() as u32).write(&mut out);
            info.sizes.iter().for_each(|s| s.write(&mut out));
            info.kind.id().write(&mut out);
            info.offset.write(&mut out);
        }
        match &self.verbatim {
            Some(v) if v.header_end == out.len() => out.extend_from_slice(&v.gap),
            Some(v) if v.data.is_empty() && self.tensors.iter().all(|t| t.0.bytes == 0) => {}
            _ => out.resize(out.len().next_multiple_of(self.alignment() as usize), 0),
        }
        out
    }

    /// Writes the file at `path`. Whoever reads it sees the old file or the new one, also after a crash; the old one
    /// may be the one that the tensors are copied from.
    ///
    /// # Errors
    /// [`GgufError::Unwritable`] if a tensor was [declared](Writer::declare) and not given, or what the system says.
    pub fn save(mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        self.check_given()?;
        let header = self.header();
        if let Some(v) = &self.verbatim {
            let save = || {
                let mut draft = Draft::new(path)?;
                draft.write(&header)?;
                draft.write(&v.data)?;
                draft.finish()
            };
            return save().map_err(|e| e.of(path));
        }
        let mut out = Output::new(self, header, path)?;
        while out.copy()? {}
        out.finish()
    }

    /// The file as bytes.
    ///
    /// # Errors
    /// [`GgufError::Unwritable`] if a tensor was [declared](Writer::declare) and not given.
    pub fn to_bytes(mut self) -> Result<Vec<u8>> {
        self.check_given()?;
        let mut out = self.header();
        if let Some(v) = &self.verbatim {
            out.extend_from_slice(&v.data);
            return Ok(out);
        }
        let (start, alignment) = (out.len(), self.alignment() as usize);
        for (_, source) in &self.tensors {
            out.extend_from_slice(source.bytes().unwrap_or_default());
            out.resize(start + (out.len() - start).next_multiple_of(alignment), 0);
        }
        Ok(out)
    }

    fn check_given(&self) -> Result<()> {
        match self.tensors.iter().find(|t| matches!(t.1, Source::Streamed)) {
            None => Ok(()),
            Some((info, _)) => {
                let why = "it was declared and has no bytes yet: stream them with `create`".to_owned();
                Err(GgufError::Unwritable { what: format!("tensor `{}`", info.name), why })
            }
        }
    }

    /// Begins the file at `path`, which others see only after [`Output::finish`].
    ///
    /// # Errors
    /// What the system says.
    pub fn create(mut self, path: impl AsRef<Path>) -> Result<Output> {
        // Streaming lays tensors out one after the other.
        self.lay_out();
        let header = self.header();
        Output::new(self, header, path.as_ref())
    }
}

/// A file that is being written: its tensors follow in their order, each in as many pieces as wanted.
///
/// Dropped before [`Output::finish`], it leaves nothing behind.
pub struct Output {
    writer: Writer,
    draft: Draft,
    alignment: u64,
    /// The tensor that is being written.
    current: usize,
    /// How many of its bytes are written.
    done: u64,
}

impl Output {
    fn new(writer: Writer, header: Vec<u8>, path: &Path) -> Result<Self> {
        let alignment = writer.alignment();
        let mut draft = Draft::new(path).map_err(|e| e.of(path))?;
        draft.write(&header).map_err(|e| e.of(path))?;
        let mut out = Self { writer, draft, alignment, current: 0, done: 0 };
        out.step()?;
        Ok(out)
    }

    /// Pads and goes on for as long as the current tensor is complete.
    fn step(&mut self) -> Result<()> {
        while let Some((info, _)) = self.writer.tensors.get(self.current).filter(|t| t.0.bytes == self.done) {
            let pad = info.bytes.next_multiple_of(self.alignment) - info.bytes;
            self.zeros(pad)?;
            self.current += 1;
            self.done = 0;
        }
        Ok(())
    }

    fn zeros(&mut self, mut n: u64) -> Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        while n > 0 {
            let now = n.min(ZEROS.len() as u64);
            self.put(&ZEROS[..now as usize])?;
            n -= now;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.draft.write(bytes).map_err(|e| e.of(self.draft.path()))
    }

    /// The tensor whose bytes are to follow, and how many are still missing; `None` if all are complete.
    pub fn current(&self) -> Option<(&TensorInfo, u64)> {
        self.writer.tensors.get(self.current).map(|(info, _)| (info, info.bytes - self.done))
    }

    /// Appends bytes of the [current](Output::current) tensor.
    ///
    /// # Errors
    /// [`GgufError::Unwritable`] if it needs fewer bytes, or what the system says.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let left = self.current().map_or(0, |c| c.1);
        if bytes.len() as u64 > left {
            let what = match self.current() {
                Some((info, _)) => format!("{} bytes of tensor `{}`", bytes.len(), info.name),
                None => format!("{} more bytes", bytes.len()),
            };
            let why = format!("{left} are missing");
            return Err(GgufError::Unwritable { what, why });
        }
        self.put(bytes)?;
        self.done += bytes.len() as u64;
        self.step()
    }

    /// Writes the rest of the [current](Output::current) tensor from where it was given or from the file that it comes
    /// from; `false` if all tensors are complete.
    ///
    /// # Errors
    /// [`GgufError::Unwritable`] if it was only declared, or what the system says.
    pub fn copy(&mut self) -> Result<bool> {
        let Some((info, source)) = self.writer.tensors.get(self.current) else { return Ok(false) };
        let Some(bytes) = source.bytes() else {
            let why = "it was declared and not given: its bytes must be written".to_owned();
            return Err(GgufError::Unwritable { what: format!("tensor `{}`", info.name), why });
        };
        self.draft.write(&bytes[self.done as usize..]).map_err(|e| e.of(self.draft.path()))?;
        self.done = info.bytes;
        self.step()?;
        Ok(true)
    }

    /// Makes the file durable and puts it in its place.
    ///
    /// # Errors
    /// [`GgufError::Unwritable`] if a tensor is not complete, or what the system says.
    pub fn finish(self) -> Result<()> {
        if let Some((info, left)) = self.current() {
            let why = format!("{left} bytes of tensor `{}` are missing", info.name);
            return Err(GgufError::Unwritable { what: "the file".to_owned(), why });
        }
        let path = self.draft.path().to_owned();
        self.draft.finish().map_err(|e| e.of(&path))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Self::write(self, bytes).map_err(std::io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
