//! Contractions: the twin multiplies and adds over every index.

use crate::gen_::Gen;
use crate::naive::{Naive, each};
use crate::{Case, Grad, Sample};

/// Sum of products over the axes of `l` and `r` that are not in `out`.
fn contract(l: &Naive, r: &Naive, out: &[&str]) -> Naive {
    let size = |a: &str| if l.axes.iter().any(|x| x == a) { l.size(a) } else { r.size(a) };
    let mut all: Vec<&str> = out.to_vec();
    for a in l.axes.iter().chain(&r.axes) {
        if !all.contains(&a.as_str()) {
            all.push(a);
        }
    }
    let sums: Vec<usize> = all[out.len()..].iter().map(|a| size(a)).collect();
    let named: Vec<(&str, usize)> = out.iter().map(|a| (*a, size(a))).collect();
    Naive::from_fn(&named, |ix| {
        let mut total = 0.0;
        each(&sums, |sx| {
            let full = [ix, sx].concat();
            total += l.at_named(&all, &full) * r.at_named(&all, &full);
        });
        total
    })
}

/// Operands with a batch axis, two contracted axes and one free axis each, every list in a random order.
fn dot(g: &mut Gen) -> Sample {
    let (b, m, n, k, j) = (g.size1().min(7), g.size(), g.size(), g.size(), g.size1().min(5));
    let mut shuffle = |mut v: Vec<(&'static str, usize)>| {
        for i in (1..v.len()).rev() {
            let q = g.below(i + 1);
            v.swap(i, q);
        }
        v
    };
    let la = shuffle(vec![("b", b), ("m", m), ("k", k), ("j", j)]);
    let ra = shuffle(vec![("b", b), ("k", k), ("j", j), ("n", n)]);
    let (l, r) = (g.tensor(&la, -1.0, 1.0), g.tensor(&ra, -1.0, 1.0));
    // Left's order, then the right's new axis.
    let mut out: Vec<&'static str> = la.iter().map(|a| a.0).filter(|a| *a != "k" && *a != "j").collect();
    out.push("n");
    Sample::new(vec![l, r], |x| x[0].dot(&x[1], &["k", "j"]), move |x| contract(&x[0], &x[1], &out))
}

/// `x` with `k` anywhere, a matrix from `k` to `n`.
fn project(g: &mut Gen) -> Sample {
    let (b, m, n, k) = (g.size(), g.size1(), g.size(), g.size());
    let x = g.tensor(&[("b", b), ("k", k), ("m", m)], -1.0, 1.0);
    let w = g.tensor(&[("k", k), ("n", n)], -1.0, 1.0);
    Sample::new(vec![x, w], |x| x[0].project(&x[1]), |x| contract(&x[0], &x[1], &["b", "m", "n"]))
}

fn affine(g: &mut Gen) -> Sample {
    let Sample { mut inputs, .. } = project(g);
    let n = inputs[1].shape()[1];
    inputs.push(g.tensor(&[("n", n)], -1.0, 1.0));
    Sample::new(
        inputs,
        |x| x[0].affine(&x[1], &x[2]),
        |x| {
            let y = contract(&x[0], &x[1], &["b", "m", "n"]);
            let named = [("b", y.size("b")), ("m", y.size("m")), ("n", y.size("n"))];
            Naive::from_fn(&named, |ix| y.at_named(&["b", "m", "n"], ix) + x[2].at_named(&["n"], &ix[2..]))
        },
    )
}

/// An output in any order; one axis of each operand is in it alone and dropped.
fn einsum(g: &mut Gen) -> Sample {
    let (b, m, n, k, p, q) = (g.size(), g.size(), g.size(), g.size(), g.size1().min(4), g.size1().min(4));
    let l = g.tensor(&[("m", m), ("p", p), ("k", k), ("b", b)], -1.0, 1.0);
    let r = g.tensor(&[("b", b), ("n", n), ("q", q), ("k", k)], -1.0, 1.0);
    let mut out = ["b", "m", "n"];
    for i in (1..3).rev() {
        let j = g.below(i + 1);
        out.swap(i, j);
    }
    Sample::new(vec![l, r], move |x| x[0].einsum(&x[1], &out), move |x| contract(&x[0], &x[1], &out))
}

/// A sum of k products of numbers below 1 strays by at most k rounding errors of its largest partial sum, and those
/// are of the size of the output's largest element; k is at most 90 * 5 in large trials, 36 in the others.
pub fn cases() -> Vec<Case> {
    vec![
        Case { op: "dot", ulps: 80.0, grad: Grad::Smooth, sample: dot },
        Case { op: "project", ulps: 80.0, grad: Grad::Smooth, sample: project },
        Case { op: "affine", ulps: 80.0, grad: Grad::Smooth, sample: affine },
        Case { op: "einsum", ulps: 160.0, grad: Grad::Smooth, sample: einsum },
    ]
}
