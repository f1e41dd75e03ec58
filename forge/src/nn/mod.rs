//! Neural networks: parameters, modules, layers.
//!
//! A model is a struct of layers with `#[derive(Module)]`; its parameters are found by the names of its fields
//! (`layers.3.attn.q`), and state dicts, optimizer groups and freezing address them so.
//!
//! | layer | along which axes | names of its parameters |
//! |---|---|---|
//! | [`Linear`] | from one to another | `weight`, `bias` |
//! | [`Embedding`] | ids become vectors along one | `weight` |
//! | [`LayerNorm`], [`RmsNorm`] | one | `weight`, `bias` |
//! | [`GroupNorm`] | channels and space | `weight`, `bias` |
//! | [`Conv1d`], [`ConvTranspose1d`], [`Conv2d`] | space, and from one to another | `weight`, `bias` |
//! | [`Mlp`] | one, through a wider one | `up`, `gate`, `down`: each a `Linear` |
//! | [`Attention`] | positions and features | `q`, `k`, `v`, `out`, `bias.q` .. |
//! | [`Lstm`] | time, and from one to another | `weight_ih`, `weight_hh`, `bias` |
//! | [`Dropout`] | none | |
//!
//! All other axes of the input, in any order, are examples: a layer is applied to each.
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

mod attention;
mod conv1d;
mod conv2d;
mod cx;
mod debug;
mod dropout;
mod embedding;
mod group_norm;
mod init;
mod layer_norm;
mod linear;
mod lstm;
mod mlp;
mod module;
mod param;
mod pattern;
mod project;
mod rms_norm;
mod state;

pub use attention::{Attention, AttentionBias, Heads};
pub use conv1d::{Conv1d, ConvTranspose1d};
pub use conv2d::Conv2d;
pub use cx::{Cx, Mode, Probe};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use forge_macros::Module;
pub use group_norm::GroupNorm;
pub use layer_norm::LayerNorm;
pub use linear::Linear;
pub use lstm::{Lstm, LstmState};
pub use mlp::{Activation, Mlp};
pub use module::{Entry, EntryMut, Module, Path, Scope, Visitor, VisitorMut};
pub use param::Param;
pub use pattern::Pattern;
pub use rms_norm::RmsNorm;
pub use state::{Mismatch, Partial, StateDict, StateError};
