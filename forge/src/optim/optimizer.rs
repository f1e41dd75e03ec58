//! [`Optimizer`]: rules, the parameters they hold for, and their state by parameter name.

use super::rule::{Adam, AdamW, Rule, Sgd};
use crate::autograd::Grads;
use crate::dyn_tensor::DynAxis;
use crate::error::{Error, Result};
use crate::nn::{Entry, EntryMut, Module, Path, Pattern, StateDict};
use crate::raw::{RawTensor, by_float, cast};
use crate::{DType, DynTensor};
use forge_kernels::optim::{AdamStep, OptimKernels, SgdStep};
use std::collections::BTreeMap;
use std::sync::Arc;

const OP: &str = "optimizer";

/// Updates the parameters of a model from gradients.
///
/// Parameters are known by their names. A parameter without a gradient is left alone. A 16-bit parameter is updated
/// through an f32 master that the optimizer keeps, and rounded once in each step.
#[derive(Clone, Debug)]
pub struct Optimizer {
    /// The last one has no pattern: it is for all that no other is for.
    groups: Vec<Group>,
    lr_factor: f64,
    slots: BTreeMap<String, Slot>,
    /// Number of [`Self::step`] calls of this value.
    pass: u64,
}

#[derive(Clone, Debug)]
struct Group {
    pattern: Option<Pattern>,
    rule: Rule,
}

/// The state of one parameter.
#[derive(Clone)]
struct Slot {
    axes: Arc<[DynAxis]>,
    /// Steps that were taken.
    step: u64,
    /// What [`Rule::buffers`] names.
    buffers: Vec<RawTensor>,
    /// f32 values of a 16-bit parameter.
    master: Option<RawTensor>,
    /// Which group holds; `None` until the parameter was seen.
    group: Option<usize>,
    /// The pass that saw the parameter last.
    pass: u64,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slot(step {}, {} buffers)", self.step, self.buffers.len())
    }
}

impl Optimizer {
    /// One rule for all parameters.
    ///
    /// # Errors
    /// When an option of the rule is out of its range, or options contradict each other.
    pub fn new(rule: impl Into<Rule>) -> Result<Self> {
        let rule = rule.into().validate()?;
        Ok(Self { groups: vec![Group { pattern: None, rule }], lr_factor: 1.0, slots: BTreeMap::new(), pass: 0 })
    }

