//! How much a file may ask for.

/// How much a file may ask for. The defaults allow every model known, with room.
///
/// Whatever the limits, reading a file's header allocates at most 16 bytes for each of the header's own bytes: counts
/// are held against the bytes that are left before anything is allocated. Tensors and metadata values are not copied at
/// all. So a small file cannot ask for much memory; the limits bound the work for large hostile ones.
///
/// ```
/// use forge_gguf::Limits;
/// let limits = Limits { parts: 4, ..Limits::default() };
/// assert_eq!(limits.tensors, 1 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Metadata entries of a file. Models have some tens.
    pub entries: u64,
    /// Tensors of a file. The largest models have some thousands.
    pub tensors: u64,
    /// Bytes of a metadata key or a tensor's name. The format allows 65,535 and 64.
    pub name: u64,
    /// Files that a split model may consist of.
    pub parts: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: 1 << 20, tensors: 1 << 20, name: 65_535, parts: 4096 }
    }
}
