//! How tensors are shown: nested brackets, long axes cut in the middle.

use crate::raw::{RawTensor, by_dtype};
use forge_kernels::{Element, Strided};
use std::fmt;

/// Elements shown at each end of a long axis.
const EDGE: usize = 3;

pub(crate) fn values(f: &mut fmt::Formatter<'_>, x: &RawTensor) -> fmt::Result {
    by_dtype!(x.dtype(), T => nested(f, &x.strided::<T>(), &mut Vec::new()))
}

fn nested<T: Element>(f: &mut fmt::Formatter<'_>, x: &Strided<T>, at: &mut Vec<usize>) -> fmt::Result {
    let axis = at.len();
    if axis == x.shape().len() {
        return write!(f, "{:?}", x.get(at));
    }
    let n = x.shape()[axis];
    f.write_str("[")?;
    let mut i = 0;
    while i < n {
        if i > 0 {
            f.write_str(", ")?;
        }
        if i == EDGE && n > 2 * EDGE {
            f.write_str("..")?;
            i = n - EDGE;
            continue;
        }
        at.push(i);
        nested(f, x, at)?;
        at.pop();
        i += 1;
    }
    f.write_str("]")
}
