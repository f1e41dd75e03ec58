//! The backward pass: iterative, deterministic, freeing interior gradients as it goes.

use super::Grads;
use super::node::{NodeRef, grad_mode};
use crate::error::{Error, Result};
use crate::raw::{RawTensor, arith};
use forge_kernels::team;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// How a backward pass treats the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backward {
    retain: bool,
    create_graph: bool,
}

impl Backward {
    /// Keeps the graph and what it saved, so that another loss over the same values can follow.
    #[must_use]
    pub fn retain() -> Self {
        Self { retain: true, create_graph: false }
    }

    /// Records the pass itself, so that its gradients can be differentiated again. Implies [`Self::retain`].
    #[must_use]
    pub fn create_graph() -> Self {
        Self { retain: true, create_graph: true }
    }
}

/// Node ids are consecutive numbers: multiplying by an odd constant spreads them well enough.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.write_u64(u64::from(b));
        }
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0 ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// The place of a node in the pass.
struct Stop<'g> {
    node: &'g NodeRef,
    /// Edges from consumers that have not delivered yet.
    pending: usize,
    grad: Option<RawTensor>,
    /// Where in [`Lists::edges`] its inputs stand.
    edges: usize,
}

/// An input without a gradient, among the edges.
const NO_EDGE: u32 = u32::MAX;

/// The lists of one pass, by place. A thread keeps them for its next one: a small graph costs few allocations.
#[derive(Default)]
struct Lists {
    /// Places by the ids of nodes; empty while there are so few that looking at each is faster.
    places: HashMap<u64, u32, BuildHasherDefault<IdHasher>>,
    edges: Vec<u32>,
    ready: Vec<u32>,
    /// What was ready when the wave began.
    wave: Vec<u32>,
}

thread_local! {
    static LISTS: Cell<Option<Box<Lists>>> = const { Cell::new(None) };
}

impl Lists {
    /// Lists of more nodes than this are not kept.
    const KEPT: usize = 1 << 12;
    /// From so many nodes on, `places` is used.
    const FEW: usize = 16;

    /// Runs `f` with empty lists.
    fn with<R>(f: impl FnOnce(&mut Self) -> R) -> R {
        let mut lists = LISTS.take().unwrap_or_default();
        let r = f(&mut lists);
        if lists.places.capacity() <= Self::KEPT {
            lists.places.clear();
            lists.edges.clear();
            lists.ready.clear();
            lists.wave.clear();
            LISTS.set(Some(lists));
        }
        r
    }

    /// Every node below the roots, with the number of edges that lead to it.
    fn discover<'g>(&mut self, roots: &[(&'g RawTensor, RawTensor)]) -> Vec<Stop<'g>> {
        let mut stops: Vec<Stop<'g>> = Vec::with_capacity(8);
        for node in roots.iter().filter_map(|(t, _)| t.node.as_ref()) {
            self.place(node, &mut stops);
        }
        let mut next = 0;
        while next < stops.len() {
            let node = stops[next].node;
            stops[next].edges = self.edges.len();
            for input in node.inputs() {
                let to = input.as_ref().map_or(NO_EDGE, |n| self.place(n, &mut stops));
                if to != NO_EDGE {
                    stops[to as usize].pending += 1;
                }
                self.edges.push(to);
            }
            next += 1;
        }
        stops
    }

    /// Where `node` stands; it gets a place when it has none.
    fn place<'g>(&mut self, node: &'g NodeRef, stops: &mut Vec<Stop<'g>>) -> u32 {
        let id = node.id();
        let known = if self.places.is_empty() {
            stops.iter().position(|s| s.node.id() == id).map(|i| i as u32)
        } else {
            self.places.get(&id).copied()
        };
        known.unwrap_or_else(|| {
            let place = stops.len() as u32;
            assert!(place != NO_EDGE, "a graph of fewer than 2^32 nodes");
            stops.push(Stop { node, pending: 0, grad: None, edges: 0 });
            if stops.len() == Self::FEW {
                self.places.extend(stops.iter().zip(0..).map(|(s, i)| (s.node.id(), i)));
            } else if stops.len() > Self::FEW {
                self.places.insert(id, place);
            }
            place
        })
    }
}

fn deliver(to: &mut Stop, g: RawTensor, how: Backward) -> Result<()> {
    to.grad = Some(match to.grad.take() {
        Some(old) => grad_mode(how.create_graph, || arith::accumulate(old, &g))?,
        None => g,
    });
    Ok(())
}

/// A node that is ready, with its gradient and, once run, its inputs' gradients.
struct Job<'g> {
    node: &'g NodeRef,
    /// Where its inputs stand among the edges.
    edges: usize,
    grad: Option<RawTensor>,
    result: Result<()>,
    /// Gradients of up to three inputs.
    few: [Option<RawTensor>; 3],
    /// Gradients of more inputs than that.
    many: Vec<Option<RawTensor>>,
    extra: Grads,
}

impl<'g> Job<'g> {
    fn new(stop: &mut Stop<'g>) -> Self {
        let n = stop.node.inputs().len();
        Self {
            node: stop.node,
            edges: stop.edges,
            grad: stop.grad.take(),
            result: Ok(()),
            few: [None, None, None],
            many: if n > 3 { vec![None; n] } else { Vec::new() },
            extra: Grads::default(),
        }
    }

