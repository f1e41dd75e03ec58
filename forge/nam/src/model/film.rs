//! Modulation by the condition.

use super::conv::{Conv, Frames, Free, Shape};
use super::{Condition, Modulation};
use crate::cursor::Cursor;
use crate::profile::{Film as Spec, ProfileError};
use forge::axes::Time;
use forge::prelude::*;

/// y = x scale(c) + shift(c), where scale and shift come from one pointwise convolution of the condition.
pub(super) struct Film {
    conv: Conv<Condition, Modulation>,
    width: usize,
    shift: bool,
}

impl Film {
    pub(super) fn read(
        weights: &mut Cursor<'_>,
        spec: Spec,
        condition: usize,
        width: usize,
    ) -> Result<Self, ProfileError> {
        let shape = Shape::pointwise(condition, spec.outputs(width), spec.groups);
        Ok(Self { conv: Conv::read(weights, shape, true)?, width, shift: spec.shift })
    }

    pub(super) fn run<A: Free>(&self, x: &Tensor<(Time, A)>, condition: &Tensor<(Time, Condition)>) -> Tensor<(Time, A)>
    where
        (Time, Modulation): Lacks<A>,
        (Time, A): Frames<A>,
    {
        let made = self.conv.point(condition);
        let part = |i: usize| {
            let half = made.narrow(Modulation, i * self.width..(i + 1) * self.width);
            half.rename(Modulation, A::default())
        };
        let y = x * part(0);
        if self.shift { y + part(1) } else { y }
    }
}
