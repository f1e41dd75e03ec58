//! Positions along an axis; masks; dropout; bounds; integers and bits.

use crate::gen_::Gen;
use crate::naive::Naive;
use crate::{Case, Grad, Sample};
use forge::DynTensor;
use forge::rng::Key;

/// An index with values below `n`, in a random memory layout.
fn index(g: &mut Gen, axes: &[(&str, usize)], n: usize) -> DynTensor {
    integers(g, axes, |g| g.below(n) as i64)
}

fn integers(g: &mut Gen, axes: &[(&str, usize)], mut value: impl FnMut(&mut Gen) -> i64) -> DynTensor {
    let names: Vec<&str> = axes.iter().map(|a| a.0).collect();
    let shape: Vec<usize> = axes.iter().map(|a| a.1).collect();
    let data: Vec<i64> = (0..shape.iter().product()).map(|_| value(g)).collect();
    let x = DynTensor::from_vec(&names, &shape, data).unwrap();
    g.relaid(&x)
}

/// `n` different positions below `size`.
fn distinct(g: &mut Gen, n: usize, size: usize) -> DynTensor {
    let mut all: Vec<i64> = (0..size as i64).collect();
    for i in (1..size).rev() {
        let j = g.below(i + 1);
        all.swap(i, j);
    }
    DynTensor::from_vec(&["rows"], &[n], all[..n].to_vec()).unwrap()
}

fn mask(g: &mut Gen, axes: &[(&str, usize)]) -> DynTensor {
    let x = integers(g, axes, |g| i64::from(g.coin()));
    x.to(forge::DType::Bool).unwrap()
}

fn gather(g: &mut Gen) -> Sample {
    let (a, b, c) = (g.size(), g.size1(), if g.large { 3 } else { g.size() });
    let (p, q) = (g.size(), if g.large { 2 } else { g.size() });
    let x = vec![g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0), index(g, &[("p", p), ("q", q)], b)];
    Sample::new(
        x,
        |x| x[0].gather("b", &x[1]),
        move |x| {
            Naive::from_fn(&[("a", a), ("p", p), ("q", q), ("c", c)], |i| {
                x[0].at(&[i[0], x[1].at(&[i[1], i[2]]) as usize, i[3]])
            })
        },
    )
}

/// The index shares `a` (run together) and brings `p`; `c` it lacks.
fn index_select(g: &mut Gen) -> Sample {
    let (a, b, c, p) = (g.size(), g.size1(), if g.large { 3 } else { g.size() }, g.size());
    let x = vec![g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0), index(g, &[("p", p), ("a", a)], b)];
    Sample::new(
        x,
        |x| x[0].index_select("b", &x[1]),
        move |x| {
            Naive::from_fn(&[("a", a), ("p", p), ("c", c)], |i| x[0].at(&[i[0], x[1].at(&[i[1], i[0]]) as usize, i[2]]))
        },
    )
}

fn take_along_axis(g: &mut Gen) -> Sample {
    let (a, b, n) = (g.size(), g.size1(), g.size());
    let x = vec![g.tensor(&[("b", b), ("a", a)], -1.0, 1.0), index(g, &[("a", a), ("b", n)], b)];
    Sample::new(
        x,
        |x| x[0].take_along_axis("b", &x[1]),
        move |x| Naive::from_fn(&[("b", n), ("a", a)], |i| x[0].at(&[x[1].at(&[i[1], i[0]]) as usize, i[1]])),
    )
}

/// `x` with `src` put at the positions of an index that shares `a` and brings `p`.
fn scattered(x: &[Naive], set: bool) -> Naive {
    let mut out = x[0].clone();
    let (b, c) = (out.size("b"), out.size("c"));
    crate::naive::each(&x[2].shape, |i| {
        // src has the axes a, p, c.
        let at = (i[0] * b + x[1].at(&[i[1], i[0]]) as usize) * c + i[2];
        let v = x[2].at(i);
        out.data[at] = if set { v } else { out.data[at] + v };
    });
    out
}

