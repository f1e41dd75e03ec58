//! The update rules and their options.

use super::Optimizer;
use crate::error::{Error, Result};
use std::fmt;

/// Stochastic gradient descent with weight decay, momentum and Nesterov's form of it
/// ([Sutskever et al. 2013](https://proceedings.mlr.press/v28/sutskever13.html)), as in torch:
///
/// ```text
/// g = g + weight_decay p
/// b = momentum b + (1 - dampening) g        (b = g in the first step)
/// p = p - lr b                              (nesterov: p - lr (g + momentum b))
/// ```
///
/// ```
/// use forge::optim::Sgd;
/// let optimizer = Sgd::new().lr(0.1).momentum(0.9).nesterov().build()?;
/// assert!(Sgd::new().nesterov().build().is_err()); // Nesterov's form needs momentum
/// # Ok::<(), forge::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    pub(super) lr: f64,
    pub(super) momentum: f64,
    pub(super) dampening: f64,
    pub(super) weight_decay: f64,
    pub(super) nesterov: bool,
}

impl Default for Sgd {
    fn default() -> Self {
        Self { lr: 1e-3, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false }
    }
}

impl Sgd {
    /// Learning rate 1e-3, no momentum, no decay.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
    /// The learning rate.
    #[must_use]
    pub fn lr(mut self, lr: f64) -> Self {
        self.lr = lr;
        self
    }
    /// How much of the last step's direction stays, 0 (none) to 1.
    #[must_use]
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.momentum = momentum;
        self
    }
    /// How much of the gradient is kept out of the momentum buffer, 0 (none) to 1.
    #[must_use]
    pub fn dampening(mut self, dampening: f64) -> Self {
        self.dampening = dampening;
        self
    }
    /// Adds `weight_decay * p` to the gradient.
    #[must_use]
    pub fn weight_decay(mut self, weight_decay: f64) -> Self {
        self.weight_decay = weight_decay;
        self
    }
    /// Nesterov's form. Needs momentum and no dampening.
    #[must_use]
    pub fn nesterov(mut self) -> Self {
        self.nesterov = true;
        self
    }
    /// The optimizer that treats every parameter so.
    ///
    /// # Errors
    /// When an option is out of its range, or options contradict each other.
    pub fn build(self) -> Result<Optimizer> {
        Optimizer::new(self)
    }
}

/// Adam ([Kingma and Ba 2014](https://arxiv.org/abs/1412.6980)), as in torch, with weight decay as a part of the gradient:
///
/// ```text
/// g = g + weight_decay p
/// m = m + (1 - beta1) (g - m)
/// v = beta2 v + (1 - beta2) g g
/// p = p - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    pub(super) lr: f64,
    pub(super) beta1: f64,
    pub(super) beta2: f64,
    pub(super) eps: f64,
    pub(super) weight_decay: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self { lr: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0 }
    }
}

/// AdamW ([Loshchilov and Hutter 2017](https://arxiv.org/abs/1711.05101)), as in torch: [`Adam`] whose weight decay is a
/// factor `1 - lr * weight_decay` of the parameter, before the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW(pub(super) Adam);

impl Default for AdamW {
    fn default() -> Self {
        Self(Adam { weight_decay: 1e-2, ..Adam::default() })
    }
}

impl Adam {
    /// Learning rate 1e-3, betas 0.9 and 0.999, eps 1e-8, no weight decay.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
    /// The learning rate.
    #[must_use]
    pub fn lr(mut self, lr: f64) -> Self {
        self.lr = lr;
        self
    }
    /// Decay of the mean and of the mean square, each from 0 to below 1.
    #[must_use]
    pub fn betas(mut self, beta1: f64, beta2: f64) -> Self {
        (self.beta1, self.beta2) = (beta1, beta2);
        self
    }
    /// What is added to the denominator.
    #[must_use]
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }
    /// Adds `weight_decay * p` to the gradient.
    #[must_use]
    pub fn weight_decay(mut self, weight_decay: f64) -> Self {
        self.weight_decay = weight_decay;
        self
    }
    /// The optimizer that treats every parameter so.
    ///
    /// # Errors
    /// When an option is out of its range.
    pub fn build(self) -> Result<Optimizer> {
        Optimizer::new(self)
    }
}

