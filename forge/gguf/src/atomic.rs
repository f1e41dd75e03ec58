//! Files that appear whole or not at all.

use crate::error::{GgufError, Result};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is being written beside the place that it will take.
pub(crate) struct Draft {
    path: PathBuf,
    temporary: PathBuf,
    /// `None` once it is finished.
    file: Option<BufWriter<File>>,
}

impl Draft {
    /// Begins a file that will stand at `path`.
    pub fn new(path: &Path) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_file_name(format!(".{name}.{}.{n}.tmp", std::process::id()));
        // What a killed process of the same number left behind is in nobody's way.
        let _ = fs::remove_file(&temporary);
        let file = File::create_new(&temporary).map_err(GgufError::io("create the file"))?;
        let file = Some(BufWriter::with_capacity(1 << 20, file));
        Ok(Self { path: path.to_owned(), temporary, file })
    }

    /// Where it will stand.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.file {
            Some(f) => f.write_all(bytes).map_err(GgufError::io("write the file")),
            None => Ok(()),
        }
    }

    /// Makes the contents durable and puts the file in its place.
    pub fn finish(mut self) -> Result<()> {
        let what = "write the file";
        let Some(buffered) = self.file.take() else { return Ok(()) };
        let done = buffered
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            .and_then(|f| f.sync_all())
            .and_then(|()| fs::rename(&self.temporary, &self.path));
        if let Err(e) = done {
            let _ = fs::remove_file(&self.temporary);
            return Err(GgufError::io(what)(e));
        }
        // A rename is durable once the folder is; where folders cannot be opened, the system sees to it.
        if cfg!(unix) {
            let dir = self.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(dir).and_then(|d| d.sync_all()).map_err(GgufError::io(what))?;
        }
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
