//! [`Disjoint`]: one slice that several tasks write at places of their own.

use std::marker::PhantomData;

/// A mutable slice whose tasks each write other elements, where the places are not the equal chunks that
/// [`team::for_each_chunk`](crate::team::for_each_chunk) hands out.
pub(crate) struct Disjoint<'a, T> {
    base: *mut T,
    len: usize,
    whole: PhantomData<&'a mut [T]>,
}

// SAFETY: sharing a `Disjoint` lets several threads each take a `&mut` to different elements, which `T: Send` allows.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}

impl<'a, T> Disjoint<'a, T> {
    pub(crate) fn new(out: &'a mut [T]) -> Self {
        Self { base: out.as_mut_ptr(), len: out.len(), whole: PhantomData }
    }

    /// Elements `start..start + len`.
    ///
    /// # Safety
    /// While the result lives, no other call on this value may name one of its elements.
    ///
    /// # Panics
    /// When the range leaves the slice.
    #[allow(clippy::mut_from_ref, reason = "the caller promises that each element is taken once")]
    #[inline(always)]
    pub(crate) unsafe fn range(&self, start: usize, len: usize) -> &mut [T] {
        assert!(start <= self.len && len <= self.len - start, "the range leaves the slice");
        // SAFETY: `start <= self.len`, so the pointer stays inside the slice (or one past its end).
        let first = unsafe { self.base.add(start) };
        // SAFETY: `start + len <= self.len`; the slice is borrowed mutably for `'a`, and nobody else holds these
        // elements, as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(first, len) }
    }
}