    fn run(&mut self, how: Backward) {
        if let Some(g) = self.grad.take() {
            let n = self.node.inputs().len();
            let out = if n > 3 { &mut self.many[..] } else { &mut self.few[..n] };
            let extra = RefCell::new(Grads::default());
            self.result = grad_mode(how.create_graph, || self.node.pull(&g, out, &extra, !how.retain));
            self.extra = extra.into_inner();
        } else if !how.retain {
            self.node.release();
        }
    }

    /// Hands the gradients on, and notes the inputs that are ready now.
    fn deliver(&mut self, stops: &mut [Stop], edges: &[u32], ready: &mut Vec<u32>, how: Backward) -> Result<()> {
        std::mem::replace(&mut self.result, Ok(()))?;
        let out = if self.many.is_empty() { &mut self.few[..] } else { &mut self.many[..] };
        for (&place, g) in edges[self.edges..].iter().zip(&mut out[..self.node.inputs().len()]) {
            if place == NO_EDGE {
                continue;
            }
            let to = &mut stops[place as usize];
            if let Some(g) = g.take() {
                deliver(to, g, how)?;
            }
            to.pending -= 1;
            if to.pending == 0 {
                ready.push(place);
            }
        }
        Ok(())
    }
}

/// Gradients as the pass finds them: noted in any order, and sorted before another way to add to them.
#[derive(Default)]
struct Found {
    grads: Grads,
    sorted: bool,
}

impl Found {
    fn leaf(&mut self, id: u64, g: RawTensor) -> Result<()> {
        if self.sorted {
            return self.grads.add(id, g);
        }
        self.grads.push(id, g);
        Ok(())
    }

    fn extra(&mut self, extra: Grads) -> Result<()> {
        if extra.is_empty() {
            return Ok(());
        }
        self.sort();
        self.grads.merge(extra)
    }

    fn sort(&mut self) {
        if !self.sorted {
            self.grads.sort();
            self.sorted = true;
        }
    }
}

/// Whether the ready nodes pay for running side by side: several, each too small for its kernels to use the team.
fn side_by_side(jobs: &[Job]) -> bool {
    let sizes = || jobs.iter().map(|j| j.grad.as_ref().map_or(0, RawTensor::len));
    jobs.len() > 1 && sizes().max() < Some(1 << 15) && sizes().sum::<usize>() > 1 << 14
}

/// Gradients of every parameter that the roots depend on, each root seeded with the gradient beside it.
///
/// Nodes run in waves: all that are ready, then all that those made ready. The order in which contributions to one
/// gradient are added follows from the graph alone, so the bits do not depend on threads.
///
/// # Errors
/// [`Error::NoGraph`] when no root requires a gradient, [`Error::GraphConsumed`] when a node was already freed by an
/// earlier pass.
pub fn backward_raw(roots: &[(&RawTensor, RawTensor)], how: Backward) -> Result<Grads> {
    backward_above(roots, how, 0)
}

/// [`backward_raw`] that refuses to pass through a node older than `floor`; parameters may be older.
pub(crate) fn backward_above(roots: &[(&RawTensor, RawTensor)], how: Backward, floor: u64) -> Result<Grads> {
    if roots.iter().all(|(t, _)| t.node.is_none()) {
        return Err(Error::NoGraph);
    }
    Lists::with(|lists| pass(roots, how, floor, lists))
}

fn pass(roots: &[(&RawTensor, RawTensor)], how: Backward, floor: u64, lists: &mut Lists) -> Result<Grads> {
    let mut stops = lists.discover(roots);
    let mut found = Found::default();
    for (n, seed) in roots.iter().filter_map(|(t, seed)| Some((t.node.as_ref()?, seed))) {
        let place = lists.place(n, &mut stops);
        let stop = &mut stops[place as usize];
        if stop.grad.is_none() && stop.pending == 0 {
            lists.ready.push(place);
        }
        deliver(stop, seed.clone(), how)?;
    }
    let Lists { edges, ready, wave, .. } = lists;
    let mut jobs: Vec<Job> = Vec::new();
    while !ready.is_empty() {
        std::mem::swap(ready, wave);
        for place in wave.drain(..) {
            let stop = &mut stops[place as usize];
            if stop.node.is_leaf() {
                if let Some(g) = stop.grad.take() {
                    found.leaf(stop.node.id(), g)?;
                }
            } else if stop.node.id() < floor {
                return Err(Error::Gradient {
                    op: "checkpoint",
                    what:
                        "the function captured a value that is itself computed from parameters; pass it in as an input"
                            .into(),
                });
            } else {
                jobs.push(Job::new(stop));
            }
        }
        if side_by_side(&jobs) {
            team::for_each_chunk(&mut jobs, 1, |_, job| job[0].run(how));
        } else {
            jobs.iter_mut().for_each(|j| j.run(how));
        }
        for job in &mut jobs {
            job.deliver(&mut stops, edges, ready, how)?;
            found.extra(std::mem::take(&mut job.extra))?;
        }
        jobs.clear();
    }
    found.sort();
    Ok(found.grads)
}
