//! Reductions over one or several axes.

use super::{RawTensor, arith, by_float, by_native_number, cast, shape};
use crate::autograd::{record, tracks};
use crate::error::Result;
use forge_kernels::arith::BinaryOp;
use forge_kernels::{DType, Layout, reduce as kernel};

/// Sum over the axes `axes` (positions, ascending), which disappear. Floats keep their dtype (16-bit ones are summed in
/// f32); integers and bools give i64.
pub fn sum(x: &RawTensor, axes: &[usize]) -> Result<RawTensor> {
    if axes.is_empty() && x.dtype().is_float() {
        return Ok(x.clone());
    }
    match x.dtype() {
        DType::F16 | DType::BF16 => return cast::to(&sum(&cast::to(x, DType::F32)?, axes)?, x.dtype()),
        d if !d.is_float() && d != DType::I64 => return sum(&cast::to(x, DType::I64)?, axes),
        _ => {}
    }
    let (kept, order) = kept_first(x.rank(), axes);
    let view = shape::permute(&x.detach(), &order);
    let out_shape: Vec<usize> = view.shape()[..kept].to_vec();
    let out = by_native_number!("sum", x.dtype(), T => {
        let v = view.strided::<T>();
        RawTensor::build(&out_shape, |out: &mut [T]| kernel::sum(out, &v, kept))
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    let (axes, full) = (axes.to_vec(), x.shape().to_vec());
    Ok(record(out, [x], move |p| Ok([Some(repeat_along(p.grad, &axes, &full))])))
}

/// Mean over the axes `axes`, which disappear; an empty axis gives NaN.
pub fn mean(x: &RawTensor, axes: &[usize]) -> Result<RawTensor> {
    let n: usize = axes.iter().map(|&a| x.shape()[a]).product();
    let s = sum(x, axes)?;
    by_float!("mean", s.dtype(), T => {
        let _ = T::MAX;
        arith::scalar_owned(BinaryOp::Mul, s, 1.0 / n as f64)
    })
}

/// How many axes stay, and the order that puts them first (in their order), the summed ones last.
fn kept_first(rank: usize, axes: &[usize]) -> (usize, Vec<u8>) {
    let mut order: Vec<u8> = (0..rank).filter(|a| !axes.contains(a)).map(|a| a as u8).collect();
    let kept = order.len();
    order.extend(axes.iter().map(|&a| a as u8));
    (kept, order)
}

/// The adjoint of [`sum`]: `g` repeated along the axes that were summed (a view).
pub(crate) fn repeat_along(g: &RawTensor, axes: &[usize], full: &[usize]) -> RawTensor {
    let mut map = Vec::with_capacity(full.len());
    let mut strides = Vec::with_capacity(full.len());
    let mut next = 0;
    for a in 0..full.len() {
        if axes.contains(&a) {
            map.push(forge_axes::plan::NONE);
            strides.push(0);
        } else {
            map.push(next as u8);
            strides.push(g.layout.strides()[next]);
            next += 1;
        }
    }
    shape::broadcast_view(g, Layout::new(full, &strides), &map)
}
