//! The untyped core: [`RawTensor`] knows dtype, sizes, strides and memory, never axis names.
//!
//! Each file is one family of operations: it validates run-time sizes, chooses a kernel and a layout, allocates from
//! the buffer pool and, when an input needs a gradient, records the derivative beside the forward code.

use crate::autograd::NodeRef;
use crate::error::{Error, Result, axes_text};
use forge_axes::Key;
use forge_kernels::buffer::Buffer;
use forge_kernels::{DType, Element, Layout, Strided, elementwise};

pub mod arith;
pub mod assemble;
pub mod attention;
pub mod cast;
pub mod clamp;
pub mod compare;
pub mod contract;
pub mod conv;
pub mod dropout;
pub mod fold;
pub(crate) mod fused;
pub mod gated;
pub mod index;
pub mod integer;
pub mod linear_loss;
pub mod loss;
pub mod norm;
pub mod pool;
pub mod reduce;
pub mod rope;
pub mod scan;
pub mod select;
pub mod shape;
pub mod softmax;
pub mod unary;
mod unbind;

/// A tensor without axis names: what every typed and erased tensor holds.
#[derive(Clone)]
pub struct RawTensor {
    pub(crate) buf: Buffer,
    pub(crate) layout: Layout,
    pub(crate) offset: usize,
    pub(crate) node: Option<NodeRef>,
}

/// Where an operation on one axis works, with the names for its error messages.
#[derive(Clone, Copy)]
pub struct At<'k> {
    /// Position of the axis.
    pub axis: usize,
    /// Names of all axes of the operand.
    pub keys: &'k [Key<'k>],
}

impl At<'_> {
    /// The axis' name.
    pub fn name(&self) -> &str {
        self.keys.get(self.axis).map_or("?", |k| k.name)
    }

    pub(crate) fn index_error(&self, op: &'static str, index: i64, size: usize) -> Error {
        Error::Index { op, axis: self.name().to_owned(), index, size }
    }
}

/// The names of a binary operation's axes, for its error messages.
#[derive(Clone, Copy)]
pub struct Names<'k> {
    /// Axes of the left operand.
    pub lhs: &'k [Key<'k>],
    /// Axes of the right operand.
    pub rhs: &'k [Key<'k>],
}

impl Names<'_> {
    /// The error that axis `axis` of the left operand differs in size from its twin on the right.
    #[cold]
    pub(crate) fn mismatch(&self, op: &'static str, l: (&RawTensor, usize), r: (&RawTensor, usize)) -> Error {
        Error::SizeMismatch {
            op,
            axis: self.lhs.get(l.1).map_or("?", |k| k.name).to_owned(),
            lhs: l.0.shape()[l.1],
            rhs: r.0.shape()[r.1],
            lhs_axes: axes_text(self.lhs, l.0.shape()),
            rhs_axes: axes_text(self.rhs, r.0.shape()),
        }
    }
}

/// Runs `$body` with `$T` bound to the float type of `$dtype`: f32 or f64.
macro_rules! by_float {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            forge_kernels::DType::F32 => {
                type $T = f32;
                $body
            }
            forge_kernels::DType::F64 => {
                type $T = f64;
                $body
            }
            found => return Err($crate::error::Error::DType { op: $op, expected: "f32 or f64", found }),
        }
    };
}
/// Runs `$body` with `$T` bound to the Rust type of `$dtype`, whichever it is.
macro_rules! by_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        by_dtype!(@ $dtype, $T, $body; F32 f32, F64 f64, F16 forge_kernels::f16, BF16 forge_kernels::bf16, I8 i8, I16 i16, I32 i32,
            I64 i64, U8 u8, U16 u16, Bool bool)
    };
    (@ $dtype:expr, $T:ident, $body:expr; $($d:ident $t:ty),*) => {
        match $dtype {
            $(forge_kernels::DType::$d => {
                type $T = $t;
                $body
            })*
        }
    };
}
/// Runs `$body` with `$T` bound to a number type (not bool, not 16-bit float): those have native arithmetic.
macro_rules! by_native_number {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        by_native_number!(@ $op, $dtype, $T, $body; F32 f32, F64 f64, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16)
    };
    (@ $op:expr, $dtype:expr, $T:ident, $body:expr; $($d:ident $t:ty),*) => {
        match $dtype {
            $(forge_kernels::DType::$d => {
                type $T = $t;
                $body
            })*
            found => return Err($crate::error::Error::DType { op: $op, expected: "a number type", found }),
        }
    };
}
pub(crate) use {by_dtype, by_float, by_native_number};

