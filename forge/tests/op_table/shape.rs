//! Views and rearrangements.

use crate::gen_::Gen;
use crate::naive::Naive;
use crate::{Case, Exempt, Grad, Sample};

fn abc(g: &mut Gen) -> (usize, usize, usize) {
    (g.size(), g.size(), g.size())
}

fn permute(g: &mut Gen) -> Sample {
    let (a, b, c) = abc(g);
    let x = g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0);
    Sample::new(
        vec![x],
        |x| x[0].permute(&["c", "a", "b"]),
        move |x| Naive::from_fn(&[("c", c), ("a", a), ("b", b)], |i| x[0].at(&[i[1], i[2], i[0]])),
    )
}

fn rename(g: &mut Gen) -> Sample {
    let (a, b, _) = abc(g);
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    Sample::new(vec![x], |x| x[0].rename("a", "z"), move |x| Naive::from_fn(&[("z", a), ("b", b)], |i| x[0].at(i)))
}

fn split(g: &mut Gen) -> Sample {
    let (a, b, c) = abc(g);
    let x = g.tensor(&[("a", a), ("b", b * c)], -1.0, 1.0);
    Sample::new(
        vec![x],
        move |x| x[0].split("b", &["p", "q"], &[b, c]),
        move |x| Naive::from_fn(&[("a", a), ("p", b), ("q", c)], |i| x[0].at(&[i[0], i[1] * c + i[2]])),
    )
}

fn merge(g: &mut Gen) -> Sample {
    let (a, b, c) = abc(g);
    let x = g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0);
    // c and a do not stand together: they are brought to a's place... of the first named, c.
    Sample::new(
        vec![x],
        |x| x[0].merge(&["c", "a"], "z"),
        move |x| Naive::from_fn(&[("b", b), ("z", c * a)], |i| x[0].at(&[i[1] % a, i[0], i[1] / a])),
    )
}

fn insert(g: &mut Gen) -> Sample {
    let (a, _, _) = abc(g);
    let x = g.tensor(&[("a", a)], -1.0, 1.0);
    Sample::new(vec![x], |x| x[0].insert("z"), move |x| Naive::from_fn(&[("a", a), ("z", 1)], |i| x[0].at(&i[..1])))
}

fn insert_front(g: &mut Gen) -> Sample {
    let (a, _, _) = abc(g);
    let x = g.tensor(&[("a", a)], -1.0, 1.0);
    Sample::new(
        vec![x],
        |x| x[0].insert_front("z"),
        move |x| Naive::from_fn(&[("z", 1), ("a", a)], |i| x[0].at(&i[1..])),
    )
}

fn squeeze(g: &mut Gen) -> Sample {
    let (a, b, _) = abc(g);
    let x = g.tensor(&[("a", a), ("z", 1), ("b", b)], -1.0, 1.0);
    Sample::new(
        vec![x],
        |x| x[0].squeeze("z"),
        move |x| Naive::from_fn(&[("a", a), ("b", b)], |i| x[0].at(&[i[0], 0, i[1]])),
    )
}

fn expand(g: &mut Gen) -> Sample {
    let (a, b, n) = abc(g);
    let x = g.tensor(&[("a", a), ("z", 1), ("b", b)], -1.0, 1.0);
    Sample::new(
        vec![x],
        move |x| x[0].expand("z", n),
        move |x| Naive::from_fn(&[("a", a), ("z", n), ("b", b)], |i| x[0].at(&[i[0], 0, i[2]])),
    )
}

fn narrow(g: &mut Gen) -> Sample {
    let (a, b, _) = abc(g);
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    let start = g.below(b + 1);
    let len = g.below(b - start + 1);
    Sample::new(
        vec![x],
        move |x| x[0].narrow("b", start..start + len),
        move |x| Naive::from_fn(&[("a", a), ("b", len)], |i| x[0].at(&[i[0], start + i[1]])),
    )
}

