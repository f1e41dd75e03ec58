//! Attention: grouped heads, tiled, without a matrix of scores.

use super::fused::{self, along, constant, contract, dense, is_half, scale};
use super::{RawTensor, by_float, cast, shape, softmax};
use crate::autograd::{grad_enabled, pull_composed_list, record_many, tracks};
use crate::error::{Error, Result, axes_text};
use forge_axes::Key;
use forge_axes::plan::NONE;
use forge_kernels::attention::{self as kernel, Bias, Gradients, Operand, Options, Problem, Sizes, Stats};
use forge_kernels::softmax::alibi_slope;
use forge_kernels::{DType, Element, Layout, MAX_RANK};

pub use forge_kernels::attention::Span;

/// What a query sees and how scores are changed.
#[derive(Clone, Copy, Default)]
pub struct AttentionArgs<'a> {
    /// Factor of the products; `1 / sqrt(width)` if none.
    pub scale: Option<f64>,
    /// Keys after a query's own place are hidden.
    pub causal: bool,
    /// Only keys less than this far from a query's place are seen.
    pub window: Option<usize>,
    /// The place of query 0 among the keys; by default the last query stands at the last key.
    pub offset: Option<isize>,
    /// The exponent of ALiBi slopes.
    pub alibi: Option<f64>,
    /// Added to the scores, with its axes: see [`Roles::bias`].
    pub bias: Option<&'a RawTensor>,
    /// A vector along the heads: one more score for each row, without a value.
    pub sinks: Option<&'a RawTensor>,
    /// The sequences of a ragged batch.
    pub spans: Option<&'a [Span]>,
}

/// Which axis of the operands plays which part. All lists name positions.
#[derive(Clone)]
pub struct Roles<'k> {
    /// Axes of the queries: position, head, width.
    pub q: [usize; 3],
    /// Axes of the keys: position, head, width.
    pub k: [usize; 3],
    /// Axes of the values: position, head, width.
    pub v: [usize; 3],
    /// For each further axis of the queries, in order: its position in the queries, and in keys and values (`None` where
    /// they lack it and are shared).
    pub batch: Vec<[Option<usize>; 3]>,
    /// For each batch axis, then query position, head and key position: where it is in the bias.
    pub bias: Vec<Option<usize>>,
    /// Names, for messages: of queries, keys, values and bias.
    pub keys: [&'k [Key<'k>]; 4],
}

const OP: &str = "attention";

/// `softmax(q k^T scale + bias) v`, with the axes of `q` in their order.
pub fn attention(
    q: &RawTensor,
    k: &RawTensor,
    v: &RawTensor,
    roles: &Roles,
    args: &AttentionArgs,
) -> Result<RawTensor> {
    let all = [Some(k), Some(v), args.bias, args.sinks];
    for t in all.into_iter().flatten() {
        fused::same_dtype(OP, t, q)?;
    }
    if is_half(q) {
        let wide = |t: &RawTensor| cast::to(t, DType::F32);
        let (bias, sinks) = (args.bias.map(wide).transpose()?, args.sinks.map(wide).transpose()?);
        let args = AttentionArgs { bias: bias.as_ref(), sinks: sinks.as_ref(), ..*args };
        return cast::to(&attention(&wide(q)?, &wide(k)?, &wide(v)?, roles, &args)?, q.dtype());
    }
    check(q, k, v, roles, args)?;
    let nb = roles.batch.len();
    let batch: Vec<usize> = roles.batch.iter().map(|b| q.shape()[b[0].expect("an axis of the queries")]).collect();
    let size = |t: &RawTensor, at: [usize; 3]| at.map(|a| t.shape()[a]);
    let ([queries, heads, _], [keys, ..]) = (size(q, roles.q), size(k, roles.k));

    // Every operand as [batch.., position, head, width], then with its batch axes folded into one.
    let arranged = |t: &RawTensor, which: usize, own: [usize; 3]| {
        let map: Vec<Option<usize>> = roles.batch.iter().map(|b| b[which]).chain(own.map(Some)).collect();
        let shape: Vec<usize> = batch.iter().copied().chain(size(t, own)).collect();
        shape::fold_front(&spread(t, &map, &shape), nb)
    };
    let (q4, k4, v4) = (arranged(q, 0, roles.q), arranged(k, 1, roles.k), arranged(v, 2, roles.v));
    let bias = args.bias.map(|b| {
        let shape: Vec<usize> = batch.iter().copied().chain([queries, heads, keys]).collect();
        shape::fold_front(&spread(b, &roles.bias, &shape), nb)
    });
    let inputs = Operands { q: q4, k: k4, v: v4, bias, sinks: args.sinks.cloned() };
    let out = folded(&inputs, args)?;

    // Back to the order of the queries' axes, the width last of its three.
    let out = shape::unfold_front(&out, &batch);
    let mut order = [0u8; MAX_RANK];
    for (i, b) in roles.batch.iter().enumerate() {
        order[b[0].expect("an axis of the queries")] = i as u8;
    }
    for (i, a) in roles.q.into_iter().enumerate() {
        order[a] = (nb + i) as u8;
    }
    Ok(shape::permute(&out, &order[..q.rank()]))
}

