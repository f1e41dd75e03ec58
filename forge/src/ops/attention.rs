//! Attention by axis name.

use crate::DynTensor;
use crate::axes::{Head, HeadDim, Key, KvHead, Seq, Token};
use crate::dtype::{Dtype, Float};
use crate::error::{Error, Result};
use crate::raw::attention::{self as raw, AttentionArgs, Roles, Span};
use crate::tensor::{Tensor, wrap};
use forge_axes::plan::{NONE, pos};
use forge_axes::{Axes, Axis, Has, Key as AxisKey, Minus, Remove, Replace, SubsetOf, Union, list_ops};
use forge_macros::fallible;
use std::marker::PhantomData;

/// What [`Tensor::attention`] looks at, and which axis plays which part.
///
/// Queries have a position (`S`), a head (`H`) and a width (`E`); keys a position (`K`), a head (`G`) and the same
/// width; values the keys' position and head and a width of their own (`F`). By default these are
/// [`Seq`], [`Head`] and [`HeadDim`] for queries, [`Key`], [`KvHead`] and [`HeadDim`] for keys and values;
/// [`Self::axes`] names others. `M` are the axes of the bias.
///
/// ```
/// use forge::Attention;
/// use forge::axes::{Batch, Head, HeadDim, Key, KvHead, Seq};
/// use forge::prelude::*;
/// let q = Tensor::<(Batch, Seq, Head, HeadDim)>::ones((2, 3, 4, 8));
/// let k = Tensor::<(Batch, Key, KvHead, HeadDim)>::ones((2, 5, 2, 8));
/// let v = k.clone();
/// let y: Tensor<(Batch, Seq, Head, HeadDim)> = q.attention(&k, &v, Attention::causal());
/// assert_eq!(y.shape(), [2, 3, 4, 8]);
/// ```
pub struct Attention<'a, D = f32, S = Seq, H = Head, E = HeadDim, K = Key, G = KvHead, F = HeadDim, M = ()> {
    args: AttentionArgs<'a>,
    axes: PhantomData<fn() -> (D, S, H, E, K, G, F, M)>,
}

impl<D, S, H, E, K, G, F, M> Clone for Attention<'_, D, S, H, E, K, G, F, M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D, S, H, E, K, G, F, M> Copy for Attention<'_, D, S, H, E, K, G, F, M> {}

impl<'a, D: Dtype> Attention<'a, D> {
    /// Every query sees every key.
    #[must_use]
    pub fn full() -> Self {
        Self { args: AttentionArgs::default(), axes: PhantomData }
    }

    /// A query sees the key at its own place and those before. The last query stands at the last key (so queries may
    /// be fewer than keys, of which the first come from a cache); [`Self::offset`] places them elsewhere.
    #[must_use]
    pub fn causal() -> Self {
        Self { args: AttentionArgs { causal: true, ..AttentionArgs::default() }, axes: PhantomData }
    }

    /// Causal attention within each of several sequences that lie end to end along the one axis [`Token`], which queries
    /// and keys share: see [`Self::spans`].
    #[must_use]
    pub fn ragged(spans: &'a [Span]) -> Attention<'a, D, Token, Head, HeadDim, Token, KvHead, HeadDim> {
        Self::causal().spans(spans).with()
    }
}

impl<'a, D: Dtype, S, H, E, K, G, F, M> Attention<'a, D, S, H, E, K, G, F, M> {
    fn with<S2, H2, E2, K2, G2, F2, M2>(self) -> Attention<'a, D, S2, H2, E2, K2, G2, F2, M2> {
        Attention { args: self.args, axes: PhantomData }
    }

    fn set(self, f: impl FnOnce(&mut AttentionArgs<'a>)) -> Self {
        let mut args = self.args;
        f(&mut args);
        Self { args, axes: PhantomData }
    }

    /// Names the axes: position, head and width of the queries, then of the keys. The values have the keys' position and
    /// head, and their width unless [`Self::value_axis`] says otherwise. Keys may be called as queries are, where both
    /// run over one axis.
    #[must_use]
    pub fn axes<S2: Axis, H2: Axis, E2: Axis, K2: Axis, G2: Axis>(
        self,
        queries: (S2, H2, E2),
        keys: (K2, G2, E2),
    ) -> Attention<'a, D, S2, H2, E2, K2, G2, E2, M> {
        let _ = (queries, keys);
        self.with()
    }

