//! Nodes of the graph: how an operation records its derivative.

use super::Grads;
use crate::error::{Error, Result};
use crate::raw::RawTensor;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// What a vector-Jacobian product sees: the gradient of the output and which inputs want one.
pub(crate) struct Pull<'a> {
    /// Gradient of the output, with the output's shape and dtype.
    pub grad: &'a RawTensor,
    node: &'a NodeRef,
    /// Gradients of parameters that are not among the inputs.
    extra: &'a RefCell<Grads>,
}

impl Pull<'_> {
    /// Whether input `i` wants a gradient.
    pub fn needs(&self, i: usize) -> bool {
        self.node.inputs().get(i).is_some_and(Option::is_some)
    }

    /// Adds gradients of parameters that the operation used without having them as inputs (see `checkpoint`).
    pub fn extra(&self, grads: Grads) -> Result<()> {
        self.extra.borrow_mut().merge(grads)
    }

    /// A saved output of the node, joined to the graph again when the pass itself is recorded (double backward).
    pub fn output(&self, saved: &RawTensor) -> RawTensor {
        let mut t = saved.detach();
        if grad_enabled() {
            t.node = Some(self.node.clone());
        }
        t
    }
}

/// The derivative of one operation: gradients of the inputs from the gradient of the output.
pub(crate) trait Vjp: Send + Sync {
    /// Writes the gradient of each input that wants one.
    fn pull(&self, cx: &Pull, out: &mut [Option<RawTensor>]) -> Result<()>;
    /// Frees what was saved; a later `pull` is an error.
    fn release(&self);
    /// Whether this is a leaf: a parameter, which collects a gradient.
    fn is_leaf(&self) -> bool {
        false
    }
}

struct Fixed<F, const N: usize>(RwLock<Option<F>>);

impl<F, const N: usize> Vjp for Fixed<F, N>
where
    F: Fn(&Pull) -> Result<[Option<RawTensor>; N]> + Send + Sync,
{
    fn pull(&self, cx: &Pull, out: &mut [Option<RawTensor>]) -> Result<()> {
        let f = self.0.read().unwrap_or_else(|e| e.into_inner());
        let grads = f.as_ref().ok_or(Error::GraphConsumed)?(cx)?;
        for (o, g) in out.iter_mut().zip(grads) {
            *o = g;
        }
        Ok(())
    }
    fn release(&self) {
        let f = self.0.write().unwrap_or_else(|e| e.into_inner()).take();
        drop(f);
    }
}

struct Many<F>(RwLock<Option<F>>);

impl<F> Vjp for Many<F>
where
    F: Fn(&Pull, &mut [Option<RawTensor>]) -> Result<()> + Send + Sync,
{
    fn pull(&self, cx: &Pull, out: &mut [Option<RawTensor>]) -> Result<()> {
        let f = self.0.read().unwrap_or_else(|e| e.into_inner());
        f.as_ref().ok_or(Error::GraphConsumed)?(cx, out)
    }
    fn release(&self) {
        let f = self.0.write().unwrap_or_else(|e| e.into_inner()).take();
        drop(f);
    }
}

struct Leaf;

impl Vjp for Leaf {
    fn pull(&self, _: &Pull, _: &mut [Option<RawTensor>]) -> Result<()> {
        Ok(())
    }
    fn release(&self) {}
    fn is_leaf(&self) -> bool {
        true
    }
}

/// Inputs of a node: up to three without an allocation.
enum Inputs {
    Few(u8, [Option<NodeRef>; 3]),
    Many(Vec<Option<NodeRef>>),
}

struct Node<V: ?Sized> {
    id: u64,
    inputs: Inputs,
    vjp: V,
}

/// A shared node. Dropping the last handle of a long chain does not recurse.
#[derive(Clone)]
pub(crate) struct NodeRef(Option<Arc<Node<dyn Vjp>>>);

thread_local! {
    /// `Some(seen)` while [`probe`] runs.
    static PROBE: Cell<Option<bool>> = const { Cell::new(None) };
    static ENABLED: Cell<bool> = const { Cell::new(true) };
    /// `Some` while a graph is being dropped on this thread: handles to drop wait here.
    static DROPPING: RefCell<Option<Vec<Arc<Node<dyn Vjp>>>>> = const { RefCell::new(None) };
}

impl Drop for NodeRef {
    fn drop(&mut self) {
        let Some(node) = self.0.take() else { return };
        // Only the last owner can start a chain of drops. (Two owners that drop at once may both see 2 here and drop
        // the plain way; the chain below them still comes through this function.)
        if Arc::strong_count(&node) > 1 {
            return;
        }
        let mut node = Some(node);
        // An inner drop of the same thread hands its node to the loop below; at thread end there is no list left.
        let outermost = DROPPING
            .try_with(|d| {
                let mut d = d.borrow_mut();
                match &mut *d {
                    Some(list) => {
                        list.extend(node.take());
                        false
                    }
                    None => {
                        *d = Some(Vec::new());
                        true
                    }
                }
            })
            .unwrap_or(false);
        if !outermost {
            return;
        }
        drop(node);
        loop {
            let next = DROPPING.with(|d| d.borrow_mut().as_mut().and_then(Vec::pop));
            match next {
                Some(n) => drop(n),
                None => break,
            }
        }
        DROPPING.with(|d| *d.borrow_mut() = None);
    }
}