fn scatter(g: &mut Gen, set: bool) -> Sample {
    let (a, b, c, p) = (if g.large { 2 } else { g.size() }, g.size1(), g.size(), g.size());
    let x = vec![
        g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0),
        index(g, &[("p", p), ("a", a)], b),
        g.tensor(&[("a", a), ("p", p), ("c", c)], -1.0, 1.0),
    ];
    let run = move |x: &[DynTensor]| {
        if set { x[0].scatter("b", &x[1], &x[2]) } else { x[0].scatter_add("b", &x[1], &x[2]) }
    };
    Sample::new(x, run, move |x| scattered(x, set))
}

fn rows(g: &mut Gen, n: usize, unique: bool) -> (usize, DynTensor) {
    let picks = if unique { g.below(n + 1) } else { g.size() };
    let list = if unique { distinct(g, picks, n) } else { index(g, &[("rows", picks)], n) };
    (picks, list)
}

/// `add`: rows add up; else they replace.
fn with_rows(g: &mut Gen, add: bool) -> Sample {
    let (a, b, c) = (g.size(), g.size1(), if g.large { 3 } else { g.size() });
    let (picks, list) = rows(g, b, !add);
    let x = vec![
        g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0),
        list,
        g.tensor(&[("c", c), ("b", picks), ("a", a)], -1.0, 1.0),
    ];
    let run = move |x: &[DynTensor]| {
        if add { x[0].index_add("b", &x[1], &x[2]) } else { x[0].set_rows("b", &x[1], &x[2]) }
    };
    Sample::new(x, run, move |x| {
        Naive::from_fn(&[("a", a), ("b", b), ("c", c)], |i| {
            let mut v = x[0].at(i);
            for j in (0..picks).filter(|&j| x[1].at(&[j]) as usize == i[1]) {
                let s = x[2].at(&[i[2], j, i[0]]);
                v = if add { v + s } else { s };
            }
            v
        })
    })
}

fn zero_rows(g: &mut Gen) -> Sample {
    let (a, b) = (g.size(), g.size1());
    let (picks, list) = rows(g, b, false);
    let x = vec![g.tensor(&[("a", a), ("b", b)], -1.0, 1.0), list];
    Sample::new(
        x,
        |x| x[0].zero_rows("b", &x[1]),
        move |x| {
            Naive::from_fn(&[("a", a), ("b", b)], |i| {
                if (0..picks).any(|j| x[1].at(&[j]) as usize == i[1]) { 0.0 } else { x[0].at(i) }
            })
        },
    )
}

/// The mask has the axes c and a, in this order; b stays.
fn masked_select(g: &mut Gen) -> Sample {
    let (a, b, c) = (g.size(), if g.large { 3 } else { g.size() }, g.size());
    let x = vec![g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0), mask(g, &[("c", c), ("a", a)])];
    Sample::new(
        x,
        |x| x[0].masked_select(&x[1], "z"),
        move |x| {
            let picks = picked(&x[1]);
            Naive::from_fn(&[("b", b), ("z", picks.len())], |i| x[0].at(&[picks[i[1]][1], i[0], picks[i[1]][0]]))
        },
    )
}

fn picked(mask: &Naive) -> Vec<Vec<usize>> {
    let mut picks = Vec::new();
    crate::naive::each(&mask.shape, |i| {
        if mask.at(i) != 0.0 {
            picks.push(i.to_vec());
        }
    });
    picks
}

fn masked_scatter(g: &mut Gen) -> Sample {
    let (a, b, c) = (g.size(), if g.large { 3 } else { g.size() }, g.size());
    let m = mask(g, &[("c", c), ("a", a)]);
    let n = m.to_vec::<bool>().unwrap().iter().filter(|m| **m).count();
    let x = vec![g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0), m, g.tensor(&[("z", n), ("b", b)], -1.0, 1.0)];
    Sample::new(
        x,
        |x| x[0].masked_scatter(&x[1], &x[2], "z"),
        move |x| {
            let picks = picked(&x[1]);
            Naive::from_fn(&[("a", a), ("b", b), ("c", c)], |i| {
                match picks.iter().position(|p| p[0] == i[2] && p[1] == i[0]) {
                    Some(k) => x[2].at(&[k, i[1]]),
                    None => x[0].at(i),
                }
            })
        },
    )
}

