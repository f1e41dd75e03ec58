//! Softmax and its logarithm along one axis.

use super::fused::{self, add, constant, dense, div, is_half, lane_axis, mul, of, repeat, scale, sub, summed};
use super::{At, Names, RawTensor, arith, by_float, cast, compare, reduce};
use crate::autograd::{grad_enabled, no_grad, record, tracks};
use crate::error::{Error, Result};
use forge_axes::plan::PointwisePlan;
use forge_kernels::arith::BinaryOp;
use forge_kernels::lanes::Lanes;
use forge_kernels::softmax::{self as kernel, alibi_slope};
use forge_kernels::unary::UnaryOp;
use forge_kernels::{DType, Strided};

/// What happens to the logits first; axes are positions in the input.
#[derive(Clone, Copy, Default)]
pub struct SoftmaxArgs<'a> {
    /// Factor of the input; 1 if none.
    pub scale: Option<f64>,
    /// Added after scaling, broadcast into the input.
    pub mask: Option<(&'a RawTensor, PointwisePlan)>,
    /// ALiBi: the exponent of the slopes that multiply the mask, and the axis of heads.
    pub alibi: Option<(f64, usize)>,
    /// A vector of logits without output, and the axis along which it goes.
    pub sinks: Option<(&'a RawTensor, usize)>,
    /// The axis of queries, and how many more elements than its own position a query sees.
    pub causal: Option<(usize, isize)>,
}

/// `softmax(x)` along `at`.
pub fn softmax(x: &RawTensor, at: At, args: &SoftmaxArgs, names: Names) -> Result<RawTensor> {
    const OP: &str = "softmax";
    if is_half(x) {
        let wide = |t: &RawTensor| cast::to(t, DType::F32);
        let mask = args.mask.map(|(m, p)| Ok::<_, Error>((wide(m)?, p))).transpose()?;
        let sinks = args.sinks.map(|(s, a)| Ok::<_, Error>((wide(s)?, a))).transpose()?;
        let wide_args = SoftmaxArgs {
            mask: mask.as_ref().map(|(m, p)| (m, *p)),
            sinks: sinks.as_ref().map(|(s, a)| (s, *a)),
            ..*args
        };
        return cast::to(&softmax(&wide(x)?, at, &wide_args, names)?, x.dtype());
    }
    check(OP, x, at, args)?;
    let layout = match &args.mask {
        Some((m, plan)) => Some(arith::aligned(OP, x, m, plan, names)?),
        None => None,
    };
    let extras = [args.mask.map(|m| m.0), args.sinks.map(|s| s.0)];
    if extras.iter().flatten().any(|t| tracks(&[t])) {
        // The gradients of mask and sinks come from the parts.
        return composed(x, at.axis, args, names);
    }
    let axis = at.axis;
    let factor = args.scale.unwrap_or(1.0);
    let out = by_float!(OP, x.dtype(), T => {
        let d = dense(x);
        let lanes = Lanes::new(x.shape(), axis);
        let slopes: Vec<T> = slopes(x, args).iter().map(|&s| s as T).collect();
        let (order, _) = fused::last(x.rank(), axis);
        let mask = layout.zip(args.mask).map(|(l, (m, _))| kernel::Mask {
            view: Strided::new(m.buf.host::<T>(), m.offset, l.permuted(&order[..x.rank()])),
            slopes: args.alibi.map(|(_, h)| (lane_axis(x.shape(), axis, h), &slopes[..])),
        });
        let sinks = args.sinks.map(|(s, h)| (dense(s), h));
        let options = kernel::Options {
            scale: factor as T,
            mask,
            sinks: sinks.as_ref().map(|(s, h)| {
                (lane_axis(x.shape(), axis, *h), s.as_slice::<T>().expect("made dense"))
            }),
            causal: args.causal.map(|(q, offset)| kernel::Causal { query: lane_axis(x.shape(), axis, q), offset }),
        };
        RawTensor::build(x.shape(), |out: &mut [T]| {
            kernel::forward(lanes, out, d.as_slice().expect("made dense"), &options);
        })
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    let saved = out.clone();
    Ok(record(out, [x], move |p| {
        let y = p.output(&saved);
        if grad_enabled() && tracks(&[&y, p.grad]) {
            let s = summed(&mul(&y, p.grad)?, axis)?;
            return Ok([Some(scale(&mul(&y, &sub(p.grad, &s)?)?, factor)?)]);
        }
        Ok([Some(by_float!(OP, y.dtype(), T => {
            let (y, g) = (dense(&y), dense(p.grad));
            RawTensor::build(y.shape(), |dx: &mut [T]| {
                let (y, g) = (y.as_slice().expect("made dense"), g.as_slice().expect("made dense"));
                kernel::backward(Lanes::new(saved.shape(), axis), dx, y, g, factor as T);
            })
        }))])
    }))
}

fn check(op: &'static str, x: &RawTensor, at: At, args: &SoftmaxArgs) -> Result<()> {
    if let Some((m, _)) = &args.mask {
        fused::same_dtype(op, m, x)?;
    }
    if args.alibi.is_some() && args.mask.is_none() {
        return Err(Error::argument(op, "ALiBi slopes multiply a mask, and there is none"));
    }
    if let Some((s, h)) = args.sinks {
        fused::check_vector(op, "the vector of sinks", s, x, at, h)?;
    }
    for a in [args.alibi.map(|a| a.1), args.sinks.map(|s| s.1), args.causal.map(|c| c.0)].into_iter().flatten() {
        if a == at.axis {
            let what =
                format!("axis `{}` is the one that softmax runs along; heads and queries are other axes", at.name());
            return Err(Error::argument(op, what));
        }
    }
    Ok(())
}

/// The slope of each head, if there are any.
fn slopes(x: &RawTensor, args: &SoftmaxArgs) -> Vec<f64> {
    let Some((max_bias, h)) = args.alibi else { return Vec::new() };
    let heads = x.shape()[h];
    (0..heads).map(|i| alibi_slope(i, heads, max_bias)).collect()
}

/// [`softmax`] from recorded parts.
fn composed(x: &RawTensor, axis: usize, args: &SoftmaxArgs, names: Names) -> Result<RawTensor> {
    let full = x.shape();
    let mut s = scale(x, args.scale.unwrap_or(1.0))?;
    if let Some((m, plan)) = &args.mask {
        let mut m = arith::broadcast("softmax", x, m, plan, names)?;
        if let Some((_, h)) = args.alibi {
            let of_head = slopes(x, args);
            let v = constant(&[of_head.len()], x.dtype(), |i| of_head[i]);
            m = mul(&m, &fused::along(&v, full, h))?;
        }
        s = add(&s, &m)?;
    }
    if let Some((q, offset)) = args.causal {
        let strides = forge_kernels::Layout::contiguous(full);
        let place = |i: usize, a: usize| (i / strides.strides()[a] as usize % full[a]) as isize;
        let seen = RawTensor::build(full, |out: &mut [bool]| {
            out.iter_mut().enumerate().for_each(|(i, o)| *o = place(i, axis) <= place(i, q) + offset);
        });
        let hidden = constant(full, x.dtype(), |_| f64::NEG_INFINITY);
        s = compare::where_(&seen, &s, &hidden)?;
    }
    let sinks = args.sinks.map(|(v, h)| {
        let mut shape = full.to_vec();
        shape.remove(axis);
        fused::along(v, &shape, if h > axis { h - 1 } else { h })
    });
    from_parts(&s, axis, sinks.as_ref())
}

/// Softmax of `s` along `axis`, with a sink at each position of the other axes, from recorded parts. A lane without a
/// finite logit gives zeros.
pub(crate) fn from_parts(s: &RawTensor, axis: usize, sinks: Option<&RawTensor>) -> Result<RawTensor> {
    let full = s.shape();
    let shift = shift(s, axis, sinks)?;
    let e = of(UnaryOp::Exp, &sub(s, &repeat(&shift, axis, full))?)?;
    let mut sum = reduce::sum(&e, &[axis])?;
    if let Some(v) = sinks {
        sum = add(&sum, &of(UnaryOp::Exp, &sub(v, &shift)?)?)?;
    }
    let sum = add(&sum, &fused::where_value(&sum, 1.0, |v| v == 0.0))?;
    div(&e, &repeat(&sum, axis, full))
}

/// `log sum exp` of `s` along `axis`, from recorded parts; -inf where there is no finite element.
pub(crate) fn log_sum_exp(s: &RawTensor, axis: usize) -> Result<RawTensor> {
    let shift = shift(s, axis, None)?;
    let e = of(UnaryOp::Exp, &sub(s, &repeat(&shift, axis, s.shape()))?)?;
    add(&of(UnaryOp::Log, &reduce::sum(&e, &[axis])?)?, &shift)
}

/// The constant that is subtracted before exponentials are taken.
fn shift(s: &RawTensor, axis: usize, sinks: Option<&RawTensor>) -> Result<RawTensor> {
    let mut shape = s.shape().to_vec();
    shape.remove(axis);
    let most = by_float!("softmax", s.dtype(), T => {
        let d = dense(s);
        RawTensor::build(&shape, |out: &mut [T]| {
            kernel::shifts(Lanes::new(s.shape(), axis), out, d.as_slice().expect("made dense"));
        })
    });
    match sinks {
        Some(v) => no_grad(|| arith::same(BinaryOp::Maximum, &most, &v.detach())),
        None => Ok(most),
    }
}

/// `log(softmax(x))` along `at`.
pub fn log_softmax(x: &RawTensor, at: At) -> Result<RawTensor> {
    const OP: &str = "log_softmax";
    if is_half(x) {
        return cast::to(&log_softmax(&cast::to(x, DType::F32)?, at)?, x.dtype());
    }
    let axis = at.axis;
    let out = by_float!(OP, x.dtype(), T => {
        let d = dense(x);
        RawTensor::build(x.shape(), |out: &mut [T]| {
            kernel::log_forward(Lanes::new(x.shape(), axis), out, d.as_slice().expect("made dense"));
        })
    });
    if !tracks(&[x]) {
        return Ok(out);
    }
    let saved = out.clone();
    Ok(record(out, [x], move |p| {
        let y = p.output(&saved);
        if grad_enabled() && tracks(&[&y, p.grad]) {
            let s = summed(p.grad, axis)?;
            return Ok([Some(sub(p.grad, &mul(&of(UnaryOp::Exp, &y)?, &s)?)?)]);
        }
        Ok([Some(by_float!(OP, y.dtype(), T => {
            let (y, g) = (dense(&y), dense(p.grad));
            RawTensor::build(y.shape(), |dx: &mut [T]| {
                let (y, g) = (y.as_slice().expect("made dense"), g.as_slice().expect("made dense"));
                kernel::log_backward(Lanes::new(saved.shape(), axis), dx, y, g);
            })
        }))])
    }))
}
