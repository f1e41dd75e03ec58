//! Models split over several files: `NAME-00001-of-00003.gguf`.

use crate::error::{GgufError, Result};
use crate::metadata::Metadata;
use std::path::{Path, PathBuf};

/// The keys that say so. They are not metadata of the model.
pub(crate) const KEYS: [&str; 3] = ["split.no", "split.count", "split.tensors.count"];

/// What a part says of the whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    /// Which part it is, from 0.
    pub no: u32,
    /// How many there are.
    pub count: u32,
    /// How many tensors all have together, where it is said.
    pub tensors: Option<u64>,
}

/// What this part says; `None` if it is a whole model.
pub(crate) fn of(m: &Metadata) -> Result<Option<Split>> {
    let Some(count) = m.optional::<u32>("split.count")? else { return Ok(None) };
    let no = m.get::<u32>("split.no")?;
    let tensors = m.optional::<u64>("split.tensors.count")?;
    if count > 0 && no >= count {
        return Err(bad(format!("it says to be part {} of {count}: it is damaged, download it again", no + 1)));
    }
    Ok(Some(Split { no, count, tensors }))
}

fn bad(what: String) -> GgufError {
    GgufError::Split { what }
}

/// The file of part `no`, in the folder of part `split.no` at `path`.
pub(crate) fn path_of(path: &Path, split: Split, no: u32) -> Result<PathBuf> {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let end = |n: u32| format!("-{:05}-of-{:05}.gguf", n + 1, split.count);
    let Some(start) = name.strip_suffix(&end(split.no)) else {
        let want = end(split.no);
        return Err(bad(format!(
            "it is part {} of {} of a split model, so its name must end in `{want}` for the others to be found: rename it back",
            split.no + 1,
            split.count
        )));
    };
    Ok(path.with_file_name(format!("{start}{}", end(no))))
}

/// Checks that a part is number `no` of the same model.
pub(crate) fn check(m: &Metadata, no: u32, of_first: Split) -> Result<()> {
    let again = "download the parts again, all from one place";
    match of(m)? {
        Some(s) if (s.no, s.count) == (no, of_first.count) => Ok(()),
        Some(s) => Err(bad(format!(
            "it says to be part {} of {}, and its name says part {} of {}: {again}",
            s.no + 1,
            s.count,
            no + 1,
            of_first.count
        ))),
        None => Err(bad(format!("it does not say to be part of a split model: {again}"))),
    }
}

/// Checks that all parts together have as many tensors as the model.
pub(crate) fn check_total(have: usize, split: Split) -> Result<()> {
    match split.tensors {
        Some(n) if n != have as u64 => Err(bad(format!(
            "the split model has {n} tensors, and its {} parts have {have}: download the parts again, all from one place",
            split.count
        ))),
        _ => Ok(()),
    }
}
