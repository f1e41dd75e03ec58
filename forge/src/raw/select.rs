//! Order along an axis: sorting, the k best, weighted draws, places that are not 0.

use super::reduce::pick;
use super::{At, RawTensor, arith, by_dtype, by_float, cast, compare, reduce, shape};
use crate::error::{Error, Result};
use forge_kernels::arith::BinaryOp;
use forge_kernels::rng::Key;
use forge_kernels::select::{self as kernel, BadWeights};
use forge_kernels::unary::UnaryOp;
use forge_kernels::{DType, Layout, Strided};

/// The layout of `x` with axis `axis` last.
fn lanes(x: &RawTensor, axis: usize) -> Layout {
    let order: Vec<u8> = (0..x.rank()).filter(|&a| a != axis).chain([axis]).map(|a| a as u8).collect();
    x.layout.permuted(&order)
}

/// A tensor whose last axis belongs at position `axis`, put there (a view).
fn back(t: &RawTensor, axis: usize) -> RawTensor {
    let last = t.rank() - 1;
    let order: Vec<u8> =
        (0..t.rank()).map(|i| if i < axis { i } else if i == axis { last } else { i - 1 } as u8).collect();
    shape::permute(t, &order)
}

fn check_length(op: &'static str, at: At, n: usize) -> Result<()> {
    if u32::try_from(n).is_ok() {
        return Ok(());
    }
    Err(Error::argument(op, format!("axis `{}` has {n} positions; at most 2^32 can be ordered", at.name())))
}

/// Positions in order along the last axis.
fn order(x: &RawTensor, at: At, descending: bool, op: &'static str) -> Result<RawTensor> {
    let n = x.shape()[at.axis];
    check_length(op, at, n)?;
    let layout = lanes(x, at.axis);
    Ok(by_dtype!(x.dtype(), T => {
        let v = Strided::new(x.buf.host::<T>(), x.offset, layout);
        RawTensor::build(layout.shape(), |out: &mut [i64]| kernel::argsort(out, &v, n, descending))
    }))
}

/// The positions that sort an axis, as i64. Stable; NaN comes last in both directions.
pub fn argsort(x: &RawTensor, at: At, descending: bool) -> Result<RawTensor> {
    Ok(back(&order(x, at, descending, "argsort")?, at.axis))
}

/// An axis in order, and the positions that its elements came from. Stable; NaN comes last in both directions.
pub fn sort(x: &RawTensor, at: At, descending: bool) -> Result<(RawTensor, RawTensor)> {
    let places = order(x, at, descending, "sort")?;
    Ok((back(&pick(x, &[at.axis], &places), at.axis), back(&places, at.axis)))
}

/// The `k` largest (or smallest) elements along an axis, best first, and their positions: the first `k` of [`sort`].
pub fn top_k(x: &RawTensor, at: At, k: usize, largest: bool) -> Result<(RawTensor, RawTensor)> {
    let n = x.shape()[at.axis];
    if k > n {
        return Err(Error::argument("top_k", format!("{k} elements of axis `{}`, which has {n}", at.name())));
    }
    check_length("top_k", at, n)?;
    let layout = lanes(x, at.axis);
    let mut out_shape = layout.shape().to_vec();
    out_shape[x.rank() - 1] = k;
    let places = by_dtype!(x.dtype(), T => {
        let v = Strided::new(x.buf.host::<T>(), x.offset, layout);
        RawTensor::build(&out_shape, |out: &mut [i64]| kernel::top_k(out, &v, n, k, largest))
    });
    Ok((back(&pick(x, &[at.axis], &places), at.axis), back(&places, at.axis)))
}

/// `draws` positions along an axis for each place of the others, drawn with probabilities in proportion to the weights `x`.
pub fn multinomial(x: &RawTensor, at: At, draws: usize, replacement: bool, key: Key) -> Result<RawTensor> {
    const OP: &str = "multinomial";
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        return multinomial(&cast::to(&x.detach(), DType::F32)?, at, draws, replacement, key);
    }
    let n = x.shape()[at.axis];
    let layout = lanes(x, at.axis);
    let mut out_shape = layout.shape().to_vec();
    out_shape[x.rank() - 1] = draws;
    let rows: usize = out_shape[..x.rank() - 1].iter().product();
    if n == 0 && rows * draws > 0 {
        return Err(Error::argument(OP, format!("axis `{}` is empty: there is nothing to draw", at.name())));
    }
    let out = by_float!(OP, x.dtype(), T => {
        let v = Strided::new(x.buf.host::<T>(), x.offset, layout);
        kernel::check_weights(&v, n, draws, replacement).map_err(|(row, bad)| {
            let what = match bad {
                BadWeights::NotAWeight => "holds a weight that is negative, infinite or NaN".to_owned(),
                BadWeights::AllZero => "holds only weights of 0".to_owned(),
                BadWeights::TooFew => format!("holds fewer than {draws} positive weights, and none is drawn twice"),
            };
            Error::argument(OP, format!("row {row} of axis `{}` {what}", at.name()))
        })?;
        RawTensor::build(&out_shape, |out: &mut [i64]| kernel::multinomial(out, &v, n, draws, replacement, key))
    });
    Ok(back(&out, at.axis))
}

/// The `k` most probable positions of an axis under the softmax of all of it, with their probabilities, which sum to 1 over
/// the `k` when `normalize`.
pub fn router_top_k(x: &RawTensor, at: At, k: usize, normalize: bool) -> Result<(RawTensor, RawTensor)> {
    const OP: &str = "router_top_k";
    let axis = [at.axis];
    if !x.dtype().is_float() {
        return Err(Error::DType { op: OP, expected: "floats", found: x.dtype() });
    }
    // The softmax does not change the order, so the best logits are chosen and only they are mapped.
    let (best, places) = top_k(x, at, k, true)?;
    let scale = if normalize { reduce::logsumexp(&best, &axis)? } else { reduce::logsumexp(x, &axis)? };
    let centred = arith::same(BinaryOp::Sub, &best, &reduce::repeat_along(&scale, &axis, best.shape()))?;
    Ok((super::unary::unary_owned(UnaryOp::Exp, centred, 0.0, OP)?, places))
}

/// Positions of the elements that are not 0 (NaN is not), in row-major order: a list for each axis.
pub fn nonzero(x: &RawTensor) -> Result<Vec<Vec<usize>>> {
    let truth = compare::truth(x)?.to_vec::<bool>();
    let mut places = vec![Vec::new(); x.rank()];
    for i in (0..truth.len()).filter(|&i| truth[i]) {
        let mut rest = i;
        for a in (0..x.rank()).rev() {
            places[a].push(rest % x.shape()[a]);
            rest /= x.shape()[a];
        }
    }
    Ok(places)
}