/// `t` over `shape`: axis `i` is its axis `map[i]`, or repeats it (a recorded view).
fn spread(t: &RawTensor, map: &[Option<usize>], shape: &[usize]) -> RawTensor {
    let (mut strides, mut places) = ([0; MAX_RANK], [NONE; MAX_RANK]);
    for (i, m) in map.iter().enumerate() {
        if let Some(a) = *m {
            strides[i] = t.layout.strides()[a];
            places[i] = a as u8;
        }
    }
    let n = map.len();
    shape::broadcast_view(t, Layout::new(shape, &strides[..n]), &places[..n])
}

fn check(q: &RawTensor, k: &RawTensor, v: &RawTensor, roles: &Roles, args: &AttentionArgs) -> Result<()> {
    let tensors = [q, k, v];
    // Two operands must agree on an axis: (operand, axis) twice.
    let agree = |a: (usize, usize), b: (usize, usize)| {
        let (l, r) = (tensors[a.0].shape()[a.1], tensors[b.0].shape()[b.1]);
        if l == r {
            return Ok(());
        }
        Err(Error::SizeMismatch {
            op: OP,
            axis: roles.keys[a.0].get(a.1).map_or("?", |k| k.name).to_owned(),
            lhs: l,
            rhs: r,
            lhs_axes: axes_text(roles.keys[a.0], tensors[a.0].shape()),
            rhs_axes: axes_text(roles.keys[b.0], tensors[b.0].shape()),
        })
    };
    agree((0, roles.q[2]), (1, roles.k[2]))?;
    agree((1, roles.k[0]), (2, roles.v[0]))?;
    agree((1, roles.k[1]), (2, roles.v[1]))?;
    for b in &roles.batch {
        for which in [1, 2] {
            if let (Some(a), Some(c)) = (b[0], b[which]) {
                agree((0, a), (which, c))?;
            }
        }
    }
    let (heads, kv_heads) = (q.shape()[roles.q[1]], k.shape()[roles.k[1]]);
    if heads > 0 && (kv_heads == 0 || !heads.is_multiple_of(kv_heads)) {
        let what = format!("{heads} query heads are no multiple of {kv_heads} heads of keys and values");
        return Err(Error::argument(OP, what));
    }
    if let Some(s) = args.sinks.filter(|s| s.shape() != [heads]) {
        return Err(Error::argument(OP, format!("there are {heads} query heads, but sinks of sizes {:?}", s.shape())));
    }
    if let Some(b) = args.bias {
        let n = roles.batch.len();
        for (i, at) in roles.bias.iter().enumerate() {
            let Some(at) = *at else { continue };
            let (t, a) = match i.checked_sub(n) {
                None => (0, roles.batch[i][0].expect("an axis of the queries")),
                Some(2) => (1, roles.k[0]),
                Some(j) => (0, roles.q[j]),
            };
            if b.shape()[at] != tensors[t].shape()[a] {
                return Err(Error::SizeMismatch {
                    op: OP,
                    axis: roles.keys[t].get(a).map_or("?", |k| k.name).to_owned(),
                    lhs: tensors[t].shape()[a],
                    rhs: b.shape()[at],
                    lhs_axes: axes_text(roles.keys[t], tensors[t].shape()),
                    rhs_axes: axes_text(roles.keys[3], b.shape()),
                });
            }
        }
    }
    check_spans(args, q.shape()[roles.q[0]], k.shape()[roles.k[0]])
}

