//! The backward pass: iterative, deterministic, freeing interior gradients as it goes.

use super::Grads;
use super::node::{NodeRef, grad_mode};
use crate::error::{Error, Result};
use crate::raw::{RawTensor, arith};
use forge_kernels::team;
use std::cell::RefCell;
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

struct Entry {
    /// Edges from consumers that have not delivered yet.
    pending: usize,
    grad: Option<RawTensor>,
}

type Entries = HashMap<u64, Entry, BuildHasherDefault<IdHasher>>;

/// Every node below the roots, with the number of edges that lead to it.
fn discover(roots: &[(NodeRef, RawTensor)]) -> Entries {
    let mut entries = Entries::default();
    let mut stack: Vec<NodeRef> = Vec::new();
    let visit = |n: &NodeRef, edge: usize, entries: &mut Entries, stack: &mut Vec<NodeRef>| {
        let e = entries.entry(n.id()).or_insert_with(|| {
            stack.push(n.clone());
            Entry { pending: 0, grad: None }
        });
        e.pending += edge;
    };
    for (n, _) in roots {
        visit(n, 0, &mut entries, &mut stack);
        while let Some(n) = stack.pop() {
            for input in n.inputs().iter().flatten() {
                visit(input, 1, &mut entries, &mut stack);
            }
        }
    }
    entries
}

fn deliver(e: &mut Entry, g: RawTensor) -> Result<()> {
    e.grad = Some(match e.grad.take() {
        Some(old) => arith::accumulate(old, &g)?,
        None => g,
    });
    Ok(())
}

/// A node that is ready, with its gradient and, once run, its inputs' gradients.
struct Job {
    node: NodeRef,
    grad: Option<RawTensor>,
    out: Result<Vec<Option<RawTensor>>>,
    extra: Grads,
}

impl Job {
    fn run(&mut self, how: Backward) {
        let mut out = vec![None; self.node.inputs().len()];
        let extra = RefCell::new(Grads::default());
        let r = match self.grad.take() {
            Some(g) => grad_mode(how.create_graph, || self.node.pull(&g, &mut out, &extra)),
            None => Ok(()),
        };
        self.extra = extra.into_inner();
        if !how.retain {
            self.node.release();
        }
        self.out = r.map(|()| out);
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
    let roots: Vec<(NodeRef, RawTensor)> =
        roots.iter().filter_map(|(t, g)| Some((t.node.clone()?, g.clone()))).collect();
    if roots.is_empty() {
        return Err(Error::NoGraph);
    }
    let mut entries = discover(&roots);
    let mut grads = Grads::default();
    let mut ready: Vec<NodeRef> = Vec::new();
    for (n, seed) in roots {
        let e = entries.get_mut(&n.id()).expect("a root was discovered");
        if e.grad.is_none() && e.pending == 0 {
            ready.push(n);
        }
        grad_mode(how.create_graph, || deliver(e, seed))?;
    }
    while !ready.is_empty() {
        let mut jobs = Vec::with_capacity(ready.len());
        for node in ready.drain(..) {
            let e = entries.remove(&node.id()).expect("a ready node was discovered");
            if node.is_leaf() {
                if let Some(g) = e.grad {
                    grads.add_leaf(&node, g)?;
                }
            } else if node.id() < floor {
                return Err(Error::Gradient {
                    op: "checkpoint",
                    what:
                        "the function captured a value that is itself computed from parameters; pass it in as an input"
                            .into(),
                });
            } else {
                jobs.push(Job { node, grad: e.grad, out: Ok(Vec::new()), extra: Grads::default() });
            }
        }
        if side_by_side(&jobs) {
            team::for_each_chunk(&mut jobs, 1, |_, job| job[0].run(how));
        } else {
            jobs.iter_mut().for_each(|j| j.run(how));
        }
        for job in jobs {
            let mut out = job.out?;
            grads.merge(job.extra)?;
            for (i, input) in job.node.inputs().iter().enumerate() {
                let Some(input) = input else { continue };
                let e = entries.get_mut(&input.id()).expect("an input was discovered");
                if let Some(g) = out[i].take() {
                    grad_mode(how.create_graph, || deliver(e, g))?;
                }
                e.pending -= 1;
                if e.pending == 0 {
                    ready.push(input.clone());
                }
            }
        }
    }
    Ok(grads)
}
