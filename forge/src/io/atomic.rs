//! Files that appear whole or not at all.

use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// [`Error::Io`] of `path`.
pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.display().to_string();
    move |source| Error::Io { path, source }
}

/// [`Error::File`] of `path`.
pub(crate) fn bad(path: &Path, what: impl Into<String>) -> Error {
    Error::File { path: path.display().to_string(), what: what.into() }
}

/// Makes a rename in folder `dir` durable. Where folders cannot be opened (Windows), the system does it itself.
pub(crate) fn sync_dir(dir: &Path) -> Result<()> {
    if cfg!(unix) {
        File::open(dir).and_then(|d| d.sync_all()).map_err(io(dir))?;
    }
    Ok(())
}

/// Writes a new file and makes its contents durable.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut f = File::create_new(path).map_err(io(path))?;
    f.write_all(bytes).and_then(|()| f.sync_all()).map_err(io(path))
}

/// A name beside `path` that no other writer uses.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".{name}.{}.{n}.tmp", std::process::id()))
}

/// Puts `bytes` at `path`: whoever reads it sees the old file or the new one, also after a crash.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let temp = temporary(path);
    // What a process of the same number left behind when it was killed is in nobody's way.
    let _ = fs::remove_file(&temp);
    let done = write_new(&temp, bytes).and_then(|()| fs::rename(&temp, path).map_err(io(path)));
    if done.is_err() {
        let _ = fs::remove_file(&temp);
        return done;
    }
    sync_dir(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}
