//! [`Shaped`]: a layout and what it is the layout of, behind one shared pointer.
//!
//! A tensor is moved, cloned and dropped far more often than its layout is read. One pointer makes those a few
//! instructions, and the slots behind the pointers are kept by the thread that dropped them, so that in steady state
//! neither making nor dropping one calls the allocator.

use crate::layout::Layout;
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::thread::LocalKey;

/// Idle slots that one thread keeps of each kind.
const IDLE: usize = 1024;

/// What a [`Shaped`] can hold: it names the list of idle slots of its kind.
///
/// ```
/// use forge_kernels::{Layout, shaped::{Payload, Shaped, Slots}};
/// use std::{cell::RefCell, thread::LocalKey};
///
/// #[derive(Clone)]
/// struct Name(String);
/// thread_local! { static SLOTS: RefCell<Slots<Name>> = const { RefCell::new(Slots::new()) } }
/// impl Payload for Name {
///     fn slots() -> &'static LocalKey<RefCell<Slots<Self>>> { &SLOTS }
/// }
///
/// let a = Shaped::contiguous(&[2, 3], Name("a".into()));
/// let mut b = a.clone();
/// b.make_mut().0.push('b');
/// assert_eq!((a.0.as_str(), b.0.as_str(), b.layout().strides()), ("a", "ab", &[3, 1][..]));
/// ```
pub trait Payload: Clone + 'static {
    /// The calling thread's idle slots.
    fn slots() -> &'static LocalKey<RefCell<Slots<Self>>>;
}

struct Slot<P> {
    refs: AtomicUsize,
    /// What every operation asks the layout first.
    len: usize,
    contiguous: bool,
    layout: Layout,
    /// Initialised while the slot is in use.
    payload: MaybeUninit<P>,
}

/// Slots without a payload, each owned by the list alone.
pub struct Slots<P>(Vec<NonNull<Slot<P>>>);

impl<P> Slots<P> {
    /// No slots.
    pub const fn new() -> Self {
        Self(Vec::new())
    }
}

impl<P> Default for Slots<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P> Drop for Slots<P> {
    fn drop(&mut self) {
        for slot in self.0.drain(..) {
            // SAFETY: made by `Box::leak` in `write`, and the list was its only owner. It holds no payload.
            drop(unsafe { Box::from_raw(slot.as_ptr()) });
        }
    }
}

/// An immutable [`Layout`] with a `P`, shared by its clones.
pub struct Shaped<P: Payload>(NonNull<Slot<P>>);

// SAFETY: layout and payload are read-only while they are shared, and the count is atomic.
unsafe impl<P: Payload + Send + Sync> Send for Shaped<P> {}
// SAFETY: as above.
unsafe impl<P: Payload + Send + Sync> Sync for Shaped<P> {}

impl<P: Payload> Shaped<P> {
    /// `payload` with the layout that `write` makes from an unspecified one; it returns length and density.
    #[inline]
    fn write(payload: P, write: impl FnOnce(&mut Layout) -> (usize, bool)) -> Self {
        let idle = P::slots().try_with(|s| s.borrow_mut().0.pop()).ok().flatten();
        let mut slot = idle.unwrap_or_else(|| {
            NonNull::from(Box::leak(Box::new(Slot {
                refs: AtomicUsize::new(1),
                len: 1,
                contiguous: true,
                layout: Layout::contiguous(&[]),
                payload: MaybeUninit::uninit(),
            })))
        });
        // SAFETY: an idle or a fresh slot has no other owner.
        let s = unsafe { slot.as_mut() };
        (s.len, s.contiguous) = write(&mut s.layout);
        *s.refs.get_mut() = 1;
        s.payload.write(payload);
        Self(slot)
    }

    /// `payload` in row-major order, dense.
    ///
    /// # Panics
    /// When there are more than [`MAX_RANK`](crate::MAX_RANK) axes.
    #[inline]
    pub fn contiguous(shape: &[usize], payload: P) -> Self {
        Self::write(payload, |l| (l.set_contiguous(shape), true))
    }

    /// `payload` with any layout.
    #[inline]
    pub fn new(layout: &Layout, payload: P) -> Self {
        Self::write(payload, |l| {
            l.set(layout.shape(), layout.strides());
            (l.len(), l.is_contiguous())
        })
    }

    #[inline]
    fn slot(&self) -> &Slot<P> {
        // SAFETY: the slot lives until its last owner drops it, and we are an owner.
        unsafe { self.0.as_ref() }
    }