impl AdamW {
    /// Learning rate 1e-3, betas 0.9 and 0.999, eps 1e-8, weight decay 0.01.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
    /// The learning rate.
    #[must_use]
    pub fn lr(self, lr: f64) -> Self {
        Self(self.0.lr(lr))
    }
    /// Decay of the mean and of the mean square, each from 0 to below 1.
    #[must_use]
    pub fn betas(self, beta1: f64, beta2: f64) -> Self {
        Self(self.0.betas(beta1, beta2))
    }
    /// What is added to the denominator.
    #[must_use]
    pub fn eps(self, eps: f64) -> Self {
        Self(self.0.eps(eps))
    }
    /// The parameter shrinks by the factor `1 - lr * weight_decay` in each step.
    #[must_use]
    pub fn weight_decay(self, weight_decay: f64) -> Self {
        Self(self.0.weight_decay(weight_decay))
    }
    /// The optimizer that treats every parameter so.
    ///
    /// # Errors
    /// When an option is out of its range.
    pub fn build(self) -> Result<Optimizer> {
        Optimizer::new(self)
    }
}

/// How the parameters of one group are updated. `Display` writes everything but the learning rate: two rules that write
/// the same continue each other's state.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// [`Sgd`].
    Sgd(Sgd),
    /// [`Adam`].
    Adam(Adam),
    /// [`AdamW`].
    AdamW(AdamW),
}

impl From<Sgd> for Rule {
    fn from(r: Sgd) -> Self {
        Self::Sgd(r)
    }
}
impl From<Adam> for Rule {
    fn from(r: Adam) -> Self {
        Self::Adam(r)
    }
}
impl From<AdamW> for Rule {
    fn from(r: AdamW) -> Self {
        Self::AdamW(r)
    }
}

impl Rule {
    /// The learning rate.
    pub fn lr(&self) -> f64 {
        match self {
            Self::Sgd(r) => r.lr,
            Self::Adam(r) | Self::AdamW(AdamW(r)) => r.lr,
        }
    }

    pub(super) fn set_lr(&mut self, lr: f64) {
        match self {
            Self::Sgd(r) => r.lr = lr,
            Self::Adam(r) | Self::AdamW(AdamW(r)) => r.lr = lr,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Sgd(_) => "Sgd",
            Self::Adam(_) => "Adam",
            Self::AdamW(_) => "AdamW",
        }
    }

    /// The names of its buffers, in the order that a slot keeps them.
    pub(super) fn buffers(&self) -> &'static [&'static str] {
        match self {
            Self::Sgd(Sgd { momentum: 0.0, .. }) => &[],
            Self::Sgd(_) => &["momentum"],
            Self::Adam(_) | Self::AdamW(_) => &["mean", "square"],
        }
    }

    pub(super) fn validate(self) -> Result<Self> {
        let op = self.name();
        let at_least_0 = |what: &str, v: f64| {
            if v >= 0.0 && v.is_finite() {
                return Ok(());
            }
            Err(Error::argument(op, format!("{what} is a number from 0 on, not {v}")))
        };
        let fraction = |what: &str, v: f64| {
            if (0.0..1.0).contains(&v) {
                return Ok(());
            }
            Err(Error::argument(op, format!("{what} is at least 0 and below 1, not {v}")))
        };
        at_least_0("the learning rate", self.lr())?;
        match self {
            Self::Sgd(r) => {
                at_least_0("the momentum", r.momentum)?;
                at_least_0("the weight decay", r.weight_decay)?;
                if !r.dampening.is_finite() {
                    return Err(Error::argument(op, format!("the dampening is a number, not {}", r.dampening)));
                }
                if r.nesterov && (r.momentum == 0.0 || r.dampening != 0.0) {
                    return Err(Error::argument(op, "Nesterov's form needs momentum and no dampening"));
                }
            }
            Self::Adam(r) | Self::AdamW(AdamW(r)) => {
                fraction("beta1", r.beta1)?;
                fraction("beta2", r.beta2)?;
                at_least_0("eps", r.eps)?;
                at_least_0("the weight decay", r.weight_decay)?;
            }
        }
        Ok(self)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sgd(Sgd { momentum, dampening, weight_decay, nesterov, .. }) => write!(
                f,
                "Sgd(momentum {momentum}, dampening {dampening}, weight decay {weight_decay}, nesterov {nesterov})"
            ),
            Self::Adam(Adam { beta1, beta2, eps, weight_decay, .. })
            | Self::AdamW(AdamW(Adam { beta1, beta2, eps, weight_decay, .. })) => {
                write!(f, "{}(betas {beta1} {beta2}, eps {eps}, weight decay {weight_decay})", self.name())
            }
        }
    }
}
