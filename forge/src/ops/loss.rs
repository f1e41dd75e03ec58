//! Losses.

use crate::DynTensor;
use crate::dtype::{Dtype, Float};
use crate::dyn_tensor::{DynAxis, keys_of};
use crate::error::{Error, Result};
use crate::raw::loss::{self as raw, LabelArgs};
use crate::raw::{Names, RawTensor, shape};
use crate::tensor::{Tensor, at, names, wrap};
use forge_axes::plan::{self, PointwisePlan};
use forge_axes::{Axes, Axis, Has, Key, PermutationOf, Remove, SubsetOf, list_ops};
use forge_kernels::loss::PairLoss;
use forge_macros::fallible;

pub use crate::raw::loss::Reduction;

/// How the losses of single rows or elements become the result: [`Mean`], [`Sum`] or [`Each`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no reduction of a loss",
    label = "expected `Mean`, `Sum` or `Each`",
    note = "they are in `forge::loss`"
)]
pub trait Reduce: Copy {
    /// The result's axes, where the single losses have the axes `X`.
    type Out<X: Axes>: Axes;
    /// The run-time twin.
    const HOW: Reduction;
}

/// The mean of all losses, rows to ignore left out: a scalar.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean;
/// The sum of all losses: a scalar.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum;
/// Every loss by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Each;

impl Reduce for Mean {
    type Out<X: Axes> = ();
    const HOW: Reduction = Reduction::Mean;
}
impl Reduce for Sum {
    type Out<X: Axes> = ();
    const HOW: Reduction = Reduction::Sum;
}
impl Reduce for Each {
    type Out<X: Axes> = X;
    const HOW: Reduction = Reduction::Each;
}

/// How cross entropy reads its labels.
///
/// ```
/// use forge::CrossEntropy;
/// let how = CrossEntropy::new().ignore_index(-100).label_smoothing(0.1);
/// # let _ = how;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrossEntropy {
    pub(super) args: LabelArgs,
}

impl CrossEntropy {
    /// Every label counts in full.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows with this label have no loss, and do not count in a mean.
    #[must_use]
    pub fn ignore_index(mut self, label: i64) -> Self {
        self.args.ignore = Some(label);
        self
    }

    /// The share of the target that all classes have in equal parts, the label keeping the rest
    /// ([Szegedy et al. 2015](https://arxiv.org/abs/1512.00567)).
    #[must_use]
    pub fn label_smoothing(mut self, share: f64) -> Self {
        self.args.smoothing = share;
        self
    }
}

