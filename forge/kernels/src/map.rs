//! [`Map`]: a file's bytes as memory, read-only and shared.

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

/// A file mapped into memory, read-only. Clones share the mapping, which ends with the last of them.
///
/// The system reads pages at their first use and may drop them when memory is short. **The file must not be changed or
/// truncated while it is mapped**: what is read then is not defined, and reading behind the new end kills the process
/// on most systems. Write a new file and rename it over the old one instead, which leaves the mapping as it was.
///
/// ```
/// # let dir = std::env::temp_dir().join(format!("forge-map-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir)?;
/// # let path = dir.join("bytes");
/// # std::fs::write(&path, b"weights")?;
/// use forge_kernels::map::{Advice, Map};
/// let map = Map::open(&path)?;
/// assert_eq!(&map[..], b"weights");
/// map.advise(0..map.len(), Advice::WillNeed);
/// # drop(map);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Map {
    /// None stands for an empty file, which some systems do not map.
    bytes: Option<Arc<Mmap>>,
}

/// What the program is going to do with a range; see [`Map::advise`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// No particular use.
    Normal,
    /// From front to back: read ahead far.
    Sequential,
    /// Here and there: do not read ahead.
    Random,
    /// Soon: start to read now.
    WillNeed,
}

impl Map {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be opened or mapped.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::of(&File::open(path)?)
    }

    /// Maps an open file. The handle may be closed afterwards.
    ///
    /// # Errors
    /// When the file cannot be mapped, for instance because it is a directory or a pipe.
    pub fn of(file: &File) -> io::Result<Self> {
        let about = file.metadata()?;
        if about.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if about.len() == 0 {
            return Ok(Self { bytes: None });
        }
        // SAFETY: the mapping is read-only and private to this process, and it lives as long as anything that borrows
        // from it. That the file does not change meanwhile cannot be proved here: the type's documentation asks it of
        // whoever owns the file, as every user of mapped files has to.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self { bytes: Some(Arc::new(map)) })
    }

    /// How many clones share this mapping (0 for an empty file).
    pub fn shares(&self) -> usize {
        self.bytes.as_ref().map_or(0, Arc::strong_count)
    }

    /// Tells the system how `range` (bytes of the file, clamped to its length) will be used. A hint: where the system
    /// knows no such thing, or refuses, nothing happens.
    pub fn advise(&self, range: Range<usize>, advice: Advice) {
        #[cfg(unix)]
        if let Some((map, range)) = self.pages(range, false) {
            let advice = match advice {
                Advice::Normal => memmap2::Advice::Normal,
                Advice::Sequential => memmap2::Advice::Sequential,
                Advice::Random => memmap2::Advice::Random,
                Advice::WillNeed => memmap2::Advice::WillNeed,
            };
            let _ = map.advise_range(advice, range.start, range.len());
        }
        #[cfg(not(unix))]
        let _ = (range, advice);
    }

    /// Gives the memory of the pages that lie wholly in `range` back to the system; the next use reads them from the
    /// file again. For a range that was copied elsewhere. Only where the system can (Linux, Android and Apple's).
    pub fn release(&self, range: Range<usize>) {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        if let Some((map, range)) = self.pages(range, true) {
            // SAFETY: the pages are of a read-only mapping of a file, so none is dirty: a later read finds the bytes
            // of the file, which are what borrowed slices saw before.
            let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, range.start, range.len()) };
        }
        #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
        let _ = range;
    }

    /// `range` cut to the file and widened to whole pages, or narrowed to them when `inside`; None when nothing is left.
    #[cfg(unix)]
    fn pages(&self, range: Range<usize>, inside: bool) -> Option<(&Mmap, Range<usize>)> {
        /// A multiple of the page size of every system in use.
        const PAGE: usize = 1 << 16;
        let map = self.bytes.as_deref()?;
        let (start, end) = (range.start.min(map.len()), range.end.min(map.len()));
        let (start, end) = if inside {
            // The tail of the file belongs to its last page alone.
            (start.checked_next_multiple_of(PAGE)?, if end == map.len() { end } else { end / PAGE * PAGE })
        } else {
            (start / PAGE * PAGE, end)
        };
        (start < end).then_some((map, start..end))
    }
}

impl Deref for Map {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.bytes.as_deref().map_or(&[], |m| &m[..])
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Map({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("forge-map-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn bytes_survive_advice_and_release() {
        let bytes: Vec<u8> = (0..300_001usize).map(|i| (i * 31 % 251) as u8).collect();
        let path = file("bytes", &bytes);
        let map = Map::open(&path).unwrap();
        let clone = map.clone();
        assert_eq!(map.shares(), 2);
        drop(clone);
        for advice in [Advice::Normal, Advice::Sequential, Advice::Random, Advice::WillNeed] {
            map.advise(17..usize::MAX, advice);
            map.advise(Range { start: 5, end: 2 }, advice);
        }
        assert_eq!(&map[..], bytes);
        for range in [0..usize::MAX, 1..70_000, 65_536..131_072, 7..7, usize::MAX - 1..usize::MAX] {
            map.release(range);
            assert_eq!(&map[..], bytes);
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn empty_and_missing_files() {
        let path = file("empty", b"");
        let map = Map::open(&path).unwrap();
        assert!(map.is_empty());
        map.advise(0..1, Advice::WillNeed);
        map.release(0..1);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(Map::open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(Map::open(std::env::temp_dir()).is_err());
    }
}