impl NodeRef {
    fn node(&self) -> &Node<dyn Vjp> {
        self.0.as_ref().expect("present until dropped")
    }

    /// A number that grows with the time of creation.
    pub fn id(&self) -> u64 {
        self.node().id
    }

    /// The nodes of the inputs; `None` for an input without a gradient.
    pub fn inputs(&self) -> &[Option<NodeRef>] {
        match &self.node().inputs {
            Inputs::Few(n, few) => &few[..*n as usize],
            Inputs::Many(v) => v,
        }
    }

    /// Whether this is a parameter.
    pub fn is_leaf(&self) -> bool {
        self.node().vjp.is_leaf()
    }

    /// Gradients of the inputs.
    pub fn pull(&self, grad: &RawTensor, out: &mut [Option<RawTensor>], extra: &RefCell<Grads>) -> Result<()> {
        self.node().vjp.pull(&Pull { grad, node: self, extra }, out)
    }

    /// Frees the saved values.
    pub fn release(&self) {
        self.node().vjp.release();
    }
}

fn wrap<V: Vjp + 'static>(inputs: Inputs, vjp: V) -> NodeRef {
    NodeRef(Some(Arc::new(Node { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), inputs, vjp })))
}

/// A new leaf.
pub(crate) fn leaf() -> NodeRef {
    wrap(Inputs::Few(0, [None, None, None]), Leaf)
}

/// Whether operations are being recorded on this thread.
#[inline]
pub(crate) fn grad_enabled() -> bool {
    ENABLED.get()
}

/// Whether an operation on `inputs` must be recorded.
#[inline]
pub(crate) fn tracks(inputs: &[&RawTensor]) -> bool {
    inputs.iter().any(|t| t.node.is_some()) && wanted()
}

/// Whether an operation on a tracked input is recorded; tells a running [`probe`] that there was one.
fn wanted() -> bool {
    if PROBE.get().is_some() {
        PROBE.set(Some(true));
    }
    grad_enabled()
}

/// Runs `f` without recording and says whether an operation inside had a tracked input.
pub(crate) fn probe<R>(f: impl FnOnce() -> R) -> (R, bool) {
    struct Restore(Option<bool>);
    impl Drop for Restore {
        fn drop(&mut self) {
            // What an inner probe saw, the outer one saw too.
            let seen = PROBE.get() == Some(true);
            PROBE.set(self.0.map(|outer| outer || seen));
        }
    }
    let _restore = Restore(PROBE.replace(Some(false)));
    let r = no_grad(f);
    (r, PROBE.get() == Some(true))
}

/// The id that the next node will have, or a later one.
pub(crate) fn next_id() -> u64 {
    NEXT_ID.load(Ordering::Relaxed)
}

/// Joins `out` to the graph below `inputs`; `vjp` gives the gradient of each input (`None` where none is wanted).
///
/// Call it only when [`tracks`] says so.
pub(crate) fn record<const N: usize>(
    mut out: RawTensor,
    inputs: [&RawTensor; N],
    vjp: impl Fn(&Pull) -> Result<[Option<RawTensor>; N]> + Send + Sync + 'static,
) -> RawTensor {
    let inputs = if N <= 3 {
        let mut few = [None, None, None];
        for (f, t) in few.iter_mut().zip(inputs) {
            f.clone_from(&t.node);
        }
        Inputs::Few(N as u8, few)
    } else {
        Inputs::Many(inputs.iter().map(|t| t.node.clone()).collect())
    };
    out.node = Some(wrap(inputs, Fixed::<_, N>(RwLock::new(Some(vjp)))));
    out
}

/// [`record`] for any number of inputs.
pub(crate) fn record_many(
    mut out: RawTensor,
    inputs: &[&RawTensor],
    vjp: impl Fn(&Pull, &mut [Option<RawTensor>]) -> Result<()> + Send + Sync + 'static,
) -> RawTensor {
    let inputs = Inputs::Many(inputs.iter().map(|t| t.node.clone()).collect());
    out.node = Some(wrap(inputs, Many(RwLock::new(Some(vjp)))));
    out
}

/// Runs `f` with recording switched to `on`, restoring the old state even when `f` panics.
pub(crate) fn grad_mode<R>(on: bool, f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            ENABLED.set(self.0);
        }
    }
    let _restore = Restore(ENABLED.replace(on));
    f()
}

/// Runs `f` without recording: no nodes, no saved values.
///
/// ```
/// use forge::prelude::*;
/// let w = Tensor::<()>::scalar(3.0).requires_grad();
/// let y = no_grad(|| &w * &w);
/// assert!(!y.is_tracked());
/// ```
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    grad_mode(false, f)
}

/// Runs `f` with recording on, also inside [`no_grad`].
pub fn with_grad<R>(f: impl FnOnce() -> R) -> R {
    grad_mode(true, f)
}
