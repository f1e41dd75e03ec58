//! Losses of logits that are a matrix product: the last layer and its loss in one, without all logits at once.

use super::loss::{CrossEntropy, Reduce, Reduction, ordered, ordered_dyn};
use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::dyn_tensor::DynAxis;
use crate::error::{Error, Result};
use crate::raw::linear_loss::{self as raw, DistillArgs, LinearAt};
use crate::raw::{At, Names};
use crate::tensor::{Tensor, at, names, position, wrap};
use forge_axes::plan::same;
use forge_axes::{Axes, Axis, Has, PermutationOf, Remove, list_ops};
use forge_macros::fallible;

/// The entries of a distillation: each names a row of the input, a class, and the probability that a teacher gives it.
///
/// ```
/// use forge::Distill;
/// use forge::prelude::*;
/// axes! { Token, Model, Vocab, Pick }
/// let x = Tensor::<(Token, Model)>::zeros((3, 2));
/// let w = Tensor::<(Vocab, Model)>::zeros((4, 2));
/// let rows = Tensor::<Pick, i64>::from_vec(2, vec![0, 2]);
/// let classes = Tensor::<Pick, i64>::from_vec(2, vec![1, 1]);
/// let probs = Tensor::<Pick>::from_vec(2, vec![0.5, 1.0]);
/// let loss = x.linear_distill(Token, Model, &w, Vocab, Distill::new(&rows, &classes, &probs).sum());
/// assert!((loss.item() - 1.5 * 4f32.ln()).abs() < 1e-6);
/// ```
pub struct Distill<'a, N: Axes, D: Dtype = f32> {
    rows: &'a Tensor<N, i64>,
    classes: &'a Tensor<N, i64>,
    probs: &'a Tensor<N, D>,
    mean: bool,
    scale: f64,
}

impl<N: Axes, D: Dtype> Clone for Distill<'_, N, D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<N: Axes, D: Dtype> Copy for Distill<'_, N, D> {}

impl<'a, N: Axis, D: Dtype> Distill<'a, N, D> {
    /// The mean over the entries.
    #[must_use]
    pub fn new(rows: &'a Tensor<N, i64>, classes: &'a Tensor<N, i64>, probs: &'a Tensor<N, D>) -> Self {
        Self { rows, classes, probs, mean: true, scale: 1.0 }
    }

    /// The sum over the entries.
    #[must_use]
    pub fn sum(self) -> Self {
        Self { mean: false, ..self }
    }

    /// Multiplies the loss.
    #[must_use]
    pub fn scale(self, scale: f64) -> Self {
        Self { scale, ..self }
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// [`cross_entropy`](Self::cross_entropy) of the logits `self . weight` over `feature`. The logits exist for a block
    /// of rows at a time, in the forward and again in the backward pass; rows to ignore are not computed.
    ///
    /// ```
    /// use forge::CrossEntropy;
    /// use forge::loss::Mean;
    /// use forge::prelude::*;
    /// axes! { Token, Model, Vocab }
    /// let x = Tensor::<(Token, Model)>::zeros((2, 3));
    /// let w = Tensor::<(Vocab, Model)>::zeros((10, 3));
    /// let labels = Tensor::<Token, i64>::from_vec(2, vec![1, 7]);
    /// let loss = x.linear_cross_entropy(Model, &w, Vocab, &labels, CrossEntropy::new(), Mean);
    /// assert!((loss.item() - 10f32.ln()).abs() < 1e-6);
    /// ```
    ///
    /// # Errors
    /// When a label is outside `class`, a shared axis has two sizes, or the smoothing is no share.
    #[fallible]
    pub fn linear_cross_entropy<F: Axis, W: Axes, C: Axis, L: Axes, R: Reduce>(
        &self,
        feature: F,
        weight: &Tensor<W, D>,
        class: C,
        labels: &Tensor<L, i64>,
        how: CrossEntropy,
        reduce: R,
    ) -> Tensor<R::Out<Remove<X, F>>, D>
    where
        X: Has<F>,
        W: Has<C> + Has<F> + PermutationOf<(C, F)>,
        L: PermutationOf<Remove<X, F>>,
        D: Float,
    {
        let _ = (feature, class, reduce);
        let labels = ordered::<L, Remove<X, F>>(labels);
        let names = names::<X, Remove<X, F>>();
        let (x, w) = (self.raw(), weight.raw());
        let y = raw::linear_cross_entropy(x, w, places::<X, W, F, C>(), &labels, how.args, R::HOW, names)?;
        Ok(wrap(y))
    }

    /// Distillation of the logits `self . weight` over `feature`: the sum over the entries of
    /// `prob (log(sum(e^z)) - z[class])`, `z` being the logits of the entry's row; divided by the number of entries
    /// unless [`Distill::sum`] says otherwise. Only rows with entries are computed. Probabilities are used as they are,
    /// and are constants.
    ///
    /// # Errors
    /// When a row or class is outside its axis, a shared axis has two sizes, or there are not as many rows, classes and
    /// probabilities.
    #[fallible]
    pub fn linear_distill<A: Axis, F: Axis, W: Axes, C: Axis, N: Axis>(
        &self,
        row: A,
        feature: F,
        weight: &Tensor<W, D>,
        class: C,
        entries: Distill<'_, N, D>,
    ) -> Tensor<(), D>
    where
        X: Has<A> + Has<F> + PermutationOf<(A, F)>,
        W: Has<C> + Has<F> + PermutationOf<(C, F)>,
        D: Float,
    {
        let _ = (row, feature, class);
        let args = DistillArgs {
            rows: entries.rows.raw(),
            classes: entries.classes.raw(),
            probs: entries.probs.raw(),
            mean: entries.mean,
            scale: entries.scale,
        };
        let y = raw::linear_distill(self.raw(), weight.raw(), places::<X, W, F, C>(), at::<X, A>(), &args)?;
        Ok(wrap(y))
    }
}

fn places<X: Axes, W: Axes, F: Axis, C: Axis>() -> LinearAt<'static> {
    LinearAt { feature: at::<X, F>(), class: at::<W, C>(), weight_feature: position::<W, F>() }
}

