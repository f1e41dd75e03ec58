//! Comparison, logic and selection. None of it carries a gradient but the selected values themselves.

use super::{At, Names, RawTensor, arith, by_dtype, by_float, by_native_number, cast};
use crate::autograd::{record, tracks};
use crate::error::{Error, Result};
use forge_axes::plan::PointwisePlan;
use forge_kernels::cast::CastFrom;
use forge_kernels::compare::{self as kernel, CompareOp, LogicOp, TestOp};
use forge_kernels::{DType, Element, Layout, Strided, elementwise};

fn compare_name(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "eq",
        CompareOp::Ne => "ne",
        CompareOp::Lt => "lt",
        CompareOp::Le => "le",
        CompareOp::Gt => "gt",
        CompareOp::Ge => "ge",
    }
}

fn logic_name(op: LogicOp) -> &'static str {
    match op {
        LogicOp::And => "logical_and",
        LogicOp::Or => "logical_or",
        LogicOp::Xor => "logical_xor",
    }
}

/// `a op b` as bools, `b` broadcast to `a`'s axes. With NaN every comparison but `ne` is false.
pub fn compare(op: CompareOp, a: &RawTensor, b: &RawTensor, plan: &PointwisePlan, names: Names) -> Result<RawTensor> {
    let name = compare_name(op);
    if a.dtype() != b.dtype() {
        return Err(Error::DType { op: name, expected: "two operands of one dtype", found: b.dtype() });
    }
    let layout = arith::aligned(name, a, b, plan, names)?;
    by_dtype!(a.dtype(), T => {
        let x = a.strided::<T>();
        let y = Strided::new(b.buf.host::<T>(), b.offset, layout);
        Ok(RawTensor::build(a.shape(), |out: &mut [bool]| {
            elementwise::binary(out, &x, &y, |o, x, y| kernel::compare(op, o, x, y));
        }))
    })
}

/// `x op s` as bools. For floats `s` is rounded to the dtype first; integers are compared with `s` exactly.
pub fn compare_scalar(op: CompareOp, x: &RawTensor, s: f64) -> Result<RawTensor> {
    fn run<T: Element + PartialOrd>(op: CompareOp, x: &RawTensor, s: T) -> RawTensor {
        let v = x.strided::<T>();
        RawTensor::build(x.shape(), |out: &mut [bool]| {
            elementwise::unary(out, &v, |o, v| kernel::compare_scalar(op, o, v, s));
        })
    }
    let name = compare_name(op);
    if x.dtype().is_float() {
        return Ok(match x.dtype() {
            DType::F16 => run(op, x, <forge_kernels::f16 as CastFrom<f64>>::cast_from(s)),
            DType::BF16 => run(op, x, <forge_kernels::bf16 as CastFrom<f64>>::cast_from(s)),
            DType::F64 => run(op, x, s),
            _ => run(op, x, s as f32),
        });
    }
    // Between two integers only the order against a neighbour of `s` counts.
    let (op, edge) = match op {
        CompareOp::Eq | CompareOp::Ne if s.fract() != 0.0 || s.is_infinite() => (op, None),
        CompareOp::Lt | CompareOp::Ge => (op, Some(s.ceil())),
        CompareOp::Le | CompareOp::Gt => (op, Some(s.floor())),
        CompareOp::Eq | CompareOp::Ne => (op, Some(s)),
    };
    let constant = |holds: bool| Ok(RawTensor::full(x.shape(), holds));
    let Some(edge) = edge.filter(|e| !e.is_nan()) else { return constant(op == CompareOp::Ne) };
    by_native_number!(name, x.dtype(), T => {
        // An edge outside the type is below or above every element.
        if edge < T::MIN as f64 || edge > T::MAX as f64 || (edge as i128) > T::MAX as i128 {
            let above = edge > 0.0;
            return constant(match op {
                CompareOp::Eq => false,
                CompareOp::Ne => true,
                CompareOp::Lt | CompareOp::Le => above,
                CompareOp::Gt | CompareOp::Ge => !above,
            });
        }
        Ok(run(op, x, edge as T))
    })
}

/// `a op b` of truth values (numbers hold when they are not 0; NaN holds), `b` broadcast to `a`'s axes.
pub fn logic(op: LogicOp, a: &RawTensor, b: &RawTensor, plan: &PointwisePlan, names: Names) -> Result<RawTensor> {
    let (a, b) = (truth(a)?, truth(b)?);
    let layout = arith::aligned(logic_name(op), &a, &b, plan, names)?;
    let (x, y) = (a.strided::<bool>(), Strided::new(b.buf.host::<bool>(), b.offset, layout));
    Ok(RawTensor::build(a.shape(), |out: &mut [bool]| {
        elementwise::binary(out, &x, &y, |o, x, y| kernel::logic(op, o, x, y));
    }))
}

/// Whether each element does not hold.
pub fn logical_not(x: &RawTensor) -> Result<RawTensor> {
    let t = truth(x)?;
    let v = t.strided::<bool>();
    Ok(RawTensor::build(x.shape(), |out: &mut [bool]| {
        elementwise::unary(out, &v, |o, v| kernel::compare_scalar(CompareOp::Eq, o, v, false));
    }))
}