    /// Shape and strides.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.slot().layout
    }

    /// Number of elements: [`Layout::len`], known already.
    #[inline]
    pub fn len(&self) -> usize {
        self.slot().len
    }

    /// Whether there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// [`Layout::is_contiguous`], known already.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.slot().contiguous
    }

    /// Whether this is the only owner.
    #[inline]
    pub fn is_unique(&self) -> bool {
        self.slot().refs.load(Ordering::Acquire) == 1
    }

    /// The payload, writable: a clone of its own when others share it.
    #[inline]
    pub fn make_mut(&mut self) -> &mut P {
        if !self.is_unique() {
            *self = Self::new(self.layout(), P::clone(self));
        }
        // SAFETY: a count of one together with `&mut self` makes this the only access; a slot in use has its payload.
        unsafe { self.0.as_mut().payload.assume_init_mut() }
    }
}

impl<P: Payload> Deref for Shaped<P> {
    type Target = P;
    #[inline]
    fn deref(&self) -> &P {
        // SAFETY: a slot in use has its payload.
        unsafe { self.slot().payload.assume_init_ref() }
    }
}

impl<P: Payload> Clone for Shaped<P> {
    #[inline]
    fn clone(&self) -> Self {
        let old = self.slot().refs.fetch_add(1, Ordering::Relaxed);
        assert!(old < isize::MAX as usize, "too many owners");
        Self(self.0)
    }
}

impl<P: Payload> Drop for Shaped<P> {
    #[inline]
    fn drop(&mut self) {
        // A count of one cannot grow again while we hold the only reference: no locked instruction is needed.
        if self.slot().refs.load(Ordering::Acquire) != 1 {
            if self.slot().refs.fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        // SAFETY: we were the last owner, and a slot in use has its payload. What its drop does (it may drop other
        // values of this kind) happens before the list is borrowed.
        unsafe { self.0.as_mut().payload.assume_init_drop() };
        let kept = P::slots().try_with(|s| {
            let slots = &mut s.borrow_mut().0;
            let room = slots.len() < IDLE;
            if room {
                slots.push(self.0);
            }
            room
        });
        if kept != Ok(true) {
            // SAFETY: made by `Box::leak` in `write`, we were the last owner, and no list holds it.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[derive(Clone)]
    struct Counted(Arc<()>);
    thread_local! {
        static SLOTS: RefCell<Slots<Counted>> = const { RefCell::new(Slots::new()) };
    }
    impl Payload for Counted {
        fn slots() -> &'static LocalKey<RefCell<Slots<Self>>> {
            &SLOTS
        }
    }

    #[test]
    fn a_recycled_slot_forgets_what_it_held() {
        let count = Arc::new(());
        let many: Vec<_> = (0..IDLE + 10).map(|i| Shaped::contiguous(&[i, 2, 3, 4], Counted(count.clone()))).collect();
        let kept = many[7].clone();
        assert_eq!(Arc::strong_count(&count), IDLE + 11);
        drop(many);
        assert_eq!(Arc::strong_count(&count), 2, "every payload but the kept one is dropped");
        let next = Shaped::new(&Layout::new(&[5, 2], &[-1, 0]), Counted(count.clone()));
        assert_eq!((next.layout().shape(), next.layout().strides()), (&[5, 2][..], &[-1, 0][..]));
        assert!(next.len() == 10 && !next.is_contiguous());
        let scalar = Shaped::contiguous(&[], Counted(count.clone()));
        assert!(scalar.len() == 1 && scalar.is_contiguous() && *scalar.layout() == Layout::contiguous(&[]));
        assert_eq!(next.layout().with(1, 6, 9).shape(), [5, 6, 2]);
        assert_eq!(kept.layout().strides(), [24, 12, 4, 1]);
    }

    #[test]
    fn a_shared_payload_is_cloned_before_it_changes() {
        let (one, two) = (Arc::new(()), Arc::new(()));
        let a = Shaped::contiguous(&[2], Counted(one.clone()));
        let mut b = a.clone();
        b.make_mut().0 = two.clone();
        assert!(Arc::ptr_eq(&(*a).0, &one) && Arc::ptr_eq(&(*b).0, &two) && a.is_unique() && b.is_unique());
        b.make_mut().0 = one.clone();
        assert_eq!(Arc::strong_count(&two), 1, "a sole owner changes in place");
    }

    #[test]
    fn owners_on_several_threads() {
        let count = Arc::new(());
        let l = Shaped::contiguous(&[3, 4], Counted(count.clone()));
        std::thread::scope(|s| {
            for _ in 0..4 {
                let mine = l.clone();
                s.spawn(move || (0..1000).for_each(|_| assert_eq!(mine.clone().layout().shape(), [3, 4])));
            }
        });
        assert_eq!(l.layout().strides(), [4, 1]);
        drop(l);
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
