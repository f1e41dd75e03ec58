//! Neural networks: parameters, modules, layers.
//!
//! A model is a struct of layers with `#[derive(Module)]`; its parameters are found by the names of its fields
//! (`layers.3.attn.q`), and state dicts, optimizer groups and freezing address them so.
//!
//! ```
//! use forge::prelude::*;
//! use forge::nn::{Linear, Module};
//! use forge::optim::Sgd;
//! use forge::rng::Key;
//! axes! { Batch, In, Hidden, Out }
//!
//! #[derive(Module)]
//! struct Mlp {
//!     first: Linear<In, Hidden>,
//!     last: Linear<Hidden, Out>,
//! }
//!
//! impl Mlp {
//!     fn forward(&self, x: &Tensor<(Batch, In)>) -> Tensor<(Batch, Out)> {
//!         self.last.forward(&self.first.forward(x).tanh())
//!     }
//! }
//!
//! let key = Key::new(0);
//! let mut model = Mlp { first: Linear::new((2, 8), key.derive("first")), last: Linear::new((8, 1), key.derive("last")) };
//! assert_eq!(model.state_dict().into_keys().collect::<Vec<_>>(), ["first.bias", "first.weight", "last.bias", "last.weight"]);
//!
//! let mut optimizer = Sgd::new().lr(0.1).momentum(0.9).build()?;
//! let grads = model.forward(&Tensor::ones((3, 2))).square().mean_all().backward()?;
//! optimizer.step(&mut model, &grads)?;
//! # Ok::<(), forge::Error>(())
//! ```

mod cx;
mod init;
mod linear;
mod module;
mod param;
mod pattern;
mod state;

pub use cx::{Cx, Mode, Probe};
pub use forge_macros::Module;
pub use linear::Linear;
pub use module::{Entry, EntryMut, Module, Path, Scope, Visitor, VisitorMut};
pub use param::Param;
pub use pattern::Pattern;
pub use state::{Mismatch, Partial, StateDict, StateError};
