//! [`Layout`]: shape and strides of a tensor, and [`Strided`]: a slice seen through one.

use std::fmt;

/// The most axes that the untyped core handles (typed tensors have at most 8; einsum intermediates may have more).
pub const MAX_RANK: usize = 16;

/// Sizes and strides (in elements) of up to [`MAX_RANK`] axes. Strides may be 0 (broadcast) or negative (flipped).
#[derive(Clone, Copy)]
pub struct Layout {
    rank: u8,
    shape: [usize; MAX_RANK],
    strides: [isize; MAX_RANK],
}

impl Layout {
    /// Row-major and dense.
    #[inline]
    pub fn contiguous(shape: &[usize]) -> Self {
        assert!(shape.len() <= MAX_RANK, "at most {MAX_RANK} axes");
        let mut l = Self { rank: shape.len() as u8, shape: [1; MAX_RANK], strides: [0; MAX_RANK] };
        let mut n = 1isize;
        for i in (0..shape.len()).rev() {
            l.shape[i] = shape[i];
            l.strides[i] = n;
            n = n.saturating_mul(shape[i].max(1) as isize);
        }
        l
    }

    /// Any shape and strides.
    #[inline]
    pub fn new(shape: &[usize], strides: &[isize]) -> Self {
        assert!(shape.len() <= MAX_RANK && shape.len() == strides.len(), "at most {MAX_RANK} axes, one stride each");
        let mut l = Self { rank: shape.len() as u8, shape: [1; MAX_RANK], strides: [0; MAX_RANK] };
        l.shape[..shape.len()].copy_from_slice(shape);
        l.strides[..shape.len()].copy_from_slice(strides);
        l
    }

    /// Number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    /// Size of each axis.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.rank as usize]
    }

    /// Stride of each axis, in elements.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        &self.strides[..self.rank as usize]
    }

    /// Number of elements (the product of the sizes; 1 for no axes).
    #[inline]
    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// Whether the elements lie dense in row-major order.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        let mut n = 1isize;
        for i in (0..self.rank as usize).rev() {
            if self.shape[i] != 1 {
                if self.strides[i] != n {
                    return self.is_empty();
                }
                n *= self.shape[i] as isize;
            }
        }
        true
    }

    /// The layout with its axes in another order: axis `i` of the result is axis `order[i]` of this one.
    pub fn permuted(&self, order: &[u8]) -> Self {
        let mut l = Self { rank: order.len() as u8, shape: [1; MAX_RANK], strides: [0; MAX_RANK] };
        for (i, &o) in order.iter().enumerate() {
            l.shape[i] = self.shape[o as usize];
            l.strides[i] = self.strides[o as usize];
        }
        l
    }

    /// The layout without axis `axis`.
    pub fn without(&self, axis: usize) -> Self {
        let mut l = *self;
        for i in axis..self.rank as usize - 1 {
            l.shape[i] = l.shape[i + 1];
            l.strides[i] = l.strides[i + 1];
        }
        l.rank -= 1;
        let r = l.rank as usize;
        l.shape[r] = 1;
        l.strides[r] = 0;
        l
    }

    /// The layout with a new axis at `at`.
    pub fn with(&self, at: usize, size: usize, stride: isize) -> Self {
        let r = self.rank as usize;
        assert!(r < MAX_RANK, "at most {MAX_RANK} axes");
        let mut l = *self;
        for i in (at..r).rev() {
            l.shape[i + 1] = l.shape[i];
            l.strides[i + 1] = l.strides[i];
        }
        l.shape[at] = size;
        l.strides[at] = stride;
        l.rank += 1;
        l
    }

    /// The layout with another size and stride for `axis`.
    pub fn resized(&self, axis: usize, size: usize, stride: isize) -> Self {
        let mut l = *self;
        l.shape[axis] = size;
        l.strides[axis] = stride;
        l
    }

    /// The same elements in the same order with as few axes as possible: size-1 axes dropped, chains merged.
    pub fn coalesced(&self) -> Self {
        let mut l = Self { rank: 0, shape: [1; MAX_RANK], strides: [0; MAX_RANK] };
        let mut n = 0;
        for i in 0..self.rank as usize {
            let (d, s) = (self.shape[i], self.strides[i]);
            if d == 1 {
                continue;
            }
            if n > 0 && l.strides[n - 1] == s * d as isize {
                l.shape[n - 1] *= d;
                l.strides[n - 1] = s;
            } else {
                l.shape[n] = d;
                l.strides[n] = s;
                n += 1;
            }
        }
        l.rank = n as u8;
        l
    }

    /// Smallest and largest offset of an element relative to the first one; `None` when there is no element.
    pub fn extent(&self) -> Option<(isize, isize)> {
        let (mut lo, mut hi) = (0isize, 0isize);
        for i in 0..self.rank as usize {
            let d = self.shape[i];
            if d == 0 {
                return None;
            }
            let reach = self.strides[i].checked_mul(isize::try_from(d - 1).ok()?)?;
            if reach < 0 {
                lo = lo.checked_add(reach)?;
            } else {
                hi = hi.checked_add(reach)?;
            }
        }
        Some((lo, hi))
    }
}

