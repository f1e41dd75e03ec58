//! Penalties on tokens that occurred.

use super::options::Sampling;
use std::collections::BTreeMap;

/// Lowers the logits of the last tokens of `history`: repetition, then frequency and presence.
pub(crate) fn penalise(s: &Sampling, history: &[u32], logits: &mut [f32]) {
    if (s.repeat_penalty, s.frequency_penalty, s.presence_penalty) == (1.0, 0.0, 0.0) {
        return;
    }
    let recent = &history[history.len().saturating_sub(s.penalty_last)..];
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for &t in recent {
        *counts.entry(t).or_default() += 1;
    }
    for (token, count) in counts {
        let Some(l) = logits.get_mut(token as usize).filter(|l| **l != f32::NEG_INFINITY) else { continue };
        *l = if *l <= 0.0 { *l * s.repeat_penalty } else { *l / s.repeat_penalty };
        *l -= count as f32 * s.frequency_penalty + s.presence_penalty;
    }
}
