//! Integer division and remainders, and operations on bits. None has a gradient: integers and bools carry none.

use super::{Names, RawTensor, arith};
use crate::error::{Error, Result};
use forge_axes::plan::PointwisePlan;
use forge_kernels::integer::{self as kernel, BitOp, IntOp};
use forge_kernels::{DType, Strided, elementwise};

/// Runs `$body` with `$T` bound to the integer type of `$dtype`, or to `bool` where that follows.
macro_rules! by_int {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        by_int!(@ "integers", $op, $dtype, $T, $body; I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16)
    };
    ($op:expr, $dtype:expr, $T:ident or bool => $body:expr) => {
        by_int!(@ "integers or bools", $op, $dtype, $T, $body; I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, Bool bool)
    };
    (@ $want:literal, $op:expr, $dtype:expr, $T:ident, $body:expr; $($d:ident $t:ty),*) => {
        match $dtype {
            $(DType::$d => {
                type $T = $t;
                $body
            })*
            found => return Err(Error::DType { op: $op, expected: $want, found }),
        }
    };
}

/// The operation's name in messages.
pub(crate) fn int_name(op: IntOp) -> &'static str {
    match op {
        IntOp::DivTrunc => "div_trunc",
        IntOp::DivFloor => "div_floor",
        IntOp::Rem => "rem",
        IntOp::Modulo => "modulo",
    }
}

/// The operation's name in messages.
pub(crate) fn bit_name(op: BitOp) -> &'static str {
    match op {
        BitOp::And => "bit_and",
        BitOp::Or => "bit_or",
        BitOp::Xor => "bit_xor",
    }
}

fn one_dtype(op: &'static str, a: &RawTensor, b: &RawTensor) -> Result<()> {
    if a.dtype() == b.dtype() {
        return Ok(());
    }
    Err(Error::DType { op, expected: "two operands of one dtype", found: b.dtype() })
}

/// `op(a, b)`, `b` broadcast to `a`'s axes; a zero in `b` is an error.
pub fn binary(op: IntOp, a: &RawTensor, b: &RawTensor, plan: &PointwisePlan, names: Names) -> Result<RawTensor> {
    let name = int_name(op);
    one_dtype(name, a, b)?;
    let layout = arith::aligned(name, a, b, plan, names)?;
    by_int!(name, a.dtype(), T => {
        // With nothing to divide, a zero divides nothing.
        if !a.is_empty() && b.to_vec::<T>().contains(&0) {
            return Err(Error::argument(name, "the divisor holds a zero, and integers have no infinity"));
        }
        let (x, y) = (a.strided::<T>(), Strided::new(b.buf.host::<T>(), b.offset, layout));
        Ok(RawTensor::build(a.shape(), |out: &mut [T]| {
            elementwise::binary(out, &x, &y, |o, x, y| kernel::binary(op, o, x, y));
        }))
    })
}

/// `op(a, b)` bit by bit, `b` broadcast to `a`'s axes.
pub fn bits(op: BitOp, a: &RawTensor, b: &RawTensor, plan: &PointwisePlan, names: Names) -> Result<RawTensor> {
    let name = bit_name(op);
    one_dtype(name, a, b)?;
    let layout = arith::aligned(name, a, b, plan, names)?;
    by_int!(name, a.dtype(), T or bool => {
        let (x, y) = (a.strided::<T>(), Strided::new(b.buf.host::<T>(), b.offset, layout));
        Ok(RawTensor::build(a.shape(), |out: &mut [T]| {
            elementwise::binary(out, &x, &y, |o, x, y| kernel::bits(op, o, x, y));
        }))
    })
}

/// Every bit of `x` turned; `!` of a bool.
pub fn not(x: &RawTensor) -> Result<RawTensor> {
    by_int!("bit_not", x.dtype(), T or bool => {
        let v = x.strided::<T>();
        Ok(RawTensor::build(x.shape(), |out: &mut [T]| elementwise::unary(out, &v, kernel::not)))
    })
}