impl PartialEq for Layout {
    fn eq(&self, o: &Self) -> bool {
        self.shape() == o.shape() && self.strides() == o.strides()
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} strides {:?}", self.shape(), self.strides())
    }
}

/// A slice seen through a [`Layout`]: element `i..` lies at `offset + sum(i * stride)`. Bounds are proved when it is made.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a, T> {
    data: &'a [T],
    offset: usize,
    layout: Layout,
    contiguous: bool,
}

impl<'a, T: Copy> Strided<'a, T> {
    /// Sees `data` through `layout`, the first element at `offset`.
    ///
    /// # Panics
    /// When an element would lie outside `data`.
    #[inline]
    pub fn new(data: &'a [T], offset: usize, layout: Layout) -> Self {
        let contiguous = layout.is_contiguous();
        if contiguous {
            assert!(layout.is_empty() || offset + layout.len() <= data.len(), "layout {layout:?} leaves its data");
        } else {
            let inside = match layout.extent() {
                None => layout.is_empty(),
                Some((lo, hi)) => {
                    offset.checked_add_signed(lo).is_some()
                        && offset.checked_add_signed(hi).is_some_and(|h| h < data.len())
                }
            };
            assert!(inside, "layout {layout:?} leaves its data");
        }
        Self { data, offset, layout, contiguous }
    }

    /// A dense row-major view of all of `data`.
    pub fn dense(data: &'a [T], shape: &[usize]) -> Self {
        Self::new(data, 0, Layout::contiguous(shape))
    }

    /// Shape and strides.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Size of each axis.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The whole slice that the view looks into.
    #[inline]
    pub fn data(&self) -> &'a [T] {
        self.data
    }

    /// Where in [`Self::data`] the first element lies.
    #[inline]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// The elements as one slice, if they lie dense in row-major order.
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [T]> {
        self.contiguous.then(|| if self.is_empty() { &[] } else { &self.data[self.offset..self.offset + self.len()] })
    }

    /// The element at `index` (one position for each axis).
    pub fn get(&self, index: &[usize]) -> T {
        let mut at = self.offset as isize;
        for (a, &i) in index.iter().enumerate() {
            assert!(i < self.shape()[a], "index {index:?} is outside {:?}", self.shape());
            at += i as isize * self.layout.strides()[a];
        }
        self.data[at as usize]
    }

    /// Elements `start..start + len` in row-major order: borrowed when dense, else copied into `scratch`.
    #[inline]
    pub fn block<'b>(&'b self, start: usize, len: usize, scratch: &'b mut [T]) -> &'b [T] {
        if self.contiguous {
            return &self.data[self.offset + start..self.offset + start + len];
        }
        self.copy_to(start, &mut scratch[..len]);
        &scratch[..len]
    }

    /// Copies elements `start..start + out.len()` in row-major order to `out`.
    pub fn copy_to(&self, start: usize, out: &mut [T]) {
        if out.is_empty() {
            return;
        }
        if self.contiguous {
            out.copy_from_slice(&self.data[self.offset + start..self.offset + start + out.len()]);
            return;
        }
        let l = self.layout.coalesced();
        let (shape, strides) = (l.shape(), l.strides());
        let r = shape.len();
        // Position of `start`, axis by axis.
        let mut at = [0usize; MAX_RANK];
        let mut rest = start;
        let mut row = self.offset as isize;
        for a in (0..r).rev() {
            at[a] = rest % shape[a];
            rest /= shape[a];
            if a + 1 < r {
                row += at[a] as isize * strides[a];
            }
        }
        let (inner, step) = if r == 0 { (1, 0) } else { (shape[r - 1], strides[r - 1]) };
        let mut first = if r == 0 { 0 } else { at[r - 1] };
        let mut done = 0;
        loop {
            let n = (inner - first).min(out.len() - done);
            let from = row + first as isize * step;
            let to = &mut out[done..done + n];
            match step {
                0 => to.fill(self.data[from as usize]),
                1 => to.copy_from_slice(&self.data[from as usize..from as usize + n]),
                _ => {
                    for (i, o) in to.iter_mut().enumerate() {
                        *o = self.data[(from + i as isize * step) as usize];
                    }
                }
            }
            done += n;
            first = 0;
            if done == out.len() {
                return;
            }
            let mut a = r - 1;
            loop {
                a -= 1;
                at[a] += 1;
                row += strides[a];
                if at[a] < shape[a] {
                    break;
                }
                row -= strides[a] * shape[a] as isize;
                at[a] = 0;
            }
        }
    }
}
