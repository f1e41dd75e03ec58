//! [`Buffer`]: shared, 64-byte aligned memory from a pool with O(1) size classes.
//!
//! Freed blocks go to the freeing thread's list of their class and, past a bound, to a shared list, so an op in steady
//! state calls no allocator. What the pool holds is bounded and reported ([`stats`]) and can be given back ([`trim`]).

use crate::dtype::{DType, Element};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

const ALIGN: usize = 64;
/// Four classes for each power of two: at most a quarter of a block is slack.
const CLASSES: usize = 4 * 44;
const FOREIGN: u32 = u32::MAX;
/// Idle bytes that one thread keeps for itself.
const LOCAL_LIMIT: usize = 32 << 20;
/// Blocks of one class that one thread keeps for itself.
const LOCAL_BLOCKS: usize = 32;

#[repr(C, align(64))]
struct Header {
    refs: AtomicUsize,
    class: u32,
    /// What owns the bytes of a foreign buffer; dropped with it.
    owner: Option<Box<dyn Any + Send + Sync>>,
}

/// Shared memory holding elements of one dtype. Cloning shares it; it is writable while there is one owner.
pub struct Buffer {
    header: NonNull<Header>,
    data: NonNull<u8>,
    len: usize,
    dtype: DType,
}

// SAFETY: the memory is plain data; shared access is read-only and exclusive access is proved by the reference count.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

/// Smallest class whose blocks hold `bytes`.
fn class_of(bytes: usize) -> usize {
    let b = bytes.max(64) - 1;
    let top = usize::BITS as usize - 1 - b.leading_zeros() as usize;
    // b lies in [2^top, 2^(top+1)): which quarter?
    let quarter = (b >> (top - 2)) & 3;
    (top - 5) * 4 + quarter
}

/// Bytes that a block of class `c` holds.
fn class_bytes(c: usize) -> usize {
    let (top, quarter) = (c / 4 + 5, c % 4);
    (1 << top) + ((quarter + 1) << (top - 2))
}

struct Block(NonNull<Header>);
// SAFETY: an idle block is owned by the list that holds it.
unsafe impl Send for Block {}

fn block_layout(class: usize) -> Layout {
    Layout::from_size_align(size_of::<Header>() + class_bytes(class), ALIGN).expect("a block fits the address space")
}

static SYSTEM_BYTES: AtomicUsize = AtomicUsize::new(0);
static SHARED_IDLE: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(1 << 30);
static SHARED: Mutex<Vec<Vec<Block>>> = Mutex::new(Vec::new());

struct Local {
    lists: Vec<Vec<Block>>,
    idle: usize,
}

impl Local {
    const fn new() -> Self {
        Self { lists: Vec::new(), idle: 0 }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        for (class, list) in std::mem::take(&mut self.lists).into_iter().enumerate() {
            for b in list {
                give_shared(class, b);
            }
        }
    }
}

thread_local! {
    static LOCAL: RefCell<Local> = const { RefCell::new(Local::new()) };
}

fn give_shared(class: usize, b: Block) {
    let bytes = class_bytes(class);
    if SHARED_IDLE.load(Ordering::Relaxed) + bytes <= LIMIT.load(Ordering::Relaxed) {
        let mut shared = SHARED.lock().unwrap_or_else(|e| e.into_inner());
        if shared.is_empty() {
            shared.resize_with(CLASSES, Vec::new);
        }
        shared[class].push(b);
        SHARED_IDLE.fetch_add(bytes, Ordering::Relaxed);
        return;
    }
    free_block(class, b);
}

fn free_block(class: usize, b: Block) {
    let layout = block_layout(class);
    SYSTEM_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
    // SAFETY: the block came from `alloc_zeroed` with this very layout and nobody refers to it any more.
    unsafe { dealloc(b.0.as_ptr().cast(), layout) }
}

fn take_block(class: usize) -> NonNull<Header> {
    let local = LOCAL.try_with(|l| {
        let mut l = l.borrow_mut();
        let b = l.lists.get_mut(class)?.pop()?;
        l.idle -= class_bytes(class);
        Some(b)
    });
    if let Ok(Some(b)) = local {
        return b.0;
    }
    if SHARED_IDLE.load(Ordering::Relaxed) > 0 {
        let mut shared = SHARED.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(b) = shared.get_mut(class).and_then(Vec::pop) {
            SHARED_IDLE.fetch_sub(class_bytes(class), Ordering::Relaxed);
            return b.0;
        }
    }
    let layout = block_layout(class);
    // SAFETY: the layout has a non-zero size.
    let p = unsafe { alloc_zeroed(layout) };
    let Some(h) = NonNull::new(p.cast::<Header>()) else { handle_alloc_error(layout) };
    SYSTEM_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
    h
}