/// The labels in the order of the axes `to`.
pub(super) fn ordered<L: Axes, Y: Axes>(labels: &Tensor<L, i64>) -> RawTensor {
    let order = const { &plan::map(Y::KEYS, L::KEYS) };
    shape::permute(labels.raw(), &order[..Y::RANK])
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Cross entropy of logits along `class` with integer labels: `log(sum(e^x)) - x[label]` for each row. When all rows
    /// are ignored the mean is 0.
    ///
    /// ```
    /// use forge::CrossEntropy;
    /// use forge::loss::{Each, Mean};
    /// use forge::prelude::*;
    /// axes! { Batch, Class }
    /// let logits = Tensor::<(Batch, Class)>::zeros((2, 4));
    /// let labels = Tensor::<Batch, i64>::from_vec(2, vec![3, -100]);
    /// let how = CrossEntropy::new().ignore_index(-100);
    /// let loss = logits.cross_entropy(Class, &labels, how, Mean);
    /// assert!((loss.item() - 4f32.ln()).abs() < 1e-6);
    /// let rows: Tensor<Batch> = logits.cross_entropy(Class, &labels, how, Each);
    /// assert_eq!(rows.get(1), 0.0);
    /// ```
    ///
    /// # Errors
    /// When a label is outside the axis, a shared axis has two sizes, or the smoothing is no share.
    #[fallible]
    pub fn cross_entropy<A: Axis, L: Axes, R: Reduce>(
        &self,
        class: A,
        labels: &Tensor<L, i64>,
        how: CrossEntropy,
        reduce: R,
    ) -> Tensor<R::Out<Remove<X, A>>, D>
    where
        X: Has<A>,
        L: PermutationOf<Remove<X, A>>,
        D: Float,
    {
        let _ = (class, reduce);
        let labels = ordered::<L, Remove<X, A>>(labels);
        let names = names::<X, Remove<X, A>>();
        Ok(wrap(raw::cross_entropy(self.raw(), at::<X, A>(), &labels, how.args, R::HOW, names)?))
    }

    /// `-x[label]` for each row of log-probabilities along `class`; rows with the label `ignore` have no loss. When all
    /// rows are ignored the mean is 0.
    ///
    /// # Errors
    /// When a label is outside the axis, or a shared axis has two sizes.
    #[fallible]
    pub fn nll_loss<A: Axis, L: Axes, R: Reduce>(
        &self,
        class: A,
        labels: &Tensor<L, i64>,
        ignore: Option<i64>,
        reduce: R,
    ) -> Tensor<R::Out<Remove<X, A>>, D>
    where
        X: Has<A>,
        L: PermutationOf<Remove<X, A>>,
        D: Float,
    {
        let _ = (class, reduce);
        let labels = ordered::<L, Remove<X, A>>(labels);
        let names = names::<X, Remove<X, A>>();
        Ok(wrap(raw::nll_loss(self.raw(), at::<X, A>(), &labels, ignore, R::HOW, names)?))
    }

    /// `(x - y)^2 / 2` where `|x - y|` is at most `delta`, else `delta (|x - y| - delta / 2)`.
    ///
    /// The target's axes must be among those of `self`; it is repeated along the others. The mean is over all elements.
    ///
    /// # Errors
    /// When a shared axis has two sizes, or `delta` is not positive.
    #[fallible]
    pub fn huber_loss<Y: Axes + SubsetOf<X>, R: Reduce>(
        &self,
        target: &Tensor<Y, D>,
        delta: f64,
        reduce: R,
    ) -> Tensor<R::Out<X>, D>
    where
        D: Float,
    {
        let _ = reduce;
        check_delta(delta)?;
        let plan = const { &PointwisePlan::new(X::KEYS, Y::KEYS) };
        let (x, y) = (self.raw(), target.raw());
        Ok(wrap(raw::pair_loss(PairLoss::Huber, x, y, delta, R::HOW, plan, names::<X, Y>(), "huber_loss")?))
    }
}

fn check_delta(delta: f64) -> Result<(), Error> {
    if delta > 0.0 {
        return Ok(());
    }
    Err(Error::argument("huber_loss", format!("delta must be positive, not {delta}")))
}

macro_rules! pairs {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<X: Axes, D: Dtype> Tensor<X, D> {
            $(
                $(#[$doc])*
                ///
                /// The target's axes must be among those of `self`; it is repeated along the others. The mean is over
                /// all elements. Gradients flow into both.
                ///
                /// # Errors
                /// When a shared axis has two sizes.
                #[fallible]
                pub fn $name<Y: Axes + SubsetOf<X>, R: Reduce>(&self, target: &Tensor<Y, D>, reduce: R) -> Tensor<R::Out<X>, D>
                where
                    D: Float,
                {
                    let _ = reduce;
                    let plan = const { &PointwisePlan::new(X::KEYS, Y::KEYS) };
                    let (x, y, names) = (self.raw(), target.raw(), names::<X, Y>());
                    Ok(wrap(raw::pair_loss(PairLoss::$op, x, y, 0.0, R::HOW, plan, names, stringify!($name))?))
                }
            )*
        }
        impl DynTensor {
            $(
                #[doc = concat!("[`Tensor::", stringify!($name), "`].")]
                ///
                /// # Errors
                /// When the target has an axis that `self` lacks, a shared axis has two sizes, or the elements are not
                /// floats.
                pub fn $name(&self, target: &Self, reduce: Reduction) -> Result<Self, Error> {
                    self.pair_loss(PairLoss::$op, target, 0.0, reduce, stringify!($name))
                }
            )*
        }
    };
}

pairs! {
    /// Squared error `(x - y)^2`.
    mse_loss Squared;
    /// Binary cross entropy of probabilities: `-(y ln x + (1 - y) ln(1 - x))`. Probabilities are clamped to
    /// `[1e-7, 1 - 1e-7]`, with gradient 0 outside.
    bce_loss Binary;
    /// Binary cross entropy of logits: `max(x, 0) - x y + ln(1 + e^-|x|)`.
    bce_with_logits_loss BinaryLogits;
    /// Terms of the Kullback-Leibler divergence of log-probabilities `x` from target probabilities `y`: `y (ln y - x)`. A
    /// target of 0 contributes 0 to the loss and to its gradient.
    kl_div_loss Kl;
    /// [`kl_div_loss`](Self::kl_div_loss) with the target as log-probabilities: `e^y (y - x)`.
    kl_div_log_target_loss KlLog;
}