    /// The width of the values is another axis than that of queries and keys.
    #[must_use]
    pub fn value_axis<F2: Axis>(self, width: F2) -> Attention<'a, D, S, H, E, K, G, F2, M> {
        let _ = width;
        self.with()
    }

    /// Multiplies the products of queries and keys; `1 / sqrt(width)` by default.
    #[must_use]
    pub fn scale(self, scale: f64) -> Self {
        self.set(|a| a.scale = Some(scale))
    }

    /// A query sees only keys less than `keys` away from its place: itself and `keys - 1` before it, and as many after
    /// it where attention is not causal.
    #[must_use]
    pub fn window(self, keys: usize) -> Self {
        self.set(|a| a.window = Some(keys))
    }

    /// Query `i` stands at key `i + offset`.
    #[must_use]
    pub fn offset(self, offset: isize) -> Self {
        self.set(|a| a.offset = Some(offset))
    }

    /// Adds `bias` to the scores. Its axes are among the batch axes, the positions of queries and keys, and the heads; it
    /// is repeated along the others. Gradients flow into it; they take the memory of a whole matrix of scores.
    #[must_use]
    pub fn bias<M2: Axes>(self, bias: &'a Tensor<M2, D>) -> Attention<'a, D, S, H, E, K, G, F, M2> {
        self.set(|a| a.bias = Some(bias.raw())).with()
    }

    /// Lowers each score by a slope of its head times the distance of query and key
    /// ([Press et al. 2021](https://arxiv.org/abs/2108.12409)). Slopes as in [`Softmax::alibi`](crate::Softmax::alibi);
    /// `max_bias` is 8 in the paper.
    #[must_use]
    pub fn alibi(self, max_bias: f64) -> Self {
        self.set(|a| a.alibi = Some(max_bias))
    }

    /// One more score for each head, which takes its share of the probability and has no value
    /// ([Xiao et al. 2023](https://arxiv.org/abs/2309.17453)). Gradients flow into it.
    #[must_use]
    pub fn sinks(self, sinks: &'a Tensor<H, D>) -> Self
    where
        H: Axis,
    {
        self.set(|a| a.sinks = Some(sinks.raw()))
    }

    /// Cuts the positions into sequences: queries of a span see keys of that span alone, and places count from its
    /// beginning. Queries of different spans differ and are in order; a query in no span gives zeros.
    #[must_use]
    pub fn spans(self, spans: &'a [Span]) -> Self {
        self.set(|a| a.spans = Some(spans))
    }
}

impl<X: Axes, D: Dtype> Tensor<X, D> {
    /// Scaled dot-product attention ([Vaswani et al. 2017](https://arxiv.org/abs/1706.03762)) of the queries `self`:
    /// `softmax(q k^T / sqrt(width) + bias) v`, computed by tiles, so that no matrix of scores is ever stored.
    ///
    /// Query head `h` uses head `h / (heads / kv_heads)` of keys and values. Every further axis of the queries is a batch
    /// axis: keys and values may have it too, and are shared along it where they do not. The result has the queries'
    /// axes, with the width of the values.
    ///
    /// What a query may not see is not read, so a NaN there changes nothing; a query that sees nothing gives zeros. A row
    /// has the same bits whether it is computed alone or among others, for any number of threads.
    ///
    /// ```
    /// use forge::axes::{HeadDim, KvHead, Token};
    /// use forge::prelude::*;
    /// use forge::{Attention, Span};
    /// use forge::axes::Head;
    /// // Two sequences, of 2 and 3 tokens, laid end to end.
    /// let q = Tensor::<(Token, Head, HeadDim)>::ones((5, 2, 4));
    /// let k = Tensor::<(Token, KvHead, HeadDim)>::ones((5, 1, 4));
    /// let spans = [Span { queries: 0..2, keys: 0..2 }, Span { queries: 2..5, keys: 2..5 }];
    /// let y = q.attention(&k, &k, Attention::ragged(&spans));
    /// assert_eq!(y.shape(), [5, 2, 4]);
    /// ```
    ///
    /// # Errors
    /// When a shared axis has two sizes, the query heads are no multiple of the heads of keys, or spans leave their axes
    /// or are out of order.
    #[fallible]
    pub fn attention<Y: Axes, Z: Axes, S: Axis, H: Axis, E: Axis, K: Axis, G: Axis, F: Axis, M: Axes>(
        &self,
        k: &Tensor<Y, D>,
        v: &Tensor<Z, D>,
        how: Attention<'_, D, S, H, E, K, G, F, M>,
    ) -> Tensor<Replace<X, E, F>, D>
    where
        X: Has<S> + Has<H> + Has<E>,
        Y: Has<K> + Has<G> + Has<E>,
        Z: Has<K> + Has<G> + Has<F>,
        Minus<Y, (K, G, E)>: SubsetOf<Minus<X, (S, H, E)>>,
        Minus<Z, (K, G, F)>: SubsetOf<Minus<X, (S, H, E)>>,
        M: SubsetOf<Union<Remove<X, E>, K>>,
        D: Float,
    {
        let parts = Parts { q: [S::KEY, H::KEY, E::KEY], k: [K::KEY, G::KEY, E::KEY], v: [K::KEY, G::KEY, F::KEY] };
        let roles = parts.roles([X::KEYS, Y::KEYS, Z::KEYS, M::KEYS]);
        Ok(wrap(raw::attention(self.raw(), k.raw(), v.raw(), &roles, &how.args)?))
    }
}

/// The names of the parts: position, head, width.
struct Parts<'k> {
    q: [AxisKey<'k>; 3],
    k: [AxisKey<'k>; 3],
    v: [AxisKey<'k>; 3],
}

impl Parts<'_> {
    /// Where the parts are in lists that are known to hold them.
    fn roles<'k>(&self, keys: [&'k [AxisKey<'k>]; 4]) -> Roles<'k> {
        let find = |list: &[AxisKey], k: &AxisKey| match pos(list, k) {
            NONE => None,
            p => Some(p as usize),
        };
        let own = |list: &[AxisKey], parts: &[AxisKey; 3]| {
            [0, 1, 2].map(|i| find(list, &parts[i]).expect("checked: the list has its parts"))
        };
        let q = own(keys[0], &self.q);
        let batch: Vec<usize> = (0..keys[0].len()).filter(|i| !q.contains(i)).collect();
        let along = batch.iter().copied().chain([q[0], q[1]]).map(|i| &keys[0][i]).chain([&self.k[0]]);
        Roles {
            q,
            k: own(keys[1], &self.k),
            v: own(keys[2], &self.v),
            bias: along.map(|k| find(keys[3], k)).collect(),
            batch: batch.iter().map(|&i| [0, 1, 2].map(|t| find(keys[t], &keys[0][i]))).collect(),
            keys,
        }
    }
}

/// What [`DynTensor::attention`] looks at: see [`Attention`].
#[derive(Clone, Copy)]
pub struct DynAttention<'a> {
    /// Position, head and width of the queries.
    pub queries: [&'a str; 3],
    /// Position, head and width of the keys.
    pub keys: [&'a str; 3],
    /// Width of the values.
    pub value_width: &'a str,
    /// [`Attention::scale`].
    pub scale: Option<f64>,
    /// [`Attention::causal`].
    pub causal: bool,
    /// [`Attention::window`].
    pub window: Option<usize>,
    /// [`Attention::offset`].
    pub offset: Option<isize>,
    /// [`Attention::alibi`].
    pub alibi: Option<f64>,
    /// [`Attention::bias`].
    pub bias: Option<&'a DynTensor>,
    /// [`Attention::sinks`].
    pub sinks: Option<&'a DynTensor>,
    /// [`Attention::spans`].
    pub spans: Option<&'a [Span]>,
}

impl Default for DynAttention<'_> {
    fn default() -> Self {
        Self {
            queries: ["Seq", "Head", "HeadDim"],
            keys: ["Key", "KvHead", "HeadDim"],
            value_width: "HeadDim",
            scale: None,
            causal: false,
            window: None,
            offset: None,
            alibi: None,
            bias: None,
            sinks: None,
            spans: None,
        }
    }
}

impl DynTensor {
    /// [`Tensor::attention`].
    ///
    /// # Errors
    /// As [`Tensor::try_attention`], and when an axis is missing or too much.
    pub fn attention(&self, k: &Self, v: &Self, how: &DynAttention) -> Result<Self, Error> {
        const OP: &str = "attention";
        let named = AxisKey::named;
        let [position, head, _] = how.keys;
        let parts = Parts {
            q: how.queries.map(named),
            k: how.keys.map(named),
            v: [position, head, how.value_width].map(named),
        };
        let (qk, kk, vk) = (self.keys(), k.keys(), v.keys());
        let bias = how.bias.map(DynTensor::keys);
        let bk: &[AxisKey] = bias.as_deref().unwrap_or_default();
        let lists: [(&[AxisKey], &[AxisKey; 3]); 3] = [(&qk, &parts.q), (&kk, &parts.k), (&vk, &parts.v)];
        for (list, own) in lists {
            if let Some(a) = list_ops::missing(own, list) {
                let found = list_ops::Names(list);
                return Err(Error::axes(OP, format!("no axis `{}` in `{found}`", a.name)));
            }
            if let Some(a) = list_ops::repeated(own) {
                return Err(Error::axes(OP, format!("axis `{}` plays two parts of one tensor", a.name)));
            }
        }
        let too_many = |e: list_ops::TooManyAxes| Error::axes(OP, e.to_string());
        let batch = list_ops::minus(&qk, &parts.q).map_err(too_many)?;
        super::arith::subset(OP, &list_ops::minus(&kk, &parts.k).map_err(too_many)?, &batch)?;
        super::arith::subset(OP, &list_ops::minus(&vk, &parts.v).map_err(too_many)?, &batch)?;
        let scores = list_ops::remove(&qk, &parts.q[2]).map_err(too_many)?;
        super::arith::subset(OP, bk, &list_ops::union(&scores, &parts.k[..1]).map_err(too_many)?)?;
        let args = AttentionArgs {
            scale: how.scale,
            causal: how.causal,
            window: how.window,
            offset: how.offset,
            alibi: how.alibi,
            bias: how.bias.map(DynTensor::raw),
            sinks: how.sinks.map(DynTensor::raw),
            spans: how.spans,
        };
        let roles = parts.roles([&qk, &kk, &vk, bk]);
        let y = raw::attention(self.raw(), k.raw(), v.raw(), &roles, &args)?;
        self.with_raw_of_other_size(y, OP, &how.queries[2].into(), how.value_width.into())
    }
}
