//! The nonlinear functions of profiles.

use super::Options;
use super::conv::{Frames, Free};
use crate::profile::Activation as Spec;
use forge::axes::Time;
use forge::prelude::*;

/// A nonlinear function on the channels `A`.
pub(super) enum Activation<A: Free> {
    Tanh,
    HardTanh,
    FastTanh,
    Relu,
    LeakyRelu {
        slope: f32,
    },
    /// A slope for each channel.
    PRelu {
        slopes: Tensor<A>,
    },
    Sigmoid,
    Silu,
    HardSwish,
    LeakyHardTanh {
        low: f32,
        high: f32,
        low_slope: f32,
        high_slope: f32,
    },
    Softsign,
}

impl<A: Free> Activation<A>
where
    (Time, A): Frames<A>,
    A: Distinct,
{
    pub(super) fn new(spec: &Spec, options: Options) -> Self {
        match spec {
            Spec::Tanh if options.fast_tanh => Self::FastTanh,
            Spec::Tanh => Self::Tanh,
            Spec::HardTanh => Self::HardTanh,
            Spec::FastTanh => Self::FastTanh,
            Spec::Relu => Self::Relu,
            Spec::LeakyRelu { slope } => Self::LeakyRelu { slope: *slope },
            Spec::PRelu { slopes } if slopes.len() == 1 => Self::LeakyRelu { slope: slopes[0] },
            Spec::PRelu { slopes } => Self::PRelu { slopes: Tensor::from_vec(slopes.len(), slopes.to_vec()) },
            Spec::Sigmoid => Self::Sigmoid,
            Spec::Silu => Self::Silu,
            Spec::HardSwish => Self::HardSwish,
            &Spec::LeakyHardTanh { low, high, low_slope, high_slope } => {
                Self::LeakyHardTanh { low, high, low_slope, high_slope }
            }
            Spec::Softsign => Self::Softsign,
        }
    }

    pub(super) fn run(&self, x: &Tensor<(Time, A)>) -> Tensor<(Time, A)> {
        match self {
            Self::Tanh => x.tanh(),
            Self::HardTanh => x.hard_tanh(),
            Self::FastTanh => x.fast_tanh(),
            Self::Relu => x.relu(),
            Self::LeakyRelu { slope } => x.leaky_relu(f64::from(*slope)),
            // One of the two is zero everywhere.
            Self::PRelu { slopes } => x.clamp_max(0.0) * slopes + x.relu(),
            Self::Sigmoid => x.sigmoid(),
            Self::Silu => x.silu(),
            Self::HardSwish => x.hard_swish(),
            Self::LeakyHardTanh { low, high, low_slope, high_slope } => {
                // What lies beyond a bound goes on with that bound's slope.
                let inside = x.clamp_min(f64::from(*low)).clamp_max(f64::from(*high));
                let below = (x - *low).clamp_max(0.0) * *low_slope;
                let above = (x - *high).clamp_min(0.0) * *high_slope;
                inside + below + above
            }
            Self::Softsign => x.softsign(),
        }
    }
}
