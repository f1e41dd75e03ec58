//! The header of a file: magic number, version, metadata, what tensors there are and where.

use crate::error::{GgufError, Result};
use crate::kind::GgmlType;
use crate::limits::Limits;
use crate::metadata::{Entry, Metadata};
use crate::storage::Storage;
use crate::value::ValueType;
use std::ops::Range;

/// The alignment of tensors where the file says none.
pub(crate) const ALIGNMENT: u64 = 32;
/// The key that says another.
pub(crate) const ALIGNMENT_KEY: &str = "general.alignment";
/// The largest alignment.
const ALIGNMENT_MAX: u64 = 1 << 20;
/// The most sizes of a tensor.
pub(crate) const RANK_MAX: usize = 4;
/// The most levels of arrays in arrays.
const DEPTH_MAX: usize = 8;
/// The fewest bytes of a metadata entry: key length, type, a byte.
const ENTRY_LEAST: u64 = 8 + 4 + 1;
/// The fewest bytes of a tensor's description: name length, count of sizes, type, offset.
const TENSOR_LEAST: u64 = 8 + 4 + 4 + 8;

/// A tensor of a file: what it is and where its bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name: `blk.0.attn_q.weight`.
    pub name: String,
    /// The type of its elements.
    pub kind: GgmlType,
    /// Its sizes, the fastest first, as the format has them; a matrix that maps `In` to `Out` is `[In, Out]`.
    pub sizes: Vec<u64>,
    /// Where its bytes begin, counted from the start of the data.
    pub offset: u64,
    /// How many bytes it has.
    pub bytes: u64,
}

impl TensorInfo {
    /// How many elements it has.
    pub fn elements(&self) -> u64 {
        self.sizes.iter().product()
    }
}

/// A file that was read.
pub(crate) struct Part {
    pub storage: Storage,
    pub version: u32,
    pub alignment: u64,
    pub metadata: Metadata,
    pub tensors: Vec<TensorInfo>,
    /// Where the header ends.
    pub header_end: usize,
    /// Where the data begins.
    pub data: usize,
}

impl Part {
    /// The bytes of a tensor of this file.
    pub fn range(&self, t: &TensorInfo) -> Range<usize> {
        let start = self.data + t.offset as usize;
        start..start + t.bytes as usize
    }
}

/// A place in the file's bytes.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn left(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    /// The next `n` bytes, which are those of `what`.
    fn take(&mut self, n: u64, what: impl FnOnce() -> String) -> Result<&'a [u8]> {
        if n > self.left() {
            return Err(GgufError::Truncated { what: what(), at: self.at as u64, need: n, have: self.left() });
        }
        let start = self.at;
        self.at += n as usize;
        Ok(&self.bytes[start..self.at])
    }

    fn u32(&mut self, what: impl FnOnce() -> String) -> Result<u32> {
        let b = self.take(4, what)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn u64(&mut self, what: impl FnOnce() -> String) -> Result<u64> {
        let b = self.take(8, what)?;
        Ok(u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
    }

    /// A count of things that take at least `least` bytes each.
    fn count(&mut self, least: u64, what: impl Fn() -> String) -> Result<u64> {
        let count = self.u64(&what)?;
        let most = self.left() / least;
        if count > most {
            return Err(GgufError::Count { what: what(), count, most });
        }
        Ok(count)
    }

    /// A name: UTF-8 of at most `limit` bytes.
    fn name(&mut self, limit: u64, what: impl Fn() -> String) -> Result<String> {
        let len = self.u64(|| format!("the length of {}", what()))?;
        if len > limit {
            let what = format!("the length of {}", what());
            return Err(GgufError::Limit { what, got: len, limit, name: "name" });
        }
        let at = self.at as u64;
        let bytes = self.take(len, &what)?;
        let text = std::str::from_utf8(bytes).map_err(|_| GgufError::NotUtf8 { what: what(), at })?;
        Ok(text.to_owned())
    }

    /// Steps over a value and checks it.
    fn value(&mut self, kind: ValueType, key: &str, depth: usize) -> Result<()> {
        let what = || format!("the value of metadata `{key}`");
        match kind {
            ValueType::String => {
                let len = self.u64(what)?;
                self.take(len, what)?;
            }
            ValueType::Array => {
                if depth == DEPTH_MAX {
                    return Err(GgufError::TooDeep { key: key.to_owned(), limit: DEPTH_MAX });
                }
                let id = self.u32(what)?;
                let element =
                    ValueType::from_id(id).ok_or_else(|| GgufError::UnknownValueType { key: key.to_owned(), id })?;
                let len = self.count(element.least(), || format!("the length of metadata `{key}`"))?;
                match element.size() {
                    // `count` has checked that they are there.
                    Some(n) => _ = self.take(len * n as u64, what)?,
                    None => {
                        for _ in 0..len {
                            self.value(element, key, depth + 1)?;
                        }
                    }
                }
            }
            fixed => _ = self.take(fixed.least(), what)?,
        }
        Ok(())
    }
}

/// What files of other kinds begin with.
fn hint(bytes: &[u8]) -> &'static str {
    match bytes {
        [b'g' | b'G', ..]
            if bytes.get(1..3) == Some(b"gm") || bytes.starts_with(b"GGM") || bytes.starts_with(b"ggj") =>
        {
            ", which is an older format: convert the model to GGUF again"
        }
        [b'P', b'K', ..] => ", which is a zip archive, perhaps a PyTorch checkpoint: convert it to GGUF",
        [b'<', ..] => ", which is perhaps a web page: check the address it was downloaded from",
        b"vers" => ", which is perhaps a Git LFS pointer: fetch the file itself with `git lfs pull`",
        [_, _, _, _, ..] => "",
        _ => ", and it is too short: download it again",
    }
}