fn check_spans(args: &AttentionArgs, queries: usize, keys: usize) -> Result<()> {
    let mut end = 0;
    for (i, s) in args.spans.unwrap_or_default().iter().enumerate() {
        let wrong =
            |what: String| Err(Error::argument(OP, format!("span {i} ({:?}, {:?}): {what}", s.queries, s.keys)));
        if s.queries.start > s.queries.end || s.keys.start > s.keys.end {
            return wrong("a range ends before it begins".into());
        }
        if s.queries.end > queries || s.keys.end > keys {
            return wrong(format!("there are {queries} queries and {keys} keys"));
        }
        if s.queries.start < end {
            return wrong(format!("its queries begin before {end}, where those of an earlier span end"));
        }
        end = s.queries.end;
    }
    Ok(())
}

/// What the kernel is asked, kept by the derivative.
#[derive(Clone)]
struct Task {
    scale: f64,
    causal: bool,
    window: Option<usize>,
    offset: Option<isize>,
    /// ALiBi's slope for each head.
    slopes: Option<Vec<f64>>,
    spans: Option<Vec<Span>>,
}

/// The operands dense along the width, which the kernel reads by rows.
struct Held {
    q: RawTensor,
    k: RawTensor,
    v: RawTensor,
    bias: Option<RawTensor>,
    sinks: Option<RawTensor>,
}

impl Held {
    fn new(t: &Operands) -> Self {
        let rows = |t: &RawTensor| {
            if t.layout.strides()[3] == 1 || t.shape()[3] <= 1 { t.detach() } else { t.compacted() }
        };
        let (bias, sinks) = (t.bias.as_ref().map(RawTensor::detach), t.sinks.as_ref().map(dense));
        Self { q: rows(&t.q), k: rows(&t.k), v: rows(&t.v), bias, sinks }
    }

    fn sizes(&self) -> Sizes {
        let (q, k) = (self.q.shape(), self.k.shape());
        Sizes {
            batch: q[0],
            queries: q[1],
            keys: k[1],
            heads: q[2],
            kv_heads: k[2],
            width: q[3],
            value_width: self.v.shape()[3],
        }
    }

    /// Runs `f` on the kernel's view of the problem.
    fn with<T: kernel::Float, R>(&self, t: &Task, f: impl FnOnce(&Problem<T>) -> R) -> R {
        let operand = |x: &'_ RawTensor| {
            let s = x.layout.strides();
            (x.offset, s[0], s[1], s[2])
        };
        let make = |x, (offset, batch, row, head)| Operand { data: x, offset, batch, row, head };
        let slopes: Option<Vec<T>> = t.slopes.as_ref().map(|s| s.iter().map(|&v| T::from_f64(v)).collect());
        let bias = self.bias.as_ref().map(|b| {
            let s = b.layout.strides();
            Bias { data: b.buf.host::<T>(), offset: b.offset, strides: [s[0], s[1], s[2], s[3]] }
        });
        f(&Problem {
            sizes: self.sizes(),
            q: make(self.q.buf.host::<T>(), operand(&self.q)),
            k: make(self.k.buf.host::<T>(), operand(&self.k)),
            v: make(self.v.buf.host::<T>(), operand(&self.v)),
            options: Options {
                scale: T::from_f64(t.scale),
                causal: t.causal,
                window: t.window,
                offset: t.offset,
                bias,
                slopes: slopes.as_deref(),
                sinks: self.sinks.as_ref().map(|s| s.as_slice::<T>().expect("made dense")),
                spans: t.spans.as_deref(),
            },
        })
    }
}

