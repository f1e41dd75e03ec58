//! Short-lived memory for kernels, from the buffer pool: no call into the system allocator in steady state.

use crate::buffer::Buffer;
use crate::dtype::Element;

/// Memory for `n` elements of unspecified values, given back when dropped.
pub(crate) struct Scratch<T> {
    buffer: Buffer,
    element: std::marker::PhantomData<T>,
}

impl<T: Element> Scratch<T> {
    pub(crate) fn new(n: usize) -> Self {
        Self { buffer: Buffer::new(T::DTYPE, n), element: std::marker::PhantomData }
    }

    pub(crate) fn zeros(n: usize) -> Self {
        let mut s = Self::new(n);
        s.fill(T::default());
        s
    }
}

impl<T: Element> std::ops::Deref for Scratch<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.buffer.host()
    }
}

impl<T: Element> std::ops::DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.buffer.host_mut().expect("scratch memory has one owner")
    }
}
