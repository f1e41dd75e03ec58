//! What the macros expand to. Not part of the public interface: anything here may change in any version.

pub use crate::close::{Comparable, assert_close};
use crate::dtype::Dtype;
use crate::error::{Error, raise};
use crate::raw::{Names, RawTensor, contract};
use crate::tensor::{Tensor, wrap};
pub use forge_axes as axes_algebra;
use forge_axes::plan::{EinsumPlan, MAX_RANK, NONE};
use forge_axes::{Axes, Axis, Dyn, Fixed, Has, Key, Size, SizeArg};
pub use forge_macros::{axes, einsum, rearrange, try_einsum};
use std::marker::PhantomData;

/// Stands for the value of a macro call that was refused, so that one mistake gives one error.
pub fn stub<T>() -> T {
    unreachable!("a program with this call does not compile")
}

// ---- einsum! ---------------------------------------------------------------------------------------------------

/// An operand and its axes.
pub struct Operand<'a> {
    raw: &'a RawTensor,
    keys: &'static [Key<'static>],
}

/// `x` as an operand.
pub fn operand<X: Axes, D: Dtype>(x: &Tensor<X, D>) -> Operand<'_> {
    Operand { raw: x.raw(), keys: X::KEYS }
}

/// Carries the element type of the first operand to the result.
pub fn dtype_of<X: Axes, D: Dtype>(_: &Tensor<X, D>) -> PhantomData<D> {
    PhantomData
}

/// Is `A` one of the axes `X` of the operands?
pub fn in_operands<X: Axes + Has<A>, A: Axis>(_: A) {}

/// Runs a plan.
///
/// # Panics
/// When a shared axis has two sizes.
#[track_caller]
pub fn einsum<Y: Axes, D: Dtype, const N: usize>(
    dtype: PhantomData<D>,
    operands: [Operand<'_>; N],
    plan: &'static EinsumPlan<N>,
) -> Tensor<Y, D> {
    match try_einsum(dtype, operands, plan) {
        Ok(y) => y,
        Err(e) => raise(e),
    }
}

/// Runs a plan.
///
/// # Errors
/// When a shared axis has two sizes.
pub fn try_einsum<Y: Axes, D: Dtype, const N: usize>(
    _: PhantomData<D>,
    operands: [Operand<'_>; N],
    plan: &'static EinsumPlan<N>,
) -> Result<Tensor<Y, D>, Error> {
    // The plan says where each loop stands in an operand; the untyped core asks which loop each axis is.
    let mut loops = [[NONE; MAX_RANK]; N];
    for (row, at) in loops.iter_mut().zip(plan.rows()) {
        for (j, &axis) in at.iter().enumerate().filter(|(_, axis)| **axis != NONE) {
            row[axis as usize] = j as u8;
        }
    }
    let mut out = [NONE; MAX_RANK];
    let out_rank = usize::from(plan.out_rank);
    for (j, o) in out[..out_rank].iter_mut().enumerate() {
        *o = j as u8;
    }
    let raws: [&RawTensor; N] = std::array::from_fn(|k| operands[k].raw);
    let labels: [&[u8]; N] = std::array::from_fn(|k| &loops[k][..operands[k].keys.len()]);
    let names: [Names<'_>; N] = std::array::from_fn(|k| Names { lhs: operands[k].keys, rhs: operands[k].keys });
    Ok(wrap(contract::einsum(&raws, &labels, &out[..out_rank], &names)?))
}

// ---- rearrange! ------------------------------------------------------------------------------------------------

/// The size that an argument of `A` stands for.
pub fn size_of_arg<A: Axis>(arg: SizeArg<A>) -> usize {
    <A::Size as Size>::get::<A>(arg)
}

/// The fixed size of `A`, or 1: what it contributes to a product whose other factor is asked for.
pub fn fixed_or_one<A: Axis>() -> usize {
    A::KEY.fixed.unwrap_or(1)
}

/// The size of `A` where `A` and parts of the sizes `others` make up `whole`; a fixed size stays as it is. A size that
/// does not come out even is left to `split` to refuse.
pub fn what_is_left<A: Axis>(whole: usize, others: impl IntoIterator<Item = usize>) -> SizeArg<A> {
    let others: usize = others.into_iter().product();
    <A::Size as Size>::arg::<A>(whole.checked_div(others).unwrap_or(0))
}

/// Checks that a split leaves the size of at most one part open.
pub fn one_is_fixed<A: Axis, B: Axis>()
where
    A::Size: OneIsFixed<A, B, B::Size>,
{
}

/// One of the two sizes is fixed.
#[diagnostic::on_unimplemented(
    message = "the sizes of `{A}` and `{B}` are both left open",
    label = "give the size of `{A}` or `{B}`, as in `{B} = 8`"
)]
pub trait OneIsFixed<A, B, S> {}
#[diagnostic::do_not_recommend]
impl<A, B, S, const N: usize> OneIsFixed<A, B, S> for Fixed<N> {}
#[diagnostic::do_not_recommend]
impl<A, B, const N: usize> OneIsFixed<A, B, Fixed<N>> for Dyn {}
