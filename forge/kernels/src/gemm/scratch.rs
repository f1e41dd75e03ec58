//! Thread-local buffers of the packers: they grow to the largest block a thread has met and are then reused, so that
//! a product allocates nothing in steady state.

use super::GemmFloat;
use std::cell::Cell;
use std::mem::MaybeUninit;

/// A cache line, the alignment of every buffer.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line(#[allow(dead_code, reason = "only its size and alignment matter")] [MaybeUninit<u8>; 64]);

const EMPTY: Line = Line([MaybeUninit::uninit(); 64]);

/// Which of a thread's buffers: they are in use at the same time.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    /// Packed A.
    A,
    /// Packed B, or the sums of a skinny product.
    B,
    /// Gathered rows of a routed product.
    Rows,
    /// Rows of a C that is not row-major, on their way through the epilogue.
    Epilogue,
}

thread_local! {
    static BUFFERS: [Cell<Vec<Line>>; 4] = const { [const { Cell::new(Vec::new()) }; 4] };
}

/// Calls `f` with room for `len` elements, not initialised, aligned to 64 bytes.
///
/// A buffer that is in use already (which the drivers never ask for) is simply another one.
pub(super) fn with<T: GemmFloat, R>(slot: Slot, len: usize, f: impl FnOnce(*mut T) -> R) -> R {
    if len == 0 {
        return f(std::ptr::NonNull::dangling().as_ptr());
    }
    let lines = (len * size_of::<T>()).div_ceil(size_of::<Line>());
    let mut buffer = BUFFERS.with(|b| b[slot as usize].take());
    if buffer.len() < lines {
        buffer.resize(lines, EMPTY);
    }
    let out = f(buffer.as_mut_ptr().cast());
    BUFFERS.with(|b| b[slot as usize].set(buffer));
    out
}
