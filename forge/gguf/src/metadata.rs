//! A file's metadata: keys with typed values, in the file's order.

use crate::error::{GgufError, Result};
use crate::storage::Storage;
use crate::value::{FromValue, Value, ValueType, convert};
use std::ops::Range;

/// Where a value stands.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub kind: ValueType,
    /// The value's bytes in the file, without the type.
    pub range: Range<usize>,
}

/// The metadata of a file.
///
/// ```
/// use forge_gguf::{Gguf, Writer};
/// let mut w = Writer::new();
/// w.set("general.architecture", "llama")?.set("llama.block_count", &2u32)?;
/// let file = Gguf::from_bytes(w.to_bytes()?)?;
///
/// let layers: usize = file.metadata().get("llama.block_count")?;
/// let theta: Option<f32> = file.metadata().optional("llama.rope.freq_base")?;
/// assert_eq!((layers, theta), (2, None));
///
/// let wrong = file.metadata().get::<u32>("general.architecture").unwrap_err();
/// assert_eq!(wrong.to_string(), "metadata `general.architecture` is a string, expected an integer that fits u32");
/// # Ok::<(), forge_gguf::GgufError>(())
/// ```
pub struct Metadata {
    storage: Storage,
    entries: Vec<Entry>,
    /// Numbers of entries, by key.
    sorted: Vec<u32>,
}

impl Metadata {
    /// # Errors
    /// [`GgufError::Duplicate`] if a key stands twice.
    pub(crate) fn new(storage: Storage, entries: Vec<Entry>) -> Result<Self> {
        let keys: Vec<&str> = entries.iter().map(|e| e.key.as_str()).collect();
        let sorted = sorted(&keys, "metadata")?;
        Ok(Self { storage, entries, sorted })
    }

    fn value(&self, entry: &Entry) -> Option<Value<'_>> {
        Value::read(entry.kind, &self.storage[entry.range.clone()]).map(|v| v.0)
    }

    /// The value of `key` as it stands in the file.
    pub fn value_of(&self, key: &str) -> Option<Value<'_>> {
        let entry = |i: u32| &self.entries[i as usize];
        let at = self.sorted.binary_search_by(|&i| entry(i).key.as_str().cmp(key)).ok()?;
        self.value(entry(self.sorted[at]))
    }

    /// The value of `key`, which must be there.
    ///
    /// # Errors
    /// [`GgufError::MissingKey`], or [`GgufError::WrongType`] if it is not what `T` takes.
    pub fn get<'a, T: FromValue<'a>>(&'a self, key: &str) -> Result<T> {
        self.optional(key)?.ok_or_else(|| GgufError::MissingKey { key: key.to_owned() })
    }

    /// The value of `key`, if it is there.
    ///
    /// # Errors
    /// [`GgufError::WrongType`] if it is there and not what `T` takes.
    pub fn optional<'a, T: FromValue<'a>>(&'a self, key: &str) -> Result<Option<T>> {
        self.value_of(key).map(|v| convert(key, v)).transpose()
    }

    /// The value of `key`, or `default` if it is not there.
    ///
    /// # Errors
    /// [`GgufError::WrongType`] if it is there and not what `T` takes.
    pub fn or<'a, T: FromValue<'a>>(&'a self, key: &str, default: T) -> Result<T> {
        Ok(self.optional(key)?.unwrap_or(default))
    }

    /// Keys and values, in the file's order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Value<'_>)> {
        self.entries.iter().filter_map(|e| Some((e.key.as_str(), self.value(e)?)))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keys, types and the bytes of the values, in the file's order.
    pub(crate) fn raw(&self) -> impl Iterator<Item = (&str, ValueType, &[u8])> {
        self.entries.iter().map(|e| (e.key.as_str(), e.kind, &self.storage[e.range.clone()]))
    }
}

impl std::fmt::Debug for Metadata {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter().map(|(k, v)| (k, v.described()))).finish()
    }
}

/// The numbers of `names` in their order.
///
/// # Errors
/// [`GgufError::Duplicate`] if two are the same.
pub(crate) fn sorted(names: &[&str], what: &'static str) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = (0..names.len() as u32).collect();
    order.sort_unstable_by_key(|&i| names[i as usize]);
    match order.windows(2).find(|w| names[w[0] as usize] == names[w[1] as usize]) {
        Some(w) => Err(GgufError::Duplicate { what, name: names[w[0] as usize].to_owned() }),
        None => Ok(order),
    }
}