/// The entries of [`DynTensor::linear_distill`]: see [`Distill`].
#[derive(Clone, Copy)]
pub struct DynDistill<'a> {
    /// Row of each entry.
    pub rows: &'a DynTensor,
    /// Class of each entry.
    pub classes: &'a DynTensor,
    /// Probability of each entry.
    pub probs: &'a DynTensor,
    /// Divide by the number of entries.
    pub mean: bool,
    /// Multiplies the loss.
    pub scale: f64,
}

impl DynTensor {
    /// [`Tensor::linear_cross_entropy`].
    ///
    /// # Errors
    /// As [`Tensor::try_linear_cross_entropy`], and when an axis is missing or too much.
    pub fn linear_cross_entropy(
        &self,
        feature: impl Into<DynAxis>,
        weight: &Self,
        class: impl Into<DynAxis>,
        labels: &Self,
        how: CrossEntropy,
        reduce: Reduction,
    ) -> Result<Self, Error> {
        const OP: &str = "linear_cross_entropy";
        let (feature, class) = (feature.into(), class.into());
        let (xk, wk) = (self.keys(), weight.keys());
        let at = self.linear_places(OP, &feature, weight, &class, &xk, &wk)?;
        let rest = list_ops::remove(&xk, &feature.key()).map_err(|e| Error::axes(OP, e.to_string()))?;
        let labels = ordered_dyn(OP, labels, &rest)?;
        let names = Names { lhs: &xk, rhs: &rest };
        let y = raw::linear_cross_entropy(self.raw(), weight.raw(), at, &labels, how.args, reduce, names)?;
        Ok(Self::of_losses(y, self.without(at.feature.axis), reduce))
    }

    /// [`Tensor::linear_distill`].
    ///
    /// # Errors
    /// As [`Tensor::try_linear_distill`], and when an axis is missing or too much.
    pub fn linear_distill(
        &self,
        row: impl Into<DynAxis>,
        feature: impl Into<DynAxis>,
        weight: &Self,
        class: impl Into<DynAxis>,
        entries: &DynDistill,
    ) -> Result<Self, Error> {
        const OP: &str = "linear_distill";
        let (row, feature, class) = (row.into(), feature.into(), class.into());
        let (xk, wk) = (self.keys(), weight.keys());
        let at = self.linear_places(OP, &feature, weight, &class, &xk, &wk)?;
        let row = At { axis: self.position(OP, &row)?, keys: &xk };
        if xk.len() != 2 || row.axis == at.feature.axis {
            let found = list_ops::Names(&xk);
            return Err(Error::axes(OP, format!("the input has two axes, rows and features, not `{found}`")));
        }
        let args = DistillArgs {
            rows: entries.rows.raw(),
            classes: entries.classes.raw(),
            probs: entries.probs.raw(),
            mean: entries.mean,
            scale: entries.scale,
        };
        Ok(Self::new(raw::linear_distill(self.raw(), weight.raw(), at, row, &args)?, []))
    }

    fn linear_places<'k>(
        &self,
        op: &'static str,
        feature: &DynAxis,
        weight: &Self,
        class: &DynAxis,
        xk: &'k [forge_axes::Key<'k>],
        wk: &'k [forge_axes::Key<'k>],
    ) -> Result<LinearAt<'k>, Error> {
        let place = LinearAt {
            feature: At { axis: self.position(op, feature)?, keys: xk },
            class: At { axis: weight.position(op, class)?, keys: wk },
            weight_feature: weight.position(op, feature)?,
        };
        if wk.len() != 2 || same(&feature.key(), &class.key()) {
            let found = list_ops::Names(wk);
            return Err(Error::axes(op, format!("the weight has two axes, classes and features, not `{found}`")));
        }
        Ok(place)
    }
}
