//! Files that appear whole or not at all.

use super::AudioError;
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Writes a file so that at any moment its place holds the old content or the new, never a part.
///
/// The bytes go to a file beside it, which is flushed to the disk and renamed. What stands at `path` and is no plain file
/// (a device, a pipe) is written to directly.
///
/// # Errors
/// [`AudioError::Write`] with what the system said; then no file is left behind, and an old one is untouched.
pub fn write_atomic(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), AudioError> {
    let path = path.as_ref();
    write(path, bytes).map_err(|source| AudioError::Write { path: path.to_owned(), source })
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link: what it points at is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&path) {
        Ok(meta) if meta.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
        Ok(meta) if !meta.is_file() => return OpenOptions::new().write(true).open(&path)?.write_all(bytes),
        _ => {}
    }
    let (temporary, mut file) = create_beside(&path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&temporary, &path));
    if let Err(error) = written {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    sync_folder(&path)
}

/// A new file in the folder of `path`, under a name that nothing has.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it has no file name"))?;
    let mut number = 0;
    loop {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.{number}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            // Left by a process of the same number that was killed, or in use by another thread.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < 100 => number += 1,
            Err(e) => return Err(e),
        }
    }
}

/// The new name is on the disk only once its folder is.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