    /// Another rule for the parameters whose names fit `pattern` (see [`Pattern`]) and no earlier group's.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn group(mut self, pattern: &str, rule: impl Into<Rule>) -> Result<Self> {
        let rule = rule.into().validate()?;
        let last = self.groups.len() - 1;
        self.groups.insert(last, Group { pattern: Some(Pattern::new(pattern)), rule });
        self.slots.values_mut().for_each(|s| s.group = None);
        Ok(self)
    }

    /// Multiplies the learning rate of every group from now on: what a [`Schedule`](super::Schedule) gives.
    pub fn set_lr_factor(&mut self, factor: f64) {
        self.lr_factor = factor;
    }

    /// See [`Self::set_lr_factor`]; 1 at first.
    pub fn lr_factor(&self) -> f64 {
        self.lr_factor
    }

    /// Sets the learning rate of every group, before the factor.
    ///
    /// # Errors
    /// When it is negative or not a number.
    pub fn set_lr(&mut self, lr: f64) -> Result<()> {
        for g in &mut self.groups {
            let mut rule = g.rule;
            rule.set_lr(lr);
            g.rule = rule.validate()?;
        }
        Ok(())
    }

    /// The rules with their patterns, in the order in which they are tried; the last is for all that no other is for.
    pub fn rules(&self) -> impl Iterator<Item = (Option<&Pattern>, &Rule)> {
        self.groups.iter().map(|g| (g.pattern.as_ref(), &g.rule))
    }

    /// The rules in words, without learning rates: equal for optimizers that may continue each other's state.
    pub fn description(&self) -> Vec<String> {
        self.groups
            .iter()
            .map(|g| g.pattern.as_ref().map_or_else(|| g.rule.to_string(), |p| format!("{p}: {}", g.rule)))
            .collect()
    }

    /// Updates every trainable parameter of `model` that `grads` has a gradient for.
    ///
    /// The memory of a parameter is written in place when nobody else holds it; a saved value, a state dict or a clone
    /// keeps the old values.
    ///
    /// # Errors
    /// When two parameters have one name, or a state that was loaded does not fit its parameter. Nothing is changed then.
    pub fn step(&mut self, model: &mut (impl Module + ?Sized), grads: &Grads) -> Result<()> {
        self.pass += 1;
        let mut first_error = None;
        model.visit(&mut Path::root(), &mut |path: &Path, e: Entry<'_>| {
            if first_error.is_none() {
                first_error = self.prepare(path.as_str(), e, grads).err();
            }
        });
        if let Some(e) = first_error {
            return Err(e);
        }
        let mut failed = None;
        model.visit_mut(&mut Path::root(), &mut |path: &Path, mut e: EntryMut<'_>| {
            let Some(grad) = e.as_entry().leaf_id().and_then(|id| grads.by_id(id)) else { return };
            let Some(slot) = self.slots.get_mut(path.as_str()) else { return };
            let Some(group) = slot.group else { return };
            let rule = self.groups[group].rule;
            if let Err(e) = update(&rule, self.lr_factor, slot, e.raw_mut(), grad) {
                failed.get_or_insert(e);
            }
        });
        failed.map_or(Ok(()), Err)
    }

    /// Finds or makes the slot of a parameter that has a gradient, and checks that everything fits.
    fn prepare(&mut self, name: &str, e: Entry<'_>, grads: &Grads) -> Result<()> {
        let Some(grad) = e.leaf_id().and_then(|id| grads.by_id(id)) else { return Ok(()) };
        if !self.slots.contains_key(name) {
            let slot = Slot { axes: e.axes().into(), step: 0, buffers: Vec::new(), master: None, group: None, pass: 0 };
            self.slots.insert(name.to_owned(), slot);
        }
        let slot = self.slots.get_mut(name).expect("it was there, or was just put there");
        if slot.pass == self.pass {
            return Err(Error::argument(OP, format!("two parameters are named `{name}`")));
        }
        slot.pass = self.pass;
        let group = *slot.group.get_or_insert_with(|| {
            let found = self.groups.iter().position(|g| g.pattern.as_ref().is_none_or(|p| p.matches(name)));
            found.expect("the last group is for all")
        });
        let wide = if e.dtype().is_differentiable() { e.dtype() } else { DType::F32 };
        if grad.shape() != e.shape() || grad.dtype() != wide {
            return Err(Error::argument(
                OP,
                format!(
                    "the gradient of `{name}` is {} {:?}, the parameter is {} {}",
                    grad.dtype(),
                    grad.shape(),
                    e.dtype(),
                    e.axes_text()
                ),
            ));
        }
        let rule = &self.groups[group].rule;
        let fits = |t: &RawTensor| t.shape() == e.shape() && t.dtype() == wide;
        let count = if slot.step == 0 { 0 } else { rule.buffers().len() };
        if slot.buffers.len() != count || !slot.buffers.iter().all(fits) || !slot.master.iter().all(fits) {
            return Err(Error::argument(
                OP,
                format!("the state of `{name}` is not one of {} for {} {}", rule.name(), e.dtype(), e.axes_text()),
            ));
        }
        Ok(())
    }

    /// The state as tensors: `{parameter}/step`, `{parameter}/mean` and so on. Memory is shared, not copied.
    pub fn state_dict(&self) -> StateDict {
        let mut dict = StateDict::new();
        for (name, slot) in self.slots.iter().filter(|s| s.1.step > 0) {
            let mut put = |what: &str, raw: RawTensor, axes: Arc<[DynAxis]>| {
                dict.insert(format!("{name}/{what}"), DynTensor::new(raw, axes));
            };
            put("step", RawTensor::full(&[], slot.step as i64), [].into());
            let what = slot.group.map_or(&[][..], |g| self.groups[g].rule.buffers());
            for (what, buffer) in what.iter().zip(&slot.buffers) {
                put(what, buffer.clone(), slot.axes.clone());
            }
            if let Some(master) = &slot.master {
                put("master", master.clone(), slot.axes.clone());
            }
        }
        dict
    }

    /// Takes the state that [`Self::state_dict`] of an optimizer with the same rules gave. Learning rates are not part
    /// of it. Nothing is changed when it does not fit.
    ///
    /// # Errors
    /// When a name, a dtype or a size is not one of a state of these rules.
    pub fn load_state_dict(&mut self, dict: &StateDict) -> Result<()> {
        self.slots = self.slots_from(dict)?;
        Ok(())
    }

    fn slots_from(&self, dict: &StateDict) -> Result<BTreeMap<String, Slot>> {
        let wrong = |name: &str, what: &str| Error::argument(OP, format!("the state `{name}` {what}"));
        let mut slots: BTreeMap<String, Slot> = BTreeMap::new();
        for (full, value) in dict {
            let (name, what) = full.rsplit_once('/').ok_or_else(|| wrong(full, "has no `/` in its name"))?;
            let slot = match slots.get_mut(name) {
                Some(s) => s,
                None => {
                    let found = self.groups.iter().position(|g| g.pattern.as_ref().is_none_or(|p| p.matches(name)));
                    let count = found.map_or(0, |g| self.groups[g].rule.buffers().len());
                    let empty = RawTensor::full(&[0], 0.0f32);
                    slots.entry(name.to_owned()).or_insert(Slot {
                        axes: value.axes().into(),
                        step: 0,
                        buffers: vec![empty; count],
                        master: None,
                        group: found,
                        pass: 0,
                    })
                }
            };
            if what == "step" {
                let step =
                    (value.dtype() == DType::I64 && value.axes().is_empty()).then(|| value.raw().to_vec::<i64>()[0]);
                slot.step = step
                    .and_then(|s| u64::try_from(s).ok())
                    .filter(|&s| s > 0)
                    .ok_or_else(|| wrong(full, "is not a number of steps"))?;
                continue;
            }
            if !value.dtype().is_differentiable() {
                return Err(wrong(full, &format!("holds {}, not f32 or f64", value.dtype())));
            }
            slot.axes = value.axes().into();
            let rule = slot.group.map(|g| &self.groups[g].rule);
            if what == "master" {
                slot.master = Some(value.raw().detach());
            } else if let Some(i) = rule.and_then(|r| r.buffers().iter().position(|b| *b == what)) {
                slot.buffers[i] = value.raw().detach();
            } else {
                return Err(wrong(full, &format!("is not one of {}", rule.map_or("a known rule", Rule::name))));
            }
        }
        for (name, slot) in &slots {
            if slot.step == 0 {
                return Err(wrong(name, "lacks its number of steps (`/step`)"));
            }
            let first = slot.buffers.iter().chain(&slot.master).next();
            let equal = |t: &RawTensor| first.is_some_and(|f| f.shape() == t.shape() && f.dtype() == t.dtype());
            let complete = slot.buffers.iter().all(|t| t.rank() == slot.axes.len() && equal(t));
            if !complete {
                return Err(wrong(name, "is incomplete, or its parts differ in axes or sizes"));
            }
        }
        Ok(slots)
    }
}