/// Attention of `[batch, queries, heads, width]`, `[batch, keys, kv_heads, width]` and
/// `[batch, keys, kv_heads, value width]`, the bias being `[batch, queries, heads, keys]`.
fn folded(inputs: &Operands, args: &AttentionArgs) -> Result<RawTensor> {
    let (heads, width) = (inputs.q.shape()[2], inputs.q.shape()[3]);
    let task = Task {
        scale: args.scale.unwrap_or(1.0 / (width.max(1) as f64).sqrt()),
        causal: args.causal,
        window: args.window,
        offset: args.offset,
        slopes: args.alibi.map(|b| (0..heads).map(|h| alibi_slope(h, heads, b)).collect()),
        spans: args.spans.map(<[Span]>::to_vec),
    };
    by_float!(OP, inputs.q.dtype(), T => Ok(fused_of::<T>(inputs, task)))
}

/// [`folded`] by the kernel.
fn fused_of<T: kernel::Float>(inputs: &Operands, task: Task) -> RawTensor {
    let recorded = tracks(&inputs.list());
    let held = Held::new(inputs);
    let s = held.sizes();
    let mut stats = vec![Stats::<T>::default(); if recorded { s.batch * s.queries * s.heads } else { 0 }];
    let out = RawTensor::build(&[s.batch, s.queries, s.heads, s.value_width], |out: &mut [T]| {
        held.with(&task, |p| kernel::forward(p, out, &mut stats));
    });
    if !recorded {
        return out;
    }
    let (saved, y) = (inputs.clone(), out.clone());
    record_many(out, &inputs.list(), move |p, grads| {
        let inputs = saved.list();
        if grad_enabled() && (tracks(&inputs) || tracks(&[p.grad])) {
            let g = pull_composed_list(&inputs, p.grad, |t| composed(&saved.of(t), &task))?;
            grads.iter_mut().zip(g).for_each(|(o, g)| *o = g);
            return Ok(());
        }
        let g = dense(p.grad);
        let (bias_at, sinks_at) = (3, 3 + usize::from(saved.bias.is_some()));
        let like = |t: &RawTensor| RawTensor::full(t.shape(), T::ZERO);
        let only = |shape: &[usize], wanted: bool| RawTensor::full(if wanted { shape } else { &[0] }, T::ZERO);
        let (mut dq, mut dk, mut dv) = (like(&saved.q), like(&saved.k), like(&saved.v));
        let scores = [s.batch, s.queries, s.heads, s.keys];
        let mut db = only(&scores, saved.bias.is_some() && p.needs(bias_at));
        let mut ds = only(&[s.heads], saved.sinks.is_some() && p.needs(sinks_at));
        Held::new(&saved).with(&task, |problem| {
            let (y, g) = (y.as_slice().expect("dense"), g.as_slice().expect("made dense"));
            let to = Gradients {
                q: writable(&mut dq),
                k: writable(&mut dk),
                v: writable(&mut dv),
                bias: writable(&mut db),
                sinks: writable(&mut ds),
            };
            kernel::backward(problem, y, &stats, g, to);
        });
        let made = [Some(dq), Some(dk), Some(dv), saved.bias.as_ref().map(|_| db), saved.sinks.as_ref().map(|_| ds)];
        for (i, g) in made.into_iter().flatten().enumerate() {
            grads[i] = p.needs(i).then_some(g);
        }
        Ok(())
    })
}

