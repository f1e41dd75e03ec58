//! Reverse-mode differentiation. The graph is in the values: a result holds the node that made it, a node holds its
//! inputs' nodes. There is no tape and no graph object.

mod backward;
mod checkpoint;
mod composed;
mod custom;
mod gradcheck;
mod grads;
mod node;
mod tensors;

pub use backward::{Backward, backward_raw};
pub use checkpoint::checkpoint;
pub(crate) use composed::{pull_composed, pull_composed_list};
pub use custom::custom_vjp;
pub use gradcheck::{Checked, GradCheck, gradcheck};
pub use grads::Grads;
pub(crate) use node::{NodeRef, Pull, grad_enabled, leaf, record, record_many, tracks};
pub use node::{no_grad, with_grad};
pub use tensors::Tensors;