/// One step of `rule` for one parameter. `grad` has the shape of `p`, and its dtype (f32 for a 16-bit parameter).
fn update(rule: &Rule, lr_factor: f64, slot: &mut Slot, p: &mut RawTensor, grad: &RawTensor) -> Result<()> {
    let grad = grad.contiguous();
    while slot.buffers.len() < rule.buffers().len() {
        slot.buffers.push(grad.zeros_like());
    }
    slot.step += 1;
    if p.dtype().is_differentiable() {
        return by_float!(OP, p.dtype(), T => apply::<T>(rule, lr_factor, slot.step, &mut slot.buffers, p, &grad));
    }
    let mut master = match slot.master.take() {
        Some(m) => m,
        None => cast::to(&p.detach(), DType::F32)?,
    };
    apply::<f32>(rule, lr_factor, slot.step, &mut slot.buffers, &mut master, &grad)?;
    *p = cast::to(&master, p.dtype())?;
    slot.master = Some(master);
    Ok(())
}

/// The dense elements of `t`, its own: copied first when somebody shares them.
fn own<T: forge_kernels::Element>(t: &mut RawTensor) -> &mut [T] {
    if t.as_mut_slice::<T>().is_none() {
        let node = t.node.take();
        *t = t.compacted();
        t.node = node;
    }
    t.as_mut_slice().expect("a fresh copy is dense and unshared")
}

fn apply<T: OptimKernels>(
    rule: &Rule,
    lr_factor: f64,
    step: u64,
    buffers: &mut [RawTensor],
    p: &mut RawTensor,
    grad: &RawTensor,
) -> Result<()> {
    let g = grad.as_slice::<T>().unwrap_or_default();
    let p = own::<T>(p);
    let lr = rule.lr() * lr_factor;
    // Coefficients are made in f64 and rounded once.
    let c = T::from_f64;
    let adam = |r: &Adam, shrink: f64, decay: f64| {
        let t = i32::try_from(step).unwrap_or(i32::MAX);
        AdamStep {
            shrink: c(shrink),
            decay: c(decay),
            w1: c(1.0 - r.beta1),
            beta2: c(r.beta2),
            w2: c(1.0 - r.beta2),
            step: c(lr / (1.0 - r.beta1.powi(t))),
            root: c((1.0 - r.beta2.powi(t)).sqrt()),
            eps: c(r.eps),
        }
    };
    match (rule, buffers) {
        (Rule::Sgd(r), []) => T::sgd(p, g, c(lr), c(r.weight_decay)),
        (Rule::Sgd(Sgd { momentum, dampening, weight_decay, nesterov, .. }), [b, ..]) => {
            let step = SgdStep {
                lr: c(lr),
                momentum: c(*momentum),
                fresh: c(1.0 - dampening),
                decay: c(*weight_decay),
                nesterov: *nesterov,
                first: step == 1,
            };
            T::momentum(p, own(b), g, step);
        }
        (Rule::Adam(r), [m, v, ..]) => T::adam(p, own(m), own(v), g, adam(r, 1.0, r.weight_decay)),
        (Rule::AdamW(AdamW(r)), [m, v, ..]) => T::adam(p, own(m), own(v), g, adam(r, 1.0 - lr * r.weight_decay, 0.0)),
        (Rule::Adam(_) | Rule::AdamW(_), _) => unreachable!("the caller gives every rule its buffers"),
    }
    Ok(())
}
