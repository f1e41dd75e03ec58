//! [`Embedding`]: a table of vectors, looked up by id.

use super::Module;
use super::debug::debug_layer;
use super::param::Param;
use super::project::project;
use crate::dtype::Differentiable;
use crate::raw::index;
use crate::rng::Key;
use crate::tensor::{Tensor, at, wrap};
use forge_axes::{Axes, Axis, Distinct, Has, Lacks, Project, Push, SizeArg};
use forge_macros::fallible;

/// One vector along `E` for each entry of `V`. Ids of any axes become vectors: `y[.., E] = weight[ids[..], E]`.
///
/// ```
/// use forge::axes::{Batch, Model, Seq, Vocab};
/// use forge::nn::Embedding;
/// use forge::prelude::*;
/// use forge::rng::Key;
/// let table = Embedding::<Vocab, Model>::new((10, 4), Key::new(0));
/// let ids = Tensor::<(Batch, Seq), i64>::from([[1, 2, 1], [0, 9, 3]]);
/// let x: Tensor<(Batch, Seq, Model)> = table.forward(&ids);
/// assert_eq!(x.select(Batch, 0).select(Seq, 0).to_vec(), table.weight.select(Vocab, 1).to_vec());
/// // The same table as the last layer of a language model: a score for each entry.
/// let scores: Tensor<(Batch, Seq, Vocab)> = table.scores(&x);
/// assert_eq!(scores.shape(), [2, 3, 10]);
/// ```
#[derive(Clone, Module)]
pub struct Embedding<V: Axis, E: Axis, D: Differentiable = f32> {
    /// The table.
    pub weight: Param<(V, E), D>,
}

debug_layer!(Embedding<V: Axis, E: Axis, D: Differentiable>);

impl<V: Axis, E: Axis, D: Differentiable> Embedding<V, E, D>
where
    (V, E): Distinct,
{
    /// A table of the sizes `(of V, of E)`, from the normal distribution with mean 0 and standard deviation 1, as torch's
    /// `Embedding`. The numbers come from `key.derive("weight")`.
    pub fn new(dims: (SizeArg<V>, SizeArg<E>), key: Key) -> Self {
        Self::with_std(dims, 1.0, key)
    }

    /// [`Self::new`] with another standard deviation. Tables that also score (see [`Self::scores`]) start small: GPT-2
    /// takes 0.02 ([Radford et al. 2018](https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf)).
    ///
    /// # Panics
    /// When the standard deviation is negative or NaN.
    #[track_caller]
    pub fn with_std(dims: (SizeArg<V>, SizeArg<E>), std: f64, key: Key) -> Self {
        Self { weight: Param::new(Tensor::normal(dims, 0.0, std, key.derive("weight"))) }
    }
}

impl<V: Axis, E: Axis, D: Differentiable> Embedding<V, E, D> {
    /// The vector of each id. The result has the axes of `ids`, then `E`.
    ///
    /// # Errors
    /// When an id is negative or not below the size of `V`.
    #[fallible]
    pub fn forward<X: Axes + Lacks<E>>(&self, ids: &Tensor<X, i64>) -> Tensor<Push<X, E>, D> {
        Ok(wrap(index::gather("embedding", self.weight.raw(), at::<(V, E), V>(), ids.raw())?))
    }

    /// The product of `x` with each vector of the table: the scores of a last layer that shares its weights with the
    /// first ([Press and Wolf 2016](https://arxiv.org/abs/1608.05859)). The result has `x`'s other axes, then `V`.
    ///
    /// # Errors
    /// When `x`'s axis `E` has another size than the table's.
    #[fallible]
    pub fn scores<X: Axes + Has<E>>(&self, x: &Tensor<X, D>) -> Tensor<Project<X, E, V>, D> {
        project::<X, (V, E), (), _, D>(x, &self.weight, None, "embedding")
    }
}