fn dropout(g: &mut Gen) -> Sample {
    let (a, b) = (g.size(), g.size());
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    let p = [0.0, 0.25, 0.6, 1.0][g.below(4)];
    let key = Key::new(g.u64()).derive("table");
    Sample::new(
        vec![x],
        move |x| x[0].dropout(p, key),
        move |x| {
            Naive::from_fn(&[("a", a), ("b", b)], |i| {
                let kept = key.unit_at((i[0] * b + i[1]) as u64) < 1.0 - p;
                if kept { x[0].at(i) / (1.0 - p) } else { 0.0 }
            })
        },
    )
}

fn clamp(g: &mut Gen) -> Sample {
    let (a, b) = (g.size(), g.size());
    let x = g.tensor_distinct(&[("a", a), ("b", b)]);
    Sample::new(vec![x], |x| x[0].clamp(-0.46875, 0.46875), |x| x[0].map(|v| v.clamp(-0.46875, 0.46875)))
}

/// A pair of integer tensors, the right one broadcast.
fn pair(
    g: &mut Gen,
    run: fn(&DynTensor, &DynTensor) -> Result<DynTensor, forge::Error>,
    twin: fn(i64, i64) -> i64,
) -> Sample {
    let (a, b) = (g.size(), g.size());
    let x = integers(g, &[("a", a), ("b", b)], |g| g.below(2001) as i64 - 1000);
    let y = integers(g, &[("b", b)], |g| {
        let v = g.below(20) as i64 - 10;
        if v < 0 { v } else { v + 1 }
    });
    Sample::new(
        vec![x, y],
        move |x| run(&x[0], &x[1]),
        move |x| Naive::from_fn(&[("a", a), ("b", b)], |i| twin(x[0].at(i) as i64, x[1].at(&i[1..]) as i64) as f64),
    )
}

fn bit_not(g: &mut Gen) -> Sample {
    let a = g.size();
    let x = integers(g, &[("a", a)], |g| g.below(100) as i64);
    Sample::new(vec![x], |x| x[0].bit_not(), |x| x[0].map(|v| -v - 1.0))
}

fn one_hot(g: &mut Gen) -> Sample {
    let (a, b, n) = (g.size(), if g.large { 2 } else { g.size() }, g.size1());
    let x = index(g, &[("a", a), ("b", b)], n);
    Sample::new(
        vec![x],
        move |x| x[0].one_hot("z", n),
        move |x| Naive::from_fn(&[("a", a), ("b", b), ("z", n)], |i| f64::from(x[0].at(&i[..2]) as usize == i[2])),
    )
}

pub fn cases() -> Vec<Case> {
    let exact = |op, sample| Case { op, ulps: 0.0, grad: Grad::Smooth, sample };
    // Up to 90 terms land on one place.
    let sums = |op, sample| Case { op, ulps: 100.0, grad: Grad::Smooth, sample };
    let ints = |op, sample| Case { op, ulps: 0.0, grad: Grad::No("integers carry no gradient"), sample };
    vec![
        exact("gather", gather),
        exact("index_select", index_select),
        exact("take_along_axis", take_along_axis),
        sums("scatter_add", |g| scatter(g, false)),
        exact("scatter", |g| scatter(g, true)),
        sums("index_add", |g| with_rows(g, true)),
        exact("set_rows", |g| with_rows(g, false)),
        exact("zero_rows", zero_rows),
        exact("masked_select", masked_select),
        exact("masked_scatter", masked_scatter),
        // The scale and the product are rounded once each.
        Case { op: "dropout", ulps: 2.0, grad: Grad::Smooth, sample: dropout },
        Case { op: "clamp", ulps: 0.0, grad: Grad::Once, sample: clamp },
        ints("div_trunc", |g| pair(g, DynTensor::div_trunc, |a, b| a / b)),
        ints("div_floor", |g| pair(g, DynTensor::div_floor, |a, b| (a as f64 / b as f64).floor() as i64)),
        ints("rem", |g| pair(g, DynTensor::rem, |a, b| a % b)),
        ints("modulo", |g| pair(g, DynTensor::modulo, |a, b| a - b * (a as f64 / b as f64).floor() as i64)),
        ints("bit_and", |g| pair(g, DynTensor::bit_and, |a, b| a & b)),
        ints("bit_or", |g| pair(g, DynTensor::bit_or, |a, b| a | b)),
        ints("bit_xor", |g| pair(g, DynTensor::bit_xor, |a, b| a ^ b)),
        ints("bit_not", bit_not),
        ints("one_hot", one_hot),
    ]
}