fn writable<T: Element>(t: &mut RawTensor) -> &mut [T] {
    t.as_mut_slice().expect("new memory has one owner")
}

/// The operands with their graphs.
#[derive(Clone)]
struct Operands {
    q: RawTensor,
    k: RawTensor,
    v: RawTensor,
    bias: Option<RawTensor>,
    sinks: Option<RawTensor>,
}

impl Operands {
    /// Those that are there.
    fn list(&self) -> Vec<&RawTensor> {
        [Some(&self.q), Some(&self.k), Some(&self.v), self.bias.as_ref(), self.sinks.as_ref()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Others in place of [`Self::list`].
    fn of(&self, t: &[RawTensor]) -> Self {
        let mut rest = t[3..].iter().cloned();
        let bias = if self.bias.is_some() { rest.next() } else { None };
        Self { q: t[0].clone(), k: t[1].clone(), v: t[2].clone(), bias, sinks: rest.next() }
    }
}

/// [`folded`] from recorded parts, with the whole matrix of scores: only for a recorded backward pass.
fn composed(t: &Operands, task: &Task) -> Result<RawTensor> {
    let (q, k, v) = (&t.q, &t.k, &t.v);
    let [b, queries, heads, _] = <[usize; 4]>::try_from(q.shape()).expect("four axes");
    let (keys, groups) = (k.shape()[1], k.shape()[2]);
    let head = super::At { axis: 2, keys: &[] };
    let parts = [groups, heads / groups.max(1)];
    // b batch, s query, g group, r head in its group, k key, e width, f width of values.
    let q5 = shape::split(q, head, &parts)?;
    let mut s = scale(&contract(&q5, k, b"bsgre", b"bkge", b"bsgrk")?, task.scale)?;
    if let Some(bias) = &t.bias {
        s = fused::add(&s, &shape::split(bias, head, &parts)?)?;
    }
    let full = s.shape().to_vec();
    let mask = visible(task, queries, heads, keys, s.dtype());
    let mask = shape::split(&mask, super::At { axis: 1, keys: &[] }, &parts)?;
    let mut strides = vec![0];
    strides.extend_from_slice(mask.layout.strides());
    s = fused::add(&s, &shape::broadcast_view(&mask, Layout::new(&full, &strides), &[NONE, 0, 1, 2, 3]))?;
    let sinks = t.sinks.as_ref().map(|v| shape::split(&along(v, &[b, queries, heads], 2), head, &parts)).transpose()?;
    let p = softmax::from_parts(&s, 4, sinks.as_ref())?;
    let out = contract(&p, v, b"bsgrk", b"bkgf", b"bsgrf")?;
    Ok(shape::merge(&out, &[0, 1, 2, 3, 4], 2, 2))
}

/// What is added to the scores `[queries, heads, keys]`: `-inf` where a key is hidden, else ALiBi's slopes.
fn visible(task: &Task, queries: usize, heads: usize, keys: usize, dtype: DType) -> RawTensor {
    let whole = [Span { queries: 0..queries, keys: 0..keys }];
    let spans = task.spans.as_deref().unwrap_or(&whole);
    constant(&[queries, heads, keys], dtype, |at| {
        let (i, h, j) = (at / (heads * keys), at / keys % heads, at % keys);
        let Some(span) = spans.iter().find(|s| s.queries.contains(&i) && s.keys.contains(&j)) else {
            return f64::NEG_INFINITY;
        };
        let offset = task.offset.unwrap_or(span.keys.len() as isize - span.queries.len() as isize);
        let far = (j - span.keys.start) as isize - ((i - span.queries.start) as isize + offset);
        if task.causal && far > 0 || task.window.is_some_and(|w| far.unsigned_abs() >= w) {
            return f64::NEG_INFINITY;
        }
        -task.slopes.as_ref().map_or(0.0, |s| s[h]) * far.unsigned_abs() as f64
    })
}
