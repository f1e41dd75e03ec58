//! The nonlinear functions that a profile can name.

use super::error::{ProfileError, shown};
use super::json::Node;
use std::sync::Arc;

/// A nonlinear function, applied to each number by itself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Activation {
    /// tanh(x). Replaced by [`FastTanh`](Self::FastTanh) when the player is told to be fast.
    Tanh,
    /// min(max(x, -1), 1).
    HardTanh,
    /// A quotient of polynomials near tanh (error about 1e-3), always.
    FastTanh,
    /// max(x, 0).
    Relu,
    /// x where positive, else `slope` x.
    LeakyRelu {
        /// The slope below zero; 0.01 unless given.
        slope: f32,
    },
    /// As [`LeakyRelu`](Self::LeakyRelu), with a slope for each channel, or one slope for all.
    PRelu {
        /// The slopes below zero: one, or one a channel.
        slopes: Arc<[f32]>,
    },
    /// 1 / (1 + e^-x).
    Sigmoid,
    /// x / (1 + e^-x).
    Silu,
    /// x min(max(x + 3, 0), 6) / 6.
    HardSwish,
    /// x between `low` and `high`; beyond them a line that leaves the bound with a slope of its own.
    LeakyHardTanh {
        /// The lower bound; -1 unless given.
        low: f32,
        /// The upper bound; 1 unless given.
        high: f32,
        /// The slope below `low`; 0.01 unless given.
        low_slope: f32,
        /// The slope above `high`; 0.01 unless given.
        high_slope: f32,
    },
    /// x / (1 + |x|).
    Softsign,
}

const KNOWN: &str =
    "Tanh, Hardtanh, Fasttanh, ReLU, LeakyReLU, PReLU, Sigmoid, SiLU, Hardswish, LeakyHardtanh, Softsign";

impl Activation {
    /// Reads `"Tanh"` or `{"type": "LeakyReLU", "negative_slope": 0.2}`.
    pub(super) fn parse(node: &Node<'_>) -> Result<Self, ProfileError> {
        let (name, options) = match node.text() {
            Ok(name) => (name, None),
            Err(_) if node.object().is_ok() => (node.need("type")?.text()?, Some(node)),
            Err(_) => return Err(node.wrong("the name of an activation, or an object with a `type`")),
        };
        let option = |key: &str, default: f32| match options {
            Some(node) => node.get(key)?.map_or(Ok(default), |v| v.float()),
            None => Ok(default),
        };
        Ok(match name {
            "Tanh" => Self::Tanh,
            "Hardtanh" => Self::HardTanh,
            "Fasttanh" => Self::FastTanh,
            "ReLU" => Self::Relu,
            "LeakyReLU" => Self::LeakyRelu { slope: option("negative_slope", 0.01)? },
            "PReLU" => Self::PRelu { slopes: prelu_slopes(options)? },
            "Sigmoid" => Self::Sigmoid,
            "SiLU" => Self::Silu,
            "Hardswish" => Self::HardSwish,
            "LeakyHardtanh" | "LeakyHardTanh" => {
                let (low, high) = (option("min_val", -1.0)?, option("max_val", 1.0)?);
                if low > high {
                    return Err(node.conflict(format!("min_val {low} is above max_val {high}")));
                }
                Self::LeakyHardTanh {
                    low,
                    high,
                    low_slope: option("min_slope", 0.01)?,
                    high_slope: option("max_slope", 0.01)?,
                }
            }
            "Softsign" => Self::Softsign,
            other => {
                return Err(ProfileError::Unknown {
                    at: node.at.clone(),
                    what: "activation",
                    got: shown(other),
                    known: KNOWN,
                });
            }
        })
    }

    /// Checks that it fits on `width` channels.
    pub(super) fn check_width(&self, node: &Node<'_>, width: usize) -> Result<(), ProfileError> {
        match self {
            Self::PRelu { slopes } if slopes.len() != 1 && slopes.len() != width => Err(node.conflict(format!(
                "PReLU has {} slopes for {width} channels: give one, or one for each channel",
                slopes.len()
            ))),
            _ => Ok(()),
        }
    }
}

fn prelu_slopes(options: Option<&Node<'_>>) -> Result<Arc<[f32]>, ProfileError> {
    let Some(options) = options else { return Ok([0.01].into()) };
    if let Some(one) = options.get("negative_slope")? {
        return Ok([one.float()?].into());
    }
    let Some(row) = options.get("negative_slopes")? else { return Ok([0.01].into()) };
    let slopes = super::finite(row.numbers()?, &row.at)?;
    if slopes.is_empty() {
        return Err(row.conflict("is empty: give one slope, or one for each channel"));
    }
    Ok(slopes.into())
}