fn give_block(class: usize, b: Block) {
    let mut b = Some(b);
    let kept = LOCAL.try_with(|l| {
        let mut l = l.borrow_mut();
        let bytes = class_bytes(class);
        if l.idle + bytes > LOCAL_LIMIT {
            return;
        }
        if l.lists.is_empty() {
            l.lists.resize_with(CLASSES, Vec::new);
        }
        if l.lists[class].len() < LOCAL_BLOCKS {
            l.lists[class].extend(b.take());
            l.idle += bytes;
        }
    });
    let _ = kept; // the thread is ending: its list is gone, the shared one takes the block
    if let Some(b) = b {
        give_shared(class, b);
    }
}

impl Buffer {
    /// Memory for `len` elements: initialised, with unspecified values (`false` for bool).
    ///
    /// # Panics
    /// When the size overflows the address space.
    #[inline]
    pub fn new(dtype: DType, len: usize) -> Self {
        let bytes =
            len.checked_mul(dtype.size()).filter(|&b| b <= isize::MAX as usize / 2).expect("buffer size overflows");
        let class = class_of(bytes);
        let header = take_block(class);
        // SAFETY: the block is ours alone, aligned for `Header` and holds one, followed by `class_bytes(class)` bytes
        // that were zeroed when it was first allocated, so they are initialised.
        let data = unsafe {
            header.write(Header { refs: AtomicUsize::new(1), class: class as u32, owner: None });
            header.cast::<u8>().add(size_of::<Header>())
        };
        let b = Self { header, data, len, dtype };
        if dtype == DType::Bool {
            // SAFETY: `bytes` bytes are ours; zero is a valid `bool`, which earlier contents need not be.
            unsafe { b.data.write_bytes(0, bytes) };
        }
        b
    }

    /// Memory that `owner` keeps alive (a file mapping, a caller's vector): never copied, never written.
    pub fn foreign<T: Element, O: AsRef<[T]> + Send + Sync + 'static>(owner: O) -> Self {
        let owner = Box::new(owner);
        let (data, len) = {
            let s: &[T] = (*owner).as_ref();
            (NonNull::from(s).cast::<u8>(), s.len())
        };
        let header = Box::new(Header { refs: AtomicUsize::new(1), class: FOREIGN, owner: Some(owner) });
        Self { header: NonNull::from(Box::leak(header)), data, len, dtype: T::DTYPE }
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: the header lives until the last owner drops it, and we are an owner.
        unsafe { self.header.as_ref() }
    }

    /// Whether this is the only owner of pooled memory (so that it may be written).
    #[inline]
    pub fn is_unique(&self) -> bool {
        let h = self.header();
        h.class != FOREIGN && h.refs.load(Ordering::Acquire) == 1
    }

    /// Whether two buffers are the same memory.
    #[inline]
    pub fn same(&self, other: &Self) -> bool {
        self.header == other.header
    }

    /// The elements.
    ///
    /// # Panics
    /// When `T` is not the buffer's dtype.
    #[inline]
    pub fn host<T: Element>(&self) -> &[T] {
        assert!(T::DTYPE == self.dtype, "the buffer holds {}, not {}", self.dtype, T::DTYPE);
        // SAFETY: `data` holds `len` initialised elements of this dtype, aligned to 64 (or by their owner's slice);
        // nobody writes them while we share them, since writing needs the only owner by `&mut`.
        unsafe { std::slice::from_raw_parts(self.data.cast().as_ptr(), self.len) }
    }

    /// The elements, writable; `None` when the memory is shared or foreign.
    ///
    /// # Panics
    /// When `T` is not the buffer's dtype.
    #[inline]
    pub fn host_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        assert!(T::DTYPE == self.dtype, "the buffer holds {}, not {}", self.dtype, T::DTYPE);
        if !self.is_unique() {
            return None;
        }
        // SAFETY: as in `host`, and the count of one together with `&mut self` makes this the only access.
        Some(unsafe { std::slice::from_raw_parts_mut(self.data.cast().as_ptr(), self.len) })
    }
}

