//! What fused operations share: dense operands, and short names for the recorded operations from which they are built
//! again when they are differentiated twice.

use super::{RawTensor, arith, by_dtype, reduce, unary};
use crate::error::{Error, Result};
use forge_axes::plan::{ContractPlan, NONE};
use forge_kernels::arith::BinaryOp;
use forge_kernels::lanes::LaneAxis;
use forge_kernels::unary::UnaryOp;
use forge_kernels::{DType, Layout, MAX_RANK};

/// The elements dense in row-major order, without a graph; not copied when they are already.
pub(crate) fn dense(x: &RawTensor) -> RawTensor {
    if x.layout.is_contiguous() { x.detach() } else { x.compacted() }
}

/// The order of axes that puts `axis` last.
pub(crate) fn last(rank: usize, axis: usize) -> ([u8; MAX_RANK], [u8; MAX_RANK]) {
    let (mut order, mut back) = ([0; MAX_RANK], [0; MAX_RANK]);
    let mut n = 0;
    for a in (0..rank).filter(|&a| a != axis).chain([axis]) {
        order[n] = a as u8;
        back[a] = n as u8;
        n += 1;
    }
    (order, back)
}

/// A vector along axis `axis`, seen over `shape` (a recorded view).
pub(crate) fn along(v: &RawTensor, shape: &[usize], axis: usize) -> RawTensor {
    let (mut strides, mut map) = ([0; MAX_RANK], [NONE; MAX_RANK]);
    strides[axis] = v.layout.strides()[0];
    map[axis] = 0;
    let n = shape.len();
    super::shape::broadcast_view(v, Layout::new(shape, &strides[..n]), &map[..n])
}

/// A vector must have the size of the axis that it goes along.
pub(crate) fn check_vector(
    op: &'static str,
    what: &str,
    v: &RawTensor,
    x: &RawTensor,
    at: super::At,
    axis: usize,
) -> Result<()> {
    let at = super::At { axis, ..at };
    if v.rank() != 1 || v.shape()[0] != x.shape()[axis] {
        let have = v.shape();
        let want = x.shape()[axis];
        return Err(Error::argument(
            op,
            format!("{what} has sizes {have:?}, but axis `{}` has size {want}", at.name()),
        ));
    }
    same_dtype(op, v, x)
}

/// Operands of one operation have one dtype.
pub(crate) fn same_dtype(op: &'static str, v: &RawTensor, x: &RawTensor) -> Result<()> {
    if v.dtype() != x.dtype() {
        return Err(Error::DType { op, expected: "operands of one dtype", found: v.dtype() });
    }
    Ok(())
}

/// Where lanes along `along` stand on axis `axis`; lanes of an empty tensor stand nowhere.
pub(crate) fn lane_axis(shape: &[usize], along: usize, axis: usize) -> LaneAxis {
    let l = LaneAxis::new(shape, along, axis);
    LaneAxis { stride: l.stride.max(1), size: l.size.max(1) }
}

/// Whether 16-bit floats have to go through f32.
pub(crate) fn is_half(x: &RawTensor) -> bool {
    matches!(x.dtype(), DType::F16 | DType::BF16)
}

pub(crate) fn add(a: &RawTensor, b: &RawTensor) -> Result<RawTensor> {
    arith::same(BinaryOp::Add, a, b)
}
pub(crate) fn sub(a: &RawTensor, b: &RawTensor) -> Result<RawTensor> {
    arith::same(BinaryOp::Sub, a, b)
}
pub(crate) fn mul(a: &RawTensor, b: &RawTensor) -> Result<RawTensor> {
    arith::same(BinaryOp::Mul, a, b)
}
pub(crate) fn div(a: &RawTensor, b: &RawTensor) -> Result<RawTensor> {
    arith::same(BinaryOp::Div, a, b)
}
pub(crate) fn scale(x: &RawTensor, k: f64) -> Result<RawTensor> {
    arith::scalar(BinaryOp::Mul, x, k)
}
pub(crate) fn plus(x: &RawTensor, k: f64) -> Result<RawTensor> {
    arith::scalar(BinaryOp::Add, x, k)
}
pub(crate) fn of(op: UnaryOp, x: &RawTensor) -> Result<RawTensor> {
    unary::unary(op, x, 0.0, "gradient")
}

/// The sum along `axis`, repeated along it: the shape stays.
pub(crate) fn summed(x: &RawTensor, axis: usize) -> Result<RawTensor> {
    Ok(repeat(&reduce::sum(x, &[axis])?, axis, x.shape()))
}

/// `x`, which lacks `axis` of `full`, repeated along it (a view).
pub(crate) fn repeat(x: &RawTensor, axis: usize, full: &[usize]) -> RawTensor {
    reduce::repeat_along(x, &[axis], full)
}

/// A contraction whose loops are named by letters: `contract(a, b, b"ik", b"kj", b"ij")`.
pub(crate) fn contract(a: &RawTensor, b: &RawTensor, la: &[u8], lb: &[u8], out: &[u8]) -> Result<RawTensor> {
    let plan = ContractPlan::from_labels(la, lb, out);
    super::contract::contract(a, b, &plan, super::Names { lhs: &[], rhs: &[] }, "gradient")
}

/// A constant of `like`'s shape and dtype whose elements `f` gives from their place in row-major order.
pub(crate) fn constant(shape: &[usize], dtype: DType, f: impl Fn(usize) -> f64) -> RawTensor {
    match dtype {
        DType::F64 => RawTensor::build(shape, |out: &mut [f64]| {
            out.iter_mut().enumerate().for_each(|(i, o)| *o = f(i));
        }),
        _ => RawTensor::build(shape, |out: &mut [f32]| {
            out.iter_mut().enumerate().for_each(|(i, o)| *o = f(i) as f32);
        }),
    }
}

/// The constant `k` wherever `test` holds for an element of `x`, else 0.
pub(crate) fn where_value(x: &RawTensor, k: f64, test: impl Fn(f64) -> bool) -> RawTensor {
    let values = to_f64(x);
    constant(x.shape(), x.dtype(), |i| if test(values[i]) { k } else { 0.0 })
}

/// The elements as f64, in row-major order.
pub(crate) fn to_f64(x: &RawTensor) -> Vec<f64> {
    match x.dtype() {
        DType::F64 => x.to_vec::<f64>(),
        DType::F32 => x.to_vec::<f32>().into_iter().map(f64::from).collect(),
        _ => by_dtype!(x.dtype(), T => {
            x.to_vec::<T>().into_iter().map(<f64 as forge_kernels::cast::CastFrom<T>>::cast_from).collect()
        }),
    }
}
