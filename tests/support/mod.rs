//! A global allocator that counts, for tests of what must not allocate.
#![allow(unsafe_code, reason = "a global allocator is an unsafe trait; see tests/architecture.rs")]
#![allow(dead_code, reason = "each test uses its part")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting the calls and the live bytes of each thread.
pub struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// Notes that this thread's live bytes change.
fn live(change: i64) {
    let _ = LIVE.try_with(|l| {
        l.set(l.get() + change);
        let _ = PEAK.try_with(|p| p.set(p.get().max(l.get())));
    });
}

fn count() {
    // At thread end the counter is gone, and nobody reads it any more.
    let _ = CALLS.try_with(|c| c.set(c.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 {
        count();
        live(l.size() as i64);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(l) }
    }
    unsafe fn dealloc(&self, p: *mut u8, l: Layout) {
        live(-(l.size() as i64));
        // SAFETY: as above.
        unsafe { System.dealloc(p, l) }
    }
    unsafe fn alloc_zeroed(&self, l: Layout) -> *mut u8 {
        count();
        live(l.size() as i64);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(l) }
    }
    unsafe fn realloc(&self, p: *mut u8, l: Layout, n: usize) -> *mut u8 {
        count();
        live(n as i64 - l.size() as i64);
        // SAFETY: as above.
        unsafe { System.realloc(p, l, n) }
    }
}

/// Allocations that `f` makes on this thread.
pub fn allocations(f: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    f();
    CALLS.get() - before
}

/// The most bytes that `f` holds at a time on this thread, beyond those before it.
pub fn peak_bytes(f: impl FnOnce()) -> u64 {
    let before = LIVE.get();
    PEAK.set(before);
    f();
    u64::try_from(PEAK.get() - before).unwrap_or_default()
}
