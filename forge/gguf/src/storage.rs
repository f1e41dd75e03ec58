//! The bytes of a file, shared by everything that was read from it.

use crate::error::{GgufError, Result};
use forge_kernels::map::{Advice, Map};
use std::fs::File;
use std::io::Read;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

/// How a file's bytes come into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Load {
    /// Mapped: the system reads what is looked at, and shares it with other processes. **While the model is open the
    /// file must not be changed or truncated**: on most systems a process that reads behind the new end is killed.
    /// Replacing the file by renaming another over it, as [`Writer`](crate::Writer) does, is safe.
    #[default]
    Map,
    /// Read whole into memory: for files that others may change, and file systems that cannot map.
    Read,
}

/// A file's bytes. A clone shares them.
#[derive(Clone)]
pub(crate) struct Storage(Arc<Inner>);

enum Inner {
    Heap(Vec<u8>),
    Mapped(Map),
}

impl Storage {
    /// Bytes that are in memory already.
    pub fn heap(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Inner::Heap(bytes)))
    }

    /// The bytes of the file at `path`.
    pub fn open(path: &Path, load: Load) -> Result<Self> {
        let mut file = File::open(path).map_err(GgufError::io("open the file"))?;
        let meta = file.metadata().map_err(GgufError::io("read the file's size"))?;
        if !meta.is_file() {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a regular file");
            return Err(GgufError::Io { what: "read the file", source });
        }
        match load {
            Load::Map => {
                let map = Map::of(&file).map_err(GgufError::io("map the file"))?;
                Ok(Self(Arc::new(Inner::Mapped(map))))
            }
            Load::Read => {
                let mut bytes = Vec::new();
                let len = usize::try_from(meta.len()).unwrap_or(usize::MAX);
                bytes
                    .try_reserve_exact(len)
                    .map_err(|_| GgufError::OutOfMemory { what: "the file", bytes: meta.len() })?;
                // No more than its size: a file that grows meanwhile is not followed.
                file.by_ref().take(meta.len()).read_to_end(&mut bytes).map_err(GgufError::io("read the file"))?;
                Ok(Self::heap(bytes))
            }
        }
    }
}

impl Deref for Storage {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Inner::Heap(bytes) => bytes,
            Inner::Mapped(map) => map,
        }
    }
}

/// A tensor's bytes: a part of a file that stays alive as long as this does.
#[derive(Clone)]
pub struct TensorBytes {
    storage: Storage,
    range: Range<usize>,
}

impl TensorBytes {
    /// Bytes `range` of the storage, which has them.
    pub(crate) fn new(storage: &Storage, range: Range<usize>) -> Self {
        debug_assert!(range.end <= storage.len(), "checked when the file was opened");
        Self { storage: storage.clone(), range }
    }

    /// Tells the system that the bytes are needed soon, so that it reads them now. A hint; nothing for bytes in memory.
    pub fn prefetch(&self) {
        if let Inner::Mapped(map) = &*self.storage.0 {
            map.advise(self.range.clone(), Advice::WillNeed);
        }
    }

    /// Gives the memory of the bytes back to the system, which reads them from the file again when they are looked at:
    /// for a tensor that was copied elsewhere. Nothing for bytes in memory.
    pub fn release(&self) {
        if let Inner::Mapped(map) = &*self.storage.0 {
            map.release(self.range.clone());
        }
    }

    /// The mapping of the whole file and the range of the bytes in it, if the file is mapped.
    pub fn mapped(&self) -> Option<(&Map, Range<usize>)> {
        match &*self.storage.0 {
            Inner::Mapped(map) => Some((map, self.range.clone())),
            Inner::Heap(_) => None,
        }
    }
}

impl Deref for TensorBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.storage[self.range.clone()]
    }
}

impl std::fmt::Debug for TensorBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TensorBytes({} bytes at {})", self.range.len(), self.range.start)
    }
}