impl Clone for Buffer {
    #[inline]
    fn clone(&self) -> Self {
        let old = self.header().refs.fetch_add(1, Ordering::Relaxed);
        assert!(old < isize::MAX as usize, "too many owners");
        Self { ..*self }
    }
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        if self.header().refs.fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        fence(Ordering::Acquire);
        let class = self.header().class;
        if class == FOREIGN {
            // SAFETY: made by `Box::leak` in `foreign`, and we were the last owner.
            drop(unsafe { Box::from_raw(self.header.as_ptr()) });
        } else {
            give_block(class as usize, Block(self.header));
        }
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} x {})", self.len, self.dtype)
    }
}

/// What the pool holds.
#[derive(Clone, Copy, Debug)]
pub struct PoolStats {
    /// Bytes taken from the system and not given back: in use and idle.
    pub system_bytes: usize,
    /// Idle bytes in the list that all threads share.
    pub shared_idle_bytes: usize,
    /// Idle bytes in the calling thread's own list (at most 32 MiB).
    pub thread_idle_bytes: usize,
    /// The bound on `shared_idle_bytes`; what is freed beyond it goes back to the system.
    pub limit: usize,
}

/// What the pool holds now.
pub fn stats() -> PoolStats {
    PoolStats {
        system_bytes: SYSTEM_BYTES.load(Ordering::Relaxed),
        shared_idle_bytes: SHARED_IDLE.load(Ordering::Relaxed),
        thread_idle_bytes: LOCAL.try_with(|l| l.borrow().idle).unwrap_or(0),
        limit: LIMIT.load(Ordering::Relaxed),
    }
}

/// Sets the bound on shared idle bytes (1 GiB at first).
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// Gives all shared idle memory, and the calling thread's, back to the system.
pub fn trim() {
    let _ = LOCAL.try_with(|l| {
        let mut l = l.borrow_mut();
        l.idle = 0;
        for (class, list) in l.lists.iter_mut().enumerate() {
            list.drain(..).for_each(|b| free_block(class, b));
        }
    });
    let mut shared = SHARED.lock().unwrap_or_else(|e| e.into_inner());
    for (class, list) in shared.iter_mut().enumerate() {
        for b in list.drain(..) {
            SHARED_IDLE.fetch_sub(class_bytes(class), Ordering::Relaxed);
            free_block(class, b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_promise() {
        for bytes in (0..5000).chain([1 << 20, (1 << 20) + 1, 3 << 30, (1 << 40) + 12345]) {
            let c = class_of(bytes);
            assert!(c < CLASSES, "{bytes}");
            assert!(class_bytes(c) >= bytes, "{bytes}");
            assert!(bytes <= 64 || class_bytes(c - 1) < bytes, "{bytes}: not the smallest class");
            assert!(bytes < 128 || class_bytes(c) * 4 <= bytes * 5 + 8, "{bytes}: too much slack");
        }
    }

    #[test]
    fn shared_is_read_only_and_unique_is_writable() {
        let mut a = Buffer::new(DType::F32, 5);
        a.host_mut::<f32>().unwrap().fill(2.0);
        let b = a.clone();
        assert!(a.host_mut::<f32>().is_none() && a.same(&b));
        drop(b);
        a.host_mut::<f32>().unwrap()[4] = 3.0;
        assert_eq!(a.host::<f32>(), [2.0, 2.0, 2.0, 2.0, 3.0]);
        let f = Buffer::foreign::<f32, _>(vec![1.0f32, 2.0]);
        assert!(!f.is_unique());
        assert_eq!(f.clone().host::<f32>(), [1.0, 2.0]);
    }

    #[test]
    fn bool_memory_is_always_valid() {
        let mut a = Buffer::new(DType::U8, 100);
        a.host_mut::<u8>().unwrap().fill(255);
        drop(a);
        assert!(Buffer::new(DType::Bool, 100).host::<bool>().iter().all(|b| !b));
    }

    #[test]
    fn freed_on_another_thread() {
        let v: Vec<_> = (0..100).map(|i| Buffer::new(DType::F64, i * 37)).collect();
        std::thread::spawn(move || drop(v)).join().unwrap();
        assert!(stats().shared_idle_bytes > 0 || stats().system_bytes > 0);
    }
}
