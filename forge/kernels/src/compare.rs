//! Selection by a mask, on dense slices.

use crate::{Element, multiversion};

multiversion! {
    /// `out[i] = a[i]` where `mask[i]`, else `b[i]`.
    pub fn select<T: Element>(out: &mut [T], mask: &[bool], a: &[T], b: &[T]) {
        for (((o, &m), &a), &b) in out.iter_mut().zip(mask).zip(a).zip(b) {
            *o = if m { a } else { b };
        }
    }
}
