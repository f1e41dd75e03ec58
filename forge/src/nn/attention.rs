//! [`Attention`]: the attention block of a transformer.

use super::Module;
use super::debug::debug_layer;
use super::init::{filled, kaiming_uniform};
use super::param::Param;
use crate::axes::{Head, HeadDim, Key, KvHead, Model, Rest, Seq};
use crate::dtype::Differentiable;
use crate::error::{Error, Result, raise};
use crate::rng;
use crate::tensor::{Tensor, sizes, wrap};
use crate::{Attention as Attend, Rope};
use forge_axes::{Axes, Axis, Distinct, Has, Lacks, SizeArg, SubsetOf};
use forge_macros::fallible;

/// How many heads an [`Attention`] has, and how wide they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Heads of queries.
    pub query: usize,
    /// Heads of keys and values; each serves `query / kv` neighbouring heads of queries.
    pub kv: usize,
    /// Width of a head.
    pub dim: usize,
}

impl Heads {
    /// `heads` heads of width `dim`, each with keys and values of its own.
    #[must_use]
    pub fn new(heads: usize, dim: usize) -> Self {
        Self { query: heads, kv: heads, dim }
    }

    /// The same with `kv` heads of keys and values, shared in groups
    /// ([Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)).
    #[must_use]
    pub fn kv(self, kv: usize) -> Self {
        Self { kv, ..self }
    }
}

/// Attention of a sequence to itself ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762)): queries, keys and values
/// are linear maps of the input along the axis `M`, and the heads' results are mapped back to it. Scores are scaled by
/// `1 / sqrt(dim)`.
///
/// The axis of positions is named where the block is used; all axes beside it and `M` are examples. Nothing is written
/// for a batch.
///
/// ```
/// use forge::axes::{Batch, Model, Seq};
/// use forge::nn::{Attention, Heads};
/// use forge::prelude::*;
/// use forge::rng::Key;
/// use forge::Rope;
/// // Four heads of queries share two of keys and values; each position sees itself and those before.
/// let heads = Heads::new(4, 8).kv(2);
/// let block = Attention::<Model>::new(16, heads, Key::new(0)).causal().rope(Rope::new(8, 10_000.0));
/// let x = Tensor::<(Batch, Seq, Model)>::from_fn((2, 5, 16), |i| (i as f32).sin());
/// let y = block.forward(&x, Seq); // Tensor<(Batch, Seq, Model)>
/// // What comes later changes nothing.
/// let start = block.forward(&x.narrow(Seq, 0..3), Seq);
/// let gap = &start - &y.narrow(Seq, 0..3);
/// assert!(gap.abs().sum_all().item() < 1e-5);
/// ```
#[derive(Clone, Module)]
pub struct Attention<M: Axis, D: Differentiable = f32> {
    /// Makes queries.
    pub q: Param<(M, Head, HeadDim), D>,
    /// Makes keys.
    pub k: Param<(M, KvHead, HeadDim), D>,
    /// Makes values.
    pub v: Param<(M, KvHead, HeadDim), D>,
    /// Maps the heads' results back.
    pub out: Param<(Head, HeadDim, M), D>,
    /// What is added to each of the four, if anything.
    pub bias: Option<AttentionBias<M, D>>,
    #[module(skip)]
    causal: bool,
    #[module(skip)]
    window: Option<usize>,
    #[module(skip)]
    rope: Option<Rope>,
}

debug_layer!(Attention<M: Axis, D: Differentiable>);

/// The biases of an [`Attention`].
#[derive(Clone, Module)]
pub struct AttentionBias<M: Axis, D: Differentiable = f32> {
    /// Added to queries.
    pub q: Param<(Head, HeadDim), D>,
    /// Added to keys.
    pub k: Param<(KvHead, HeadDim), D>,
    /// Added to values.
    pub v: Param<(KvHead, HeadDim), D>,
    /// Added to the result.
    pub out: Param<M, D>,
}

debug_layer!(AttentionBias<M: Axis, D: Differentiable>);

