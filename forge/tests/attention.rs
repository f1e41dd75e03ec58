//! Attention: typed forms, what is hidden, what is refused.

use forge::axes::{Batch, Head, HeadDim, Key, KvHead, Seq, Token};
use forge::prelude::*;
use forge::rng;
use forge::{Attention, Span};

axes! { Place, H, D, Source, G, Value }

fn noise<X: Axes>(seed: u64, shape: X::Dims) -> Tensor<X>
where
    X: Distinct,
{
    Tensor::<X>::randn(shape, rng::Key::new(seed))
}

fn close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() < 2e-5, "element {i}: {a}, not {b}");
    }
}

/// The same by softmax and products, one head of keys for each of queries.
fn plain(
    q: &Tensor<(Seq, Head, HeadDim)>,
    k: &Tensor<(Key, Head, HeadDim)>,
    causal: bool,
) -> Tensor<(Seq, Head, HeadDim)> {
    let s: Tensor<(Head, Seq, Key)> = q.dot(k, HeadDim).scale(1.0 / (q.size(HeadDim) as f64).sqrt()).permute();
    let p = if causal { s.softmax_with(Key, forge::Softmax::new().causal(Seq, 0)) } else { s.softmax(Key) };
    p.dot(k, Key).permute()
}

#[test]
fn equals_softmax_of_products() {
    let q = noise::<(Seq, Head, HeadDim)>(1, (70, 3, 16));
    let k = noise::<(Key, Head, HeadDim)>(2, (70, 3, 16));
    let named = |how: Attention<'static>| how.axes((Seq, Head, HeadDim), (Key, Head, HeadDim));
    for causal in [false, true] {
        let how = named(if causal { Attention::causal() } else { Attention::full() });
        let got = q.attention(&k, &k, how);
        close(&got.to_vec(), &plain(&q, &k, causal).to_vec());
        // Gradients too.
        let (q, k) = (q.requires_grad(), k.requires_grad());
        let w = noise::<(Seq, Head, HeadDim)>(3, (70, 3, 16));
        let a = (&q.attention(&k, &k, how) * &w).sum_all().backward().unwrap();
        let b = (&plain(&q, &k, causal) * &w).sum_all().backward().unwrap();
        close(&a.get(&q).unwrap().to_vec(), &b.get(&q).unwrap().to_vec());
        close(&a.get(&k).unwrap().to_vec(), &b.get(&k).unwrap().to_vec());
    }
}

#[test]
fn own_axes_and_a_width_of_values() {
    let q = noise::<(Batch, Place, H, D)>(1, (2, 3, 4, 5));
    let k = noise::<(Source, G, Batch, D)>(2, (6, 2, 2, 5));
    let v = noise::<(Source, G, Value)>(3, (6, 2, 7));
    let how = Attention::full().axes((Place, H, D), (Source, G, D)).value_axis(Value);
    let y: Tensor<(Batch, Place, H, Value)> = q.attention(&k, &v, how);
    assert_eq!(y.shape(), [2, 3, 4, 7]);
}

#[test]
fn a_cache_gives_the_same_bits() {
    let q = noise::<(Seq, Head, HeadDim)>(1, (40, 4, 8));
    let k = noise::<(Key, KvHead, HeadDim)>(2, (40, 2, 8));
    let v = noise::<(Key, KvHead, HeadDim)>(3, (40, 2, 8));
    let whole = q.attention(&k, &v, Attention::causal());
    for t in 0..40 {
        let (k, v) = (k.narrow(Key, 0..t + 1), v.narrow(Key, 0..t + 1));
        let one = q.narrow(Seq, t..t + 1).attention(&k, &v, Attention::causal());
        assert_eq!(one.to_vec(), whole.narrow(Seq, t..t + 1).to_vec(), "token {t}");
    }
}

#[test]
fn sequences_end_to_end() {
    let q = noise::<(Token, Head, HeadDim)>(1, (9, 2, 8));
    let k = noise::<(Token, KvHead, HeadDim)>(2, (9, 1, 8));
    let spans = [Span { queries: 0..4, keys: 0..4 }, Span { queries: 4..9, keys: 4..9 }];
    let all = q.attention(&k, &k, Attention::ragged(&spans));
    for span in spans {
        let (q, k) = (q.narrow(Token, span.queries.clone()), k.narrow(Token, span.keys));
        let whole = [Span { queries: 0..q.size(Token), keys: 0..k.size(Token) }];
        let one = q.attention(&k, &k, Attention::ragged(&whole));
        assert_eq!(one.to_vec(), all.narrow(Token, span.queries).to_vec());
    }
}

