//! Optimizers: SGD, Adam and AdamW with the formulas of torch, parameter groups, clipping, learning-rate schedules.
//!
//! An optimizer takes gradients as a value and parameters by name: it holds no reference to the model. Its state is a
//! state dict, so it is saved and loaded like a model's.
//!
//! ```
//! use forge::prelude::*;
//! use forge::nn::{Linear, Module};
//! use forge::optim::{AdamW, Schedule, clip_global_norm};
//! use forge::rng::Key;
//! axes! { Batch, In, Out }
//!
//! let mut model = Linear::<In, Out>::new((2, 1), Key::new(0));
//! // Biases do not decay.
//! let mut optimizer = AdamW::new().lr(1e-2).build()?.group("bias", AdamW::new().lr(1e-2).weight_decay(0.0))?;
//! let schedule = Schedule::cosine(100).warmup(10).build()?;
//! let x = Tensor::<(Batch, In)>::ones((4, 2));
//! for step in 0..3 {
//!     optimizer.set_lr_factor(schedule.factor(step));
//!     let mut grads = model.forward(&x).square().mean_all().backward()?;
//!     clip_global_norm(&mut grads, 1.0)?;
//!     optimizer.step(&mut model, &grads)?;
//! }
//! # Ok::<(), forge::Error>(())
//! ```

mod clip;
mod optimizer;
mod rule;
mod schedule;

pub use clip::{clip_global_norm, global_norm};
pub use optimizer::Optimizer;
pub use rule::{Adam, AdamW, Rule, Sgd};
pub use schedule::{Schedule, ScheduleOptions};