/// Whether each element is NaN, infinite or finite.
pub fn test(op: TestOp, x: &RawTensor) -> Result<RawTensor> {
    let name = match op {
        TestOp::Nan => "isnan",
        TestOp::Inf => "isinf",
        TestOp::Finite => "isfinite",
    };
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return test(op, &cast::to(&x.detach(), DType::F32)?);
    }
    by_float!(name, x.dtype(), T => {
        let v = x.strided::<T>();
        Ok(RawTensor::build(x.shape(), |out: &mut [bool]| {
            elementwise::unary(out, &v, |o, v| kernel::test(op, o, v));
        }))
    })
}

/// The truth of each element: not 0; NaN holds.
pub(crate) fn truth(x: &RawTensor) -> Result<RawTensor> {
    cast::to(&x.detach(), DType::Bool)
}

/// `mask`'s truth seen with `x`'s axes.
pub(crate) fn mask_for(
    op: &'static str,
    x: &RawTensor,
    mask: &RawTensor,
    plan: &PointwisePlan,
    names: Names,
) -> Result<RawTensor> {
    arith::broadcast(op, x, &truth(mask)?, plan, names)
}

/// One number in every place of `shape`: one element of memory, seen with strides 0.
pub(crate) fn constant(dtype: DType, shape: &[usize], value: f64) -> RawTensor {
    by_dtype!(dtype, T => {
        let one = RawTensor::full::<T>(&[], <T as CastFrom<f64>>::cast_from(value));
        let strides = [0; forge_kernels::MAX_RANK];
        one.view(Layout::new(shape, &strides[..shape.len()]), one.offset)
    })
}

/// `a` where `mask` holds, else `b`: three tensors of one shape. What is not selected leaves no trace, NaN included.
pub(crate) fn where_(mask: &RawTensor, a: &RawTensor, b: &RawTensor) -> Result<RawTensor> {
    if mask.dtype() != DType::Bool {
        return Err(Error::DType { op: "where_", expected: "a bool mask", found: mask.dtype() });
    }
    if a.dtype() != b.dtype() {
        return Err(Error::DType { op: "where_", expected: "two operands of one dtype", found: b.dtype() });
    }
    let out = by_dtype!(a.dtype(), T => {
        let (m, x, y) = (mask.strided::<bool>(), a.strided::<T>(), b.strided::<T>());
        RawTensor::build(a.shape(), |out: &mut [T]| elementwise::ternary(out, &m, &x, &y, kernel::select::<T>))
    });
    if !tracks(&[a, b]) {
        return Ok(out);
    }
    let mask = mask.clone();
    Ok(record(out, [a, b], move |p| {
        let zero = constant(p.grad.dtype(), p.grad.shape(), 0.0);
        Ok([
            if p.needs(0) { Some(where_(&mask, p.grad, &zero)?) } else { None },
            if p.needs(1) { Some(where_(&mask, &zero, p.grad)?) } else { None },
        ])
    }))
}

/// `where_` with `mask` and `b` broadcast to `a`'s axes.
pub fn where_named(
    a: &RawTensor,
    mask: (&RawTensor, &PointwisePlan, Names),
    b: (&RawTensor, &PointwisePlan, Names),
) -> Result<RawTensor> {
    let m = mask_for("where_", a, mask.0, mask.1, mask.2)?;
    where_(&m, a, &arith::broadcast("where_", a, b.0, b.1, b.2)?)
}

/// `value` where `mask`, broadcast to `x`'s axes, holds; else `x`.
pub fn masked_fill(
    x: &RawTensor,
    mask: &RawTensor,
    plan: &PointwisePlan,
    names: Names,
    value: f64,
) -> Result<RawTensor> {
    let m = mask_for("masked_fill", x, mask, plan, names)?;
    where_(&m, &constant(x.dtype(), x.shape(), value), x)
}

/// `x` where `i - j <= lower` and `j - i <= upper` for positions `i` on axis `row` and `j` on axis `col`, else 0. No bound is
/// no limit.
pub fn band_part(x: &RawTensor, row: At, col: At, lower: Option<i64>, upper: Option<i64>) -> Result<RawTensor> {
    if row.axis == col.axis {
        return Err(Error::argument("band_part", format!("axis `{}` stands for rows and columns", row.name())));
    }
    let (rows, cols) = (x.shape()[row.axis], x.shape()[col.axis]);
    let (lower, upper) = (lower.unwrap_or(i64::MAX), upper.unwrap_or(i64::MAX));
    let plane = RawTensor::build(&[rows, cols], |out: &mut [bool]| {
        for (i, o) in out.chunks_mut(cols.max(1)).enumerate() {
            kernel::band_row(o, i as i64, lower, upper);
        }
    });
    let mut strides = [0; forge_kernels::MAX_RANK];
    strides[row.axis] = cols as isize;
    strides[col.axis] = 1;
    let mask = plane.view(Layout::new(x.shape(), &strides[..x.rank()]), plane.offset);
    where_(&mask, x, &constant(x.dtype(), x.shape(), 0.0))
}