impl<M: Axis, D: Differentiable> Attention<M, D>
where
    (M, Head, HeadDim): Distinct,
    (M, KvHead, HeadDim): Distinct,
    (Head, HeadDim, M): Distinct,
{
    /// A block for the size `model` of the axis `M`, without biases, that sees the whole sequence.
    ///
    /// Each map starts uniform with magnitude below `sqrt(1 / inputs)`, as [`Linear`](super::Linear); the numbers come
    /// from `key.derive("q")`, `"k"`, `"v"` and `"out"`.
    ///
    /// # Errors
    /// When the heads of queries are no multiple of those of keys, or there are none.
    #[fallible]
    pub fn new(model: SizeArg<M>, heads: Heads, key: rng::Key) -> Self {
        let Heads { query, kv, dim } = heads;
        if kv == 0 || query == 0 || query % kv != 0 {
            let what = format!("{query} heads of queries cannot share {kv} heads of keys equally");
            return Err(Error::argument("Attention", what));
        }
        let fan_in = sizes::<M>(model).0[0];
        Ok(Self {
            q: Param::new(kaiming_uniform((model, query, dim), fan_in, key.derive("q"))?),
            k: Param::new(kaiming_uniform((model, kv, dim), fan_in, key.derive("k"))?),
            v: Param::new(kaiming_uniform((model, kv, dim), fan_in, key.derive("v"))?),
            out: Param::new(kaiming_uniform((query, dim, model), query * dim, key.derive("out"))?),
            bias: None,
            causal: false,
            window: None,
            rope: None,
        })
    }

    /// The same with biases, which start at 0.
    #[must_use]
    pub fn with_bias(self) -> Self {
        let (q, k) = (self.q.shape(), self.k.shape());
        let model = self.model();
        let kv = (k[1], k[2]);
        let bias = AttentionBias {
            q: Param::new(filled((q[1], q[2]), 0.0)),
            k: Param::new(filled(kv, 0.0)),
            v: Param::new(filled(kv, 0.0)),
            out: Param::new(filled(model, 0.0)),
        };
        Self { bias: Some(bias), ..self }
    }

    fn model(&self) -> SizeArg<M> {
        <M::Size as forge_axes::Size>::arg::<M>(self.q.shape()[0])
    }
}

impl<M: Axis, D: Differentiable> Attention<M, D> {
    /// The same, where each position sees itself and those before.
    #[must_use]
    pub fn causal(self) -> Self {
        Self { causal: true, ..self }
    }

    /// The same, where a position sees only those less than `width` away (itself is 0 away).
    #[must_use]
    pub fn window(self, width: usize) -> Self {
        Self { window: Some(width), ..self }
    }

    /// The same with queries and keys turned by their positions, 0 for the first.
    #[must_use]
    pub fn rope(self, rope: Rope) -> Self {
        Self { rope: Some(rope), ..self }
    }

    /// Number and width of the heads.
    pub fn heads(&self) -> Heads {
        Heads { query: self.q.shape()[1], kv: self.k.shape()[1], dim: self.q.shape()[2] }
    }

    /// Each position along `seq` attends to the others. The axes of `x` stay as they are, in their order.
    ///
    /// # Errors
    /// When `x`'s axis `M` has another size than the block's, or the rotary embedding turns more features than a head has.
    #[fallible]
    pub fn forward<X: Axes + Has<M> + Has<S>, S: Axis>(&self, x: &Tensor<X, D>, seq: S) -> Tensor<X, D>
    where
        (S, M): SubsetOf<X> + Distinct + Lacks<Rest>,
    {
        if x.size(M::default()) != self.q.shape()[0] {
            let at = crate::tensor::position::<X, M>();
            let names = crate::tensor::names::<X, (M, Head, HeadDim)>();
            return Err(names.mismatch("attention", (x.raw(), at), (self.q.raw(), 0)));
        }
        let table = self.rope.as_ref().map(|r| r.table(0..x.size(seq) as i64));
        if let Some(t) = &table
            && t.dims() > self.q.shape()[2]
        {
            let what = format!("the rotary embedding turns {} features, a head has {}", t.dims(), self.q.shape()[2]);
            return Err(Error::argument("attention", what));
        }
        x.try_over::<(S, M)>(|x| self.attend(&called(x), table.as_ref()).map_or_else(|e| raise(e), |y| called(&y)))
    }

    /// The block under the shared vocabulary's names. All sizes are known to fit.
    fn attend(
        &self,
        x: &Tensor<(Rest, Seq, Model), D>,
        table: Option<&crate::RopeTable>,
    ) -> Result<Tensor<(Rest, Seq, Model), D>> {
        let mut q = x.try_dot(&called::<(Model, Head, HeadDim), _, _>(&self.q), Model)?;
        let mut k = x.try_dot(&called::<(Model, KvHead, HeadDim), _, _>(&self.k), Model)?.rename(Seq, Key);
        let mut v = x.try_dot(&called::<(Model, KvHead, HeadDim), _, _>(&self.v), Model)?.rename(Seq, Key);
        if let Some(b) = &self.bias {
            q = q + &*b.q;
            k = k + &*b.k;
            v = v + &*b.v;
        }
        if let Some(table) = table {
            q = q.try_rope(Seq, HeadDim, table)?;
            k = k.try_rope(Key, HeadDim, table)?;
        }
        let how = if self.causal { Attend::causal() } else { Attend::full() };
        let y = q.try_attention(&k, &v, self.window.map_or(how, |width| how.window(width)))?;
        let y = y.try_dot(&called::<(Head, HeadDim, Model), _, _>(&self.out), (Head, HeadDim))?;
        Ok(match &self.bias {
            Some(b) => y + &called::<Model, _, _>(&b.out),
            None => y,
        })
    }
}

/// `x` with other names for its axes, one for one.
fn called<Y: Axes, X: Axes, D: Differentiable>(x: &Tensor<X, D>) -> Tensor<Y, D> {
    wrap(x.raw().clone())
}
