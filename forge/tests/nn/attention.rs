//! The attention block.

use crate::{Doc, check_gradients, close, names, noise, shared, weigh};
use forge::Rope;
use forge::axes::{Batch, HeadDim, KvHead, Model, Seq, Time};
use forge::nn::{Attention, Heads};
use forge::prelude::*;
use forge::rng::Key;

/// Attention in plain loops over one sequence `x[Seq, Model]`.
fn plain_attention(
    a: &Attention<Model, f64>,
    x: &Tensor<(Seq, Model), f64>,
    sees: impl Fn(usize, usize) -> bool,
    rope: bool,
) -> Vec<f64> {
    let Heads { query, kv, dim } = a.heads();
    let (n, m) = (x.size(Seq), x.size(Model));
    let bias = a.bias.as_ref().unwrap();
    let turn = |v: &mut [f64], pos: usize| {
        for i in 0..dim / 2 {
            let angle = pos as f64 * 100f64.powf(-2.0 * i as f64 / dim as f64);
            let (a, b) = (v[i], v[i + dim / 2]);
            v[i] = a * angle.cos() - b * angle.sin();
            v[i + dim / 2] = b * angle.cos() + a * angle.sin();
        }
    };
    let row = |w: &dyn Fn(usize, usize) -> f64, b: &dyn Fn(usize) -> f64, s: usize| -> Vec<f64> {
        (0..dim).map(|d| b(d) + (0..m).map(|i| x.get((s, i)) * w(i, d)).sum::<f64>()).collect()
    };
    let mut out = vec![0.0; n * m];
    for s in 0..n {
        for j in 0..m {
            out[s * m + j] = bias.out.get(j);
        }
        for h in 0..query {
            let g = h / (query / kv);
            let mut q = row(&|i, d| a.q.get((i, h, d)), &|d| bias.q.get((h, d)), s);
            if rope {
                turn(&mut q, s);
            }
            let mut e = vec![0.0; n];
            for (t, e) in e.iter_mut().enumerate().filter(|(t, _)| sees(s, *t)) {
                let mut k = row(&|i, d| a.k.get((i, g, d)), &|d| bias.k.get((g, d)), t);
                if rope {
                    turn(&mut k, t);
                }
                *e = (q.iter().zip(&k).map(|(q, k)| q * k).sum::<f64>() / (dim as f64).sqrt()).exp();
            }
            let total: f64 = e.iter().sum();
            for t in 0..n {
                let v = row(&|i, d| a.v.get((i, g, d)), &|d| bias.v.get((g, d)), t);
                for j in 0..m {
                    out[s * m + j] += e[t] / total * (0..dim).map(|d| v[d] * a.out.get((h, d, j))).sum::<f64>();
                }
            }
        }
    }
    out
}

fn biased(heads: Heads) -> Attention<Model, f64> {
    let mut a = Attention::<Model, f64>::new(6, heads, Key::new(4)).with_bias();
    let b = a.bias.as_mut().unwrap();
    b.q.set(&noise((heads.query, heads.dim), 10)).unwrap();
    b.k.set(&noise::<(KvHead, HeadDim)>((heads.kv, heads.dim), 11)).unwrap();
    b.v.set(&noise((heads.kv, heads.dim), 12)).unwrap();
    b.out.set(&noise(6, 13)).unwrap();
    a
}

#[test]
fn attention() {
    let x = noise::<(Seq, Model)>((5, 6), 3);
    let grouped = || biased(Heads::new(4, 4).kv(2));
    let check = |a: Attention<Model, f64>, sees: &dyn Fn(usize, usize) -> bool, rope: bool| {
        close(&a.forward(&x, Seq).to_vec(), &plain_attention(&a, &x, sees, rope), 1e-10);
    };
    check(biased(Heads::new(2, 3)), &|_, _| true, false);
    check(grouped(), &|_, _| true, false);
    check(grouped().causal(), &|q, k| k <= q, false);
    check(grouped().causal().window(2), &|q, k| k <= q && q - k < 2, false);
    check(grouped().window(2), &|q, k| q.abs_diff(k) < 2, false);
    check(grouped().causal().rope(Rope::new(4, 100.0)), &|q, k| k <= q, true);

    let mut a = grouped().causal().rope(Rope::new(4, 100.0));
    check_gradients(&mut a, |a| weigh(&a.forward(&x, Seq)));
}

#[test]
fn attention_under_other_axes() {
    let a = biased(Heads::new(4, 4).kv(2)).causal();
    let x = noise::<(Model, Doc, Seq, Batch)>((6, 2, 5, 3), 8);
    let y = a.forward(&x, Seq);
    for d in 0..2 {
        for b in 0..3 {
            let one: Tensor<(Seq, Model), f64> = x.select(Doc, d).select(Batch, b).permute();
            let want: Tensor<(Model, Seq), f64> = a.forward(&one, Seq).permute();
            close(&y.select(Doc, d).select(Batch, b).to_vec(), &want.to_vec(), 1e-13);
        }
    }
    // The axis of positions has any name.
    let tokens: Tensor<(Time, Model), f64> = x.select(Doc, 0).select(Batch, 0).rename(Seq, Time).permute();
    let want: Tensor<(Time, Model), f64> = y.select(Doc, 0).select(Batch, 0).rename(Seq, Time).permute();
    close(&a.forward(&tokens, Time).to_vec(), &want.to_vec(), 1e-13);
    // No positions.
    assert_eq!(a.forward(&x.narrow(Seq, 0..0), Seq).shape(), [6, 2, 0, 3]);
}

#[test]
fn attention_refuses() {
    let error = Attention::<Model>::try_new(6, Heads::new(4, 2).kv(3), Key::new(0)).unwrap_err();
    assert_eq!(error.to_string(), "Attention: 4 heads of queries cannot share 3 heads of keys equally");
    let a = Attention::<Model>::new(6, Heads::new(4, 2), Key::new(0));
    let error = a.try_forward(&Tensor::<(Seq, Model)>::zeros((2, 5)), Seq).unwrap_err();
    assert!(error.to_string().contains("attention: axis `Model` has size 5"), "{error}");
    let error = a.rope(Rope::new(8, 1e4)).try_forward(&Tensor::<(Seq, Model)>::zeros((2, 6)), Seq).unwrap_err();
    assert!(error.to_string().contains("turns 8 features, a head has 2"), "{error}");
}

#[test]
fn start_and_names() {
    shared::<Attention<Model>>();
    let a = Attention::<Model>::new(16, Heads::new(4, 16).kv(2), Key::new(5));
    let bounded = |v: Vec<f32>, b: f32| v.iter().all(|w| w.abs() <= b) && v.iter().any(|w| w.abs() > 0.8 * b);
    assert!(bounded(a.q.to_vec(), 0.25) && bounded(a.k.to_vec(), 0.25) && bounded(a.v.to_vec(), 0.25));
    assert!(bounded(a.out.to_vec(), 0.125));
    assert_ne!(a.k.to_vec(), a.v.to_vec(), "each part has its own random numbers");
    assert_eq!(names(&a), ["k", "out", "q", "v"]);
    assert_eq!(names(&a.with_bias()), ["bias.k", "bias.out", "bias.q", "bias.v", "k", "out", "q", "v"]);
}
