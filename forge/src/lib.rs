//! Forge: tensors whose axis names live in the type.
//!
//! `Tensor<(Batch, In)>` and `Tensor<(In, Batch)>` are different types, contraction is by axis name, the result's axes
//! are computed by the compiler, and a misaligned contraction is a compile error that reads like a sentence.
//!
//! ```
//! use forge::prelude::*;
//! axes! { Batch, In, Out }
//!
//! let x = Tensor::<(Batch, In)>::ones((2, 3));
//! let w = Tensor::<(In, Out)>::ones((3, 4)).requires_grad();
//! let loss = x.dot(&w, In).square().mean_all();
//! let grads = loss.backward().unwrap();
//! assert_eq!(grads.get(&w).unwrap().shape(), [3, 4]);
//! ```

extern crate self as forge;

mod close;
mod macros;

/// The axis algebra in full: lists, type functions, and the bounds that generic code states.
pub mod algebra {
    pub use forge_axes::*;
}
pub mod autograd;
pub mod axes;
pub mod dtype;
mod dyn_tensor;
mod error;
#[cfg(feature = "ndarray")]
mod interop;
pub mod io;
pub mod nn;
mod ops;
pub mod optim;
mod print;
pub mod raw;
mod tensor;

/// How the losses of single elements or rows become the result: the last argument of every loss.
pub mod loss {
    pub use crate::ops::{Each, Mean, Reduce, Reduction, Sum};
}

#[doc(hidden)]
pub mod private;
#[doc(hidden)]
pub use private as __private;

pub use dtype::DType;
pub use dyn_tensor::{DynAxis, DynTensor};
pub use error::{Error, Result};
pub use forge_axes::{
    Axes, Axis, Concat, Distinct, Dot, Dyn, Has, Lacks, Minus, NoneIn, PermutationOf, Project, Remove, Replace,
    Resizable, SizeArg, SubsetOf, Union,
};
pub use forge_kernels::buffer as pool;
pub use forge_kernels::{rng, team};
pub use ops::{
    Arith, Attention, AxisNames, CausalConv1d, Conv1d, Conv2d, ConvOf, ConvTranspose1d, CrossEntropy, Distill,
    DynAttention, DynDistill, DynSoftmax, Indices, Masked, Normalize, Over, OverTensors, Pair, Pool2d, Selected,
    Softmax, Step, Unfold,
};
pub use raw::attention::Span;
pub use raw::reduce::{Norm, Standardize};
pub use raw::rope::{Rope, RopeTable};
pub use tensor::{IsScalar, Scalar, Tensor, backward_all};

/// What most programs need.
pub mod prelude {
    pub use crate::autograd::{Backward, Grads, no_grad};
    pub use crate::dtype::{DType, bf16, f16};
    pub use crate::tensor::backward_all;
    pub use crate::{
        Axes, Axis, Distinct, Dot, DynTensor, Error, Has, Lacks, Project, Remove, Scalar, SizeArg, SubsetOf, Tensor,
        Union, axes, einsum, rearrange,
    };
}
