//! The SlimmableContainer architecture.

use super::error::ProfileError;
use super::{Body, Profile, Reading};

/// One of the models of a container.
#[derive(Clone, Debug)]
pub struct Submodel {
    /// It is played for qualities below this (and not below that of the model before it).
    pub max_value: f64,
    /// The model, a whole profile.
    pub profile: Profile,
}

pub(super) fn read(body: &Body<'_>, reading: &Reading<'_>) -> Result<Vec<Submodel>, ProfileError> {
    // It owns none, but the key must be there.
    body.weights(0)?;
    let list = body.config.need("submodels")?;
    let nodes = list.items("a submodel (an object with `max_value` and `model`)")?;
    if nodes.is_empty() {
        return Err(list.conflict("is empty: a container holds at least one model"));
    }
    if nodes.len() > reading.limits.layers {
        return Err(ProfileError::TooLarge {
            what: format!("the count of {}", list.at),
            got: nodes.len().to_string(),
            limit: reading.limits.layers,
            limit_name: "layers",
        });
    }
    let mut submodels: Vec<Submodel> = Vec::with_capacity(nodes.len());
    let mut rate = body.sample_rate;
    for node in &nodes {
        let max = node.need("max_value")?;
        let max_value = max.number()?;
        if let Some(before) = submodels.last()
            && max_value <= before.max_value
        {
            return Err(max.conflict(format!(
                "{max_value} is not above {}: submodels stand by rising max_value",
                before.max_value
            )));
        }
        let model = node.need("model")?;
        let profile = Profile::from_node(&model, reading)?;
        if let (Some(a), Some(b)) = (rate, profile.sample_rate)
            && a != b
        {
            return Err(model.conflict(format!("its sample rate {b} is not the {a} of the rest of the container")));
        }
        rate = rate.or(profile.sample_rate);
        if let Some(first) = submodels.first()
            && first.profile.channels() != profile.channels()
        {
            let ((i, o), (j, p)) = (first.profile.channels(), profile.channels());
            return Err(
                model.conflict(format!("{j} channels in and {p} out, where the first submodel has {i} and {o}"))
            );
        }
        submodels.push(Submodel { max_value, profile });
    }
    match submodels.last() {
        Some(last) if last.max_value < 1.0 => {
            Err(list.conflict(format!("the last max_value is {}, but must be at least 1", last.max_value)))
        }
        _ => Ok(submodels),
    }
}