/// Reads the header of the file in `storage`.
pub(crate) fn part(storage: Storage, limits: &Limits) -> Result<Part> {
    let bytes = &*storage;
    let magic = &bytes[..bytes.len().min(4)];
    if magic != b"GGUF" {
        return Err(GgufError::NotGguf { found: magic.to_vec(), hint: hint(magic) });
    }
    let mut c = Cursor { bytes, at: 4 };
    let version = c.u32(|| "the version".to_owned())?;
    match version {
        2 | 3 => {}
        v if (2..=3).contains(&v.swap_bytes()) => return Err(GgufError::BigEndian),
        found => return Err(GgufError::Version { found }),
    }
    let tensor_count = c.count(TENSOR_LEAST, || "the count of tensors".to_owned())?;
    let entry_count = c.count(ENTRY_LEAST, || "the count of metadata entries".to_owned())?;
    let within = |what: &str, got, limit, name| match got > limit {
        true => Err(GgufError::Limit { what: what.to_owned(), got, limit, name }),
        false => Ok(()),
    };
    within("the count of tensors", tensor_count, limits.tensors, "tensors")?;
    within("the count of metadata entries", entry_count, limits.entries, "entries")?;

    let mut entries = Vec::new();
    for i in 0..entry_count {
        let key = c.name(limits.name, || format!("the key of metadata entry {i}"))?;
        let id = c.u32(|| format!("the type of metadata `{key}`"))?;
        let kind = ValueType::from_id(id).ok_or_else(|| GgufError::UnknownValueType { key: key.clone(), id })?;
        let start = c.at;
        c.value(kind, &key, 0)?;
        entries.push(Entry { key, kind, range: start..c.at });
    }
    let metadata = Metadata::new(storage.clone(), entries)?;
    let alignment = metadata.or(ALIGNMENT_KEY, ALIGNMENT)?;
    if !alignment.is_power_of_two() || alignment > ALIGNMENT_MAX {
        return Err(GgufError::Alignment { found: alignment });
    }

    let mut tensors = Vec::new();
    for i in 0..tensor_count {
        tensors.push(tensor(&mut c, i, limits)?);
    }
    let header_end = c.at;
    let data = (header_end as u64).next_multiple_of(alignment);
    check_places(&tensors, data, alignment, bytes.len() as u64)?;
    let data = if tensors.iter().all(|t| t.bytes == 0) { bytes.len().min(data as usize) } else { data as usize };
    Ok(Part { storage: storage.clone(), version, alignment, metadata, tensors, header_end, data })
}

/// The description of tensor `i`.
fn tensor(c: &mut Cursor<'_>, i: u64, limits: &Limits) -> Result<TensorInfo> {
    let name = c.name(limits.name, || format!("the name of tensor {i}"))?;
    let rank = c.u32(|| format!("the count of sizes of tensor `{name}`"))?;
    if rank as usize > RANK_MAX {
        let what = format!("has {rank} sizes, more than {RANK_MAX}");
        return Err(GgufError::Shape { tensor: name, what });
    }
    let mut sizes = Vec::with_capacity(rank as usize);
    for _ in 0..rank {
        sizes.push(c.u64(|| format!("the sizes of tensor `{name}`"))?);
    }
    let id = c.u32(|| format!("the type of tensor `{name}`"))?;
    let offset = c.u64(|| format!("the offset of tensor `{name}`"))?;
    let kind = GgmlType::read(id, &name)?;
    let bytes = bytes_of(&name, kind, &sizes)?;
    Ok(TensorInfo { name, kind, sizes, offset, bytes })
}

/// The bytes of a tensor.
///
/// # Errors
/// [`GgufError::Shape`] if its sizes overflow, or its rows are no whole blocks.
pub(crate) fn bytes_of(name: &str, kind: GgmlType, sizes: &[u64]) -> Result<u64> {
    let shape = |what: String| GgufError::Shape { tensor: name.to_owned(), what };
    let row = sizes.first().copied().unwrap_or(1);
    if !row.is_multiple_of(kind.block() as u64) {
        return Err(shape(format!("has rows of {row} elements, which are no whole blocks of {} {kind}", kind.block())));
    }
    // In 64 bits signed, as ggml counts, so that every reader can count them.
    let elements = sizes.iter().try_fold(1i64, |n, &s| n.checked_mul(i64::try_from(s).ok()?));
    elements
        .and_then(|n| kind.bytes_of(n as u64))
        .filter(|&n| i64::try_from(n).is_ok())
        .ok_or_else(|| shape(format!("has sizes {sizes:?}, whose product overflows")))
}

/// Checks that each tensor is aligned, in the file and on its own.
fn check_places(tensors: &[TensorInfo], data: u64, alignment: u64, file: u64) -> Result<()> {
    for t in tensors {
        if !t.offset.is_multiple_of(alignment) {
            let what = format!("begins at {}, no multiple of the alignment of {alignment}", t.offset);
            return Err(GgufError::Shape { tensor: t.name.clone(), what });
        }
        let room = file.saturating_sub(data);
        let have = room.saturating_sub(t.offset);
        if t.bytes > have || t.offset > room {
            let at = data.saturating_add(t.offset);
            return Err(GgufError::TensorTruncated { tensor: t.name.clone(), at, need: t.bytes, have });
        }
    }
    let mut by_place: Vec<&TensorInfo> = tensors.iter().filter(|t| t.bytes > 0).collect();
    by_place.sort_unstable_by_key(|t| t.offset);
    for w in by_place.windows(2) {
        if w[0].offset + w[0].bytes > w[1].offset {
            return Err(GgufError::Overlap { first: w[0].name.clone(), second: w[1].name.clone() });
        }
    }
    Ok(())
}