impl RawTensor {
    /// A dense tensor of `shape` whose elements `fill` writes. (They are initialised, with unspecified values.)
    pub fn build<T: Element>(shape: &[usize], fill: impl FnOnce(&mut [T])) -> Self {
        let layout = Layout::contiguous(shape);
        let mut buf = Buffer::new(T::DTYPE, element_count(shape));
        fill(buf.host_mut::<T>().expect("new memory has one owner"));
        Self { buf, layout, offset: 0, node: None }
    }

    /// A copy of `data` with `shape`.
    pub fn from_slice<T: Element>(shape: &[usize], data: &[T]) -> Result<Self> {
        Self::check_len("from_slice", shape, data.len(), &[])?;
        Ok(Self::build(shape, |out| out.copy_from_slice(data)))
    }

    /// `owner`'s memory with `shape`, not copied.
    pub fn from_owner<T: Element, O: AsRef<[T]> + Send + Sync + 'static>(shape: &[usize], owner: O) -> Result<Self> {
        Self::check_len("from_owner", shape, owner.as_ref().len(), &[])?;
        Ok(Self { buf: Buffer::foreign::<T, O>(owner), layout: Layout::contiguous(shape), offset: 0, node: None })
    }

    pub(crate) fn check_len(op: &'static str, shape: &[usize], found: usize, keys: &[Key]) -> Result<()> {
        let expected = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        if expected == Some(found) {
            return Ok(());
        }
        Err(Error::Length { op, expected: expected.unwrap_or(usize::MAX), found, axes: axes_text(keys, shape) })
    }

    /// Every element `value`: one element of memory, seen with strides 0.
    pub fn full<T: Element>(shape: &[usize], value: T) -> Self {
        Self::build(shape, |out| out.fill(value))
    }

    /// Type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.buf.dtype()
    }

    /// Size of each axis.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.layout.rank()
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

    /// Shape and strides.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The elements, seen through the layout.
    ///
    /// # Panics
    /// When `T` is not the dtype.
    #[inline]
    pub fn strided<T: Element>(&self) -> Strided<'_, T> {
        Strided::new(self.buf.host::<T>(), self.offset, self.layout)
    }

    /// The elements as a slice, when they lie dense in row-major order.
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        if !self.layout.is_contiguous() {
            return None;
        }
        let n = self.len();
        Some(if n == 0 { &[] } else { &self.buf.host::<T>()[self.offset..self.offset + n] })
    }

    /// The elements as a writable slice, when they lie dense and nobody shares them.
    #[inline]
    pub(crate) fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        if !self.layout.is_contiguous() {
            return None;
        }
        let (n, o) = (self.len(), self.offset);
        if n == 0 {
            return Some(&mut []);
        }
        self.buf.host_mut::<T>().map(|s| &mut s[o..o + n])
    }

    /// The elements, copied in row-major order.
    pub fn to_vec<T: Element>(&self) -> Vec<T> {
        let s = self.strided::<T>();
        s.as_slice().map_or_else(
            || {
                let mut v = vec![T::default(); s.len()];
                s.copy_to(0, &mut v);
                v
            },
            <[T]>::to_vec,
        )
    }

    /// The same values, dense in row-major order; not copied when they are already. Carries the gradient through.
    #[must_use]
    pub fn contiguous(&self) -> Self {
        if self.layout.is_contiguous() {
            return self.clone();
        }
        let mut t = self.compacted();
        t.node.clone_from(&self.node);
        t
    }

    /// A dense copy without a graph.
    pub(crate) fn compacted(&self) -> Self {
        by_dtype!(self.dtype(), T => {
            let s = self.strided::<T>();
            Self::build(self.shape(), |out: &mut [T]| elementwise::copy(out, &s))
        })
    }

    /// The same memory under another layout; `node` stays behind.
    pub(crate) fn view(&self, layout: Layout, offset: usize) -> Self {
        Self { buf: self.buf.clone(), layout, offset, node: None }
    }

    /// The same values, cut off from the graph.
    #[must_use]
    pub fn detach(&self) -> Self {
        Self { buf: self.buf.clone(), layout: self.layout, offset: self.offset, node: None }
    }

    /// Whether a gradient flows through this value.
    #[inline]
    pub fn requires_grad(&self) -> bool {
        self.node.is_some()
    }

    /// A tensor of ones with this one's shape and float dtype.
    pub(crate) fn ones_like(&self) -> Self {
        match self.dtype() {
            DType::F64 => Self::full(self.shape(), 1.0f64),
            _ => Self::full(self.shape(), 1.0f32),
        }
    }

    /// A tensor of zeros with this one's shape and dtype.
    pub(crate) fn zeros_like(&self) -> Self {
        by_dtype!(self.dtype(), T => Self::full::<T>(self.shape(), T::default()))
    }
}

/// Number of elements of `shape`.
///
/// # Panics
/// When it overflows the address space.
pub(crate) fn element_count(shape: &[usize]) -> usize {
    shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).expect("a tensor of this shape exceeds the address space")
}