fn select(g: &mut Gen) -> Sample {
    let (a, b) = (g.size(), g.size1());
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    let at = g.below(b);
    // Counted from the end in half of the trials.
    let index = if g.coin() { at as isize } else { at as isize - b as isize };
    Sample::new(
        vec![x],
        move |x| x[0].select("b", index),
        move |x| Naive::from_fn(&[("a", a)], |i| x[0].at(&[i[0], at])),
    )
}

fn slice(g: &mut Gen) -> Sample {
    let (a, b, _) = abc(g);
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    let bound = |g: &mut Gen| if g.below(3) == 0 { None } else { Some(g.below(2 * b + 3) as isize - b as isize - 1) };
    let (s, e) = (bound(g), bound(g));
    let step = [1, 2, 3, -1, -2][g.below(5)];
    // Python's rules, position by position.
    let n = b as isize;
    let clamp = |v: isize, lo: isize, hi: isize| (if v < 0 { v + n } else { v }).clamp(lo, hi);
    let (mut at, end) = if step > 0 {
        (s.map_or(0, |v| clamp(v, 0, n)), e.map_or(n, |v| clamp(v, 0, n)))
    } else {
        (s.map_or(n - 1, |v| clamp(v, -1, n - 1)), e.map_or(-1, |v| clamp(v, -1, n - 1)))
    };
    let mut picks = Vec::new();
    while (step > 0 && at < end) || (step < 0 && at > end) {
        picks.push(at as usize);
        at += step;
    }
    Sample::new(
        vec![x],
        move |x| x[0].slice("b", s, e, step),
        move |x| Naive::from_fn(&[("a", a), ("b", picks.len())], |i| x[0].at(&[i[0], picks[i[1]]])),
    )
}

fn flip(g: &mut Gen) -> Sample {
    let (a, b, _) = abc(g);
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    Sample::new(
        vec![x],
        |x| x[0].flip("a"),
        move |x| Naive::from_fn(&[("a", a), ("b", b)], |i| x[0].at(&[a - 1 - i[0], i[1]])),
    )
}

fn diagonal(g: &mut Gen) -> Sample {
    let (a, b, c) = abc(g);
    let x = g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0);
    Sample::new(
        vec![x],
        |x| x[0].diagonal("a", "c", "d"),
        move |x| Naive::from_fn(&[("b", b), ("d", a.min(c))], |i| x[0].at(&[i[1], i[0], i[1]])),
    )
}

fn reshape(g: &mut Gen) -> Sample {
    let (a, b, c) = abc(g);
    let x = g.tensor(&[("a", a), ("b", b * c)], -1.0, 1.0);
    Sample::new(
        vec![x],
        move |x| x[0].reshape(&["p", "q"], &[b, c * a]),
        move |x| {
            let flat = x[0].data.clone();
            Naive::from_fn(&[("p", b), ("q", c * a)], |i| flat[i[0] * c * a + i[1]])
        },
    )
}

fn flatten(g: &mut Gen) -> Sample {
    let (a, b, _) = abc(g);
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    Sample::new(
        vec![x],
        |x| x[0].flatten("z"),
        move |x| {
            let flat = x[0].data.clone();
            Naive::from_fn(&[("z", a * b)], |i| flat[i[0]])
        },
    )
}

/// Nothing is computed: results are exact.
pub fn cases() -> Vec<Case> {
    let exact = |op, sample| Case { op, ulps: 0.0, grad: Grad::Smooth, sample };
    vec![
        exact("permute", permute),
        exact("rename", rename),
        exact("split", split),
        exact("merge", merge),
        exact("insert", insert),
        exact("insert_front", insert_front),
        exact("squeeze", squeeze),
        exact("expand", expand),
        exact("narrow", narrow),
        exact("select", select),
        exact("slice", slice),
        exact("flip", flip),
        exact("diagonal", diagonal),
        exact("reshape", reshape),
        exact("flatten", flatten),
    ]
}

pub fn exempt() -> Vec<Exempt> {
    vec![
        Exempt("to", "casts are exact maps between dtypes; tests/cast.rs"),
        Exempt("zeros_like", "a constructor; tests/construct.rs"),
        Exempt("full_like", "a constructor; tests/construct.rs"),
        Exempt("contiguous", "the values stay; every case uses it through random layouts"),
    ]
}
