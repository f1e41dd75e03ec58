//! Learning-rate schedules: factors of the base rate by step.

use crate::error::{Error, Result};

/// A factor of the learning rate for each step. Give it to [`Optimizer::set_lr_factor`](super::Optimizer::set_lr_factor)
/// before the step; it is a pure function of the step number, so resuming needs nothing but that.
///
/// ```
/// use forge::optim::Schedule;
/// let s = Schedule::cosine(100).warmup(10).floor(0.1).build()?;
/// assert_eq!(s.factor(0), 0.1); // the first of ten warmup steps
/// assert_eq!(s.factor(10), 1.0);
/// assert!((s.factor(55) - 0.55).abs() < 1e-12); // half way down
/// assert_eq!(s.factor(1000), 0.1);
/// # Ok::<(), forge::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    shape: Shape,
    warmup: u64,
    floor: f64,
}

/// A [`Schedule`] whose options are still being chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduleOptions(Schedule);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Constant,
    Linear { total: u64 },
    Cosine { total: u64 },
    Step { every: u64, by: f64 },
}

impl Schedule {
    const fn shaped(shape: Shape) -> ScheduleOptions {
        ScheduleOptions(Self { shape, warmup: 0, floor: 0.0 })
    }

    /// Always 1.
    pub const fn constant() -> ScheduleOptions {
        Self::shaped(Shape::Constant)
    }

    /// From 1 down to the floor in a straight line, reached at step `total`.
    pub const fn linear(total: u64) -> ScheduleOptions {
        Self::shaped(Shape::Linear { total })
    }

    /// From 1 down to the floor along half a cosine, reached at step `total`
    /// ([Loshchilov and Hutter 2016](https://arxiv.org/abs/1608.03983)).
    pub const fn cosine(total: u64) -> ScheduleOptions {
        Self::shaped(Shape::Cosine { total })
    }

    /// Times `by` after every `every` steps.
    pub const fn step(every: u64, by: f64) -> ScheduleOptions {
        Self::shaped(Shape::Step { every, by })
    }

    /// The factor for step `step`, counted from 0.
    pub fn factor(&self, step: u64) -> f64 {
        if step < self.warmup {
            return (step + 1) as f64 / self.warmup as f64;
        }
        let after = step - self.warmup;
        let progress = |total: u64| (after as f64 / (total - self.warmup) as f64).min(1.0);
        let down = match self.shape {
            Shape::Constant => 1.0,
            Shape::Linear { total } => 1.0 - progress(total),
            Shape::Cosine { total } => 0.5 * (1.0 + cos_pi(progress(total))),
            Shape::Step { every, by } => by.powi(i32::try_from(after / every).unwrap_or(i32::MAX)),
        };
        self.floor + (1.0 - self.floor) * down
    }
}

/// `cos(pi x)` for `0 <= x <= 1`, exact at the ends and in the middle.
fn cos_pi(x: f64) -> f64 {
    if x == 0.5 { 0.0 } else { (std::f64::consts::PI * x).cos() }
}

impl ScheduleOptions {
    /// Rises in a straight line during the first `steps` steps: `(step + 1) / steps`.
    #[must_use]
    pub const fn warmup(mut self, steps: u64) -> Self {
        self.0.warmup = steps;
        self
    }

    /// The factor never falls below this.
    #[must_use]
    pub const fn floor(mut self, floor: f64) -> Self {
        self.0.floor = floor;
        self
    }

    /// The schedule.
    ///
    /// # Errors
    /// When the warmup does not end before the decay does, the floor is not between 0 and 1, or a step schedule has no
    /// length or no factor from 0 to 1.
    pub fn build(self) -> Result<Schedule> {
        let wrong = |what: String| Err(Error::argument("Schedule", what));
        let s = self.0;
        if !(0.0..=1.0).contains(&s.floor) {
            return wrong(format!("the floor is between 0 and 1, not {}", s.floor));
        }
        match s.shape {
            Shape::Linear { total } | Shape::Cosine { total } if total <= s.warmup => {
                wrong(format!("{} steps of warmup leave nothing of {total}", s.warmup))
            }
            Shape::Step { every: 0, .. } => wrong("a step has at least one step of training".into()),
            Shape::Step { by, .. } if !(0.0..=1.0).contains(&by) => {
                wrong(format!("the factor of a step is between 0 and 1, not {by}"))
            }
            _ => Ok(s),
        }
    }
}