#[test]
fn a_query_that_sees_nothing() {
    // Three queries, one key: the last stands at it, the others before.
    let q = noise::<(Seq, Head, HeadDim)>(1, (3, 1, 4)).requires_grad();
    let k = Tensor::<(Key, KvHead, HeadDim)>::ones((1, 1, 4)).requires_grad();
    let y = q.attention(&k, &k, Attention::causal());
    assert_eq!(y.to_vec(), [0., 0., 0., 0., 0., 0., 0., 0., 1., 1., 1., 1.]);
    let g = y.sum_all().backward().unwrap();
    assert!(g.get(&q).unwrap().to_vec().iter().all(|v| *v == 0.0));
    assert_eq!(g.get(&k).unwrap().to_vec(), [1.0; 4]);
    // torch counts causality from the first key instead: there query 0 sees key 0.
    let y = q.attention(&k, &k, Attention::causal().offset(0));
    assert_eq!(y.to_vec(), [1.0; 12]);
}

#[test]
fn half_precision_is_rounded_once() {
    let q = noise::<(Seq, Head, HeadDim)>(1, (3, 2, 4)).to::<bf16>();
    let k = noise::<(Key, KvHead, HeadDim)>(2, (5, 1, 4)).to::<bf16>();
    let wide = q.to::<f32>().attention(&k.to::<f32>(), &k.to::<f32>(), Attention::full());
    assert_eq!(q.attention(&k, &k, Attention::full()).to_vec(), wide.to::<bf16>().to_vec());
}

#[test]
fn what_does_not_fit_is_an_error() {
    let q = Tensor::<(Seq, Head, HeadDim)>::zeros((3, 4, 8));
    let k = Tensor::<(Key, KvHead, HeadDim)>::zeros((5, 2, 8));
    let text = |r: Result<Tensor<(Seq, Head, HeadDim)>, Error>| r.unwrap_err().to_string();
    let thin = Tensor::<(Key, KvHead, HeadDim)>::zeros((5, 2, 6));
    assert_eq!(
        text(q.try_attention(&thin, &k, Attention::full())),
        "attention: axis `HeadDim` has size 8 in (Seq 3, Head 4, HeadDim 8) but 6 in (Key 5, KvHead 2, HeadDim 6)"
    );
    let three = Tensor::<(Key, KvHead, HeadDim)>::zeros((5, 3, 8));
    assert_eq!(
        text(q.try_attention(&three, &three, Attention::full())),
        "attention: 4 query heads are no multiple of 3 heads of keys and values"
    );
    let short = Tensor::<(Key, KvHead, HeadDim)>::zeros((4, 2, 8));
    assert!(text(q.try_attention(&k, &short, Attention::full())).contains("axis `Key` has size 5"));
    let bias = Tensor::<(Seq, Key)>::zeros((3, 4));
    let e = text(q.try_attention(&k, &k, Attention::full().bias(&bias)));
    assert_eq!(e, "attention: axis `Key` has size 5 in (Key 5, KvHead 2, HeadDim 8) but 4 in (Seq 3, Key 4)");
    let sinks = Tensor::<Head>::zeros(2);
    assert!(text(q.try_attention(&k, &k, Attention::full().sinks(&sinks))).contains("4 query heads"));
    for (spans, what) in [
        ([Span { queries: 0..2, keys: 0..9 }, Span { queries: 2..3, keys: 0..1 }], "3 queries and 5 keys"),
        ([Span { queries: 0..2, keys: 0..2 }, Span { queries: 1..3, keys: 2..5 }], "begin before 2"),
    ] {
        let e = text(q.try_attention(&k, &k, Attention::full().spans(&spans)));
        assert!(e.contains(what), "{e}");
    }
    let e = q.erase().attention(&k.erase(), &q.erase(), &forge::DynAttention::default()).unwrap_err().to_string();
    assert_eq!(e, "attention: no axis `Key` in `(Seq, Head, HeadDim)`");
}
