//! One table of every operation, and the laws that each must obey.
//!
//! A case draws random inputs (random strides, broadcasts, now and then an empty axis), runs the operation through its
//! erased form, and knows a naive f64 twin of it. Over every case the tests below check:
//!
//! 1. **twin**: f32 and f64 results equal the twin's within the case's tolerance;
//! 2. **gradient**: gradients in f64 equal finite differences at 1e-7 relative, and for smooth operations gradients of
//!    gradients do too;
//! 3. **threads**: results and gradients have the same bits on 1, 2, 3 and 8 threads;
//! 4. **complete**: every public operation of `Tensor`, read from the source, has an erased form of the same name and a
//!    case here, and is differentiable or says why not.
//!
//! To add an operation: write its case in the file of its family and list it in that file's `cases()`.

mod gen_;
mod laws;
mod naive;
mod source;

mod arith;
mod assemble;
mod attention;
mod compare;
mod contract;
mod conv;
mod gated;
mod index;
mod loss;
mod norm;
mod reduce;
mod rope;
mod scan;
mod select;
mod shape;
mod softmax;
mod unary;

use forge::{DynTensor, Error};
use gen_::Gen;
use naive::Naive;

/// How an operation is differentiable.
#[derive(Clone, Copy, PartialEq)]
pub enum Grad {
    /// Gradients, and gradients of gradients.
    Smooth,
    /// Gradients only (piecewise operations, whose slope has no slope).
    Once,
    /// None, and why.
    No(&'static str),
}

/// One drawn problem.
pub struct Sample {
    /// Inputs: f64 ones hold values that f32 can represent, and are differentiated; others are constants.
    pub inputs: Vec<DynTensor>,
    /// The operation, through its erased form. It gets the inputs in f32 or f64.
    pub run: Box<dyn Fn(&[DynTensor]) -> Result<Vec<DynTensor>, Error> + Send + Sync>,
    /// The naive twin.
    pub twin: Box<dyn Fn(&[Naive]) -> Vec<Naive>>,
}

impl Sample {
    /// A problem with one output.
    pub fn new(
        inputs: Vec<DynTensor>,
        run: impl Fn(&[DynTensor]) -> Result<DynTensor, Error> + Send + Sync + 'static,
        twin: impl Fn(&[Naive]) -> Naive + 'static,
    ) -> Self {
        Self { inputs, run: Box::new(move |x| Ok(vec![run(x)?])), twin: Box::new(move |x| vec![twin(x)]) }
    }
}

/// One operation.
pub struct Case {
    /// The method's name on `Tensor`.
    pub op: &'static str,
    /// Rounding errors allowed, in units of the dtype's epsilon times the largest magnitude in the output.
    pub ulps: f64,
    /// How it is differentiable.
    pub grad: Grad,
    /// Draws a problem.
    pub sample: fn(&mut Gen) -> Sample,
}

/// A method that is not an operation of the table, and why.
pub struct Exempt(pub &'static str, pub &'static str);

/// Every case.
pub fn cases() -> Vec<Case> {
    [
        arith::cases(),
        assemble::cases(),
        attention::cases(),
        compare::cases(),
        contract::cases(),
        conv::cases(),
        gated::cases(),
        index::cases(),
        loss::cases(),
        norm::cases(),
        reduce::cases(),
        rope::cases(),
        scan::cases(),
        select::cases(),
        shape::cases(),
        softmax::cases(),
        unary::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Every exemption.
pub fn exempt() -> Vec<Exempt> {
    [assemble::exempt(), select::exempt(), shape::exempt()].into_iter().flatten().collect()
}