/// The labels in the order of the axes `to`, which they must have.
pub(super) fn ordered_dyn(op: &'static str, labels: &DynTensor, to: &[Key]) -> Result<RawTensor, Error> {
    let keys = labels.keys();
    super::arith::subset(op, &keys, to)?;
    super::arith::subset(op, to, &keys)?;
    Ok(shape::permute(labels.raw(), &plan::map(to, &keys)[..to.len()]))
}

impl DynTensor {
    /// The result of a loss whose single losses have the axes `axes`.
    pub(super) fn of_losses(raw: RawTensor, axes: Vec<DynAxis>, how: Reduction) -> Self {
        match how {
            Reduction::Each => Self::new(raw, axes),
            Reduction::Mean | Reduction::Sum => Self::new(raw, []),
        }
    }

    /// The axes but one.
    pub(super) fn without(&self, axis: usize) -> Vec<DynAxis> {
        self.axes().iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, a)| a.clone()).collect()
    }

    fn pair_loss(
        &self,
        op: PairLoss,
        target: &Self,
        k: f64,
        how: Reduction,
        name: &'static str,
    ) -> Result<Self, Error> {
        let (lhs, rhs) = (self.keys(), target.keys());
        super::arith::subset(name, &rhs, &lhs)?;
        let (plan, names) = (PointwisePlan::new(&lhs, &rhs), Names { lhs: &lhs, rhs: &rhs });
        let y = raw::pair_loss(op, self.raw(), target.raw(), k, how, &plan, names, name)?;
        Ok(Self::of_losses(y, self.axes().to_vec(), how))
    }

    /// [`Tensor::huber_loss`].
    ///
    /// # Errors
    /// As [`Tensor::try_huber_loss`], and when the target has an axis that `self` lacks.
    pub fn huber_loss(&self, target: &Self, delta: f64, reduce: Reduction) -> Result<Self, Error> {
        check_delta(delta)?;
        self.pair_loss(PairLoss::Huber, target, delta, reduce, "huber_loss")
    }

    /// [`Tensor::cross_entropy`].
    ///
    /// # Errors
    /// As [`Tensor::try_cross_entropy`], and when the labels' axes are not those of `self` without `class`.
    pub fn cross_entropy(
        &self,
        class: impl Into<DynAxis>,
        labels: &Self,
        how: CrossEntropy,
        reduce: Reduction,
    ) -> Result<Self, Error> {
        self.labelled("cross_entropy", class.into(), labels, reduce, |at, labels, names| {
            raw::cross_entropy(self.raw(), at, labels, how.args, reduce, names)
        })
    }

    /// [`Tensor::nll_loss`].
    ///
    /// # Errors
    /// As [`Tensor::try_nll_loss`], and when the labels' axes are not those of `self` without `class`.
    pub fn nll_loss(
        &self,
        class: impl Into<DynAxis>,
        labels: &Self,
        ignore: Option<i64>,
        reduce: Reduction,
    ) -> Result<Self, Error> {
        self.labelled("nll_loss", class.into(), labels, reduce, |at, labels, names| {
            raw::nll_loss(self.raw(), at, labels, ignore, reduce, names)
        })
    }

    fn labelled(
        &self,
        op: &'static str,
        class: DynAxis,
        labels: &Self,
        reduce: Reduction,
        f: impl FnOnce(crate::raw::At, &RawTensor, Names) -> Result<RawTensor>,
    ) -> Result<Self, Error> {
        let p = self.position(op, &class)?;
        let keys = self.keys();
        let rest = list_ops::remove(&keys, &class.key()).map_err(|e| Error::axes(op, e.to_string()))?;
        let ordered = ordered_dyn(op, labels, &rest)?;
        let y = f(crate::raw::At { axis: p, keys: &keys }, &ordered, Names { lhs: &keys, rhs: &rest })?;
        let axes = self.without(p);
        debug_assert_eq!(keys_of(&axes).len(), rest.len());
        Ok(Self::of_losses(y, axes, reduce))
    }
}
