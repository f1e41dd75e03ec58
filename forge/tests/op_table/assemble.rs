//! Tensors made of others, and broadcasting asked for.

use crate::gen_::Gen;
use crate::naive::Naive;
use crate::{Case, Exempt, Grad, Sample};

fn concat(g: &mut Gen) -> Sample {
    let (a, c) = (g.size(), g.size());
    let n = [g.size(), g.size(), g.size()];
    let x: Vec<_> = n.iter().map(|&n| g.tensor(&[("a", a), ("b", n), ("c", c)], -1.0, 1.0)).collect();
    Sample::new(
        x,
        |x| x[0].concat("b", &[&x[1], &x[2]]),
        move |x| {
            Naive::from_fn(&[("a", a), ("b", n.iter().sum()), ("c", c)], |i| {
                let (mut k, mut b) = (0, i[1]);
                while b >= n[k] {
                    b -= n[k];
                    k += 1;
                }
                x[k].at(&[i[0], b, i[2]])
            })
        },
    )
}

fn concat_into(g: &mut Gen) -> Sample {
    let (a, b, c) = (g.size(), g.size(), g.size());
    let x = vec![g.tensor(&[("a", a), ("b", b)], -1.0, 1.0), g.tensor(&[("c", c), ("a", a)], -1.0, 1.0)];
    Sample::new(
        x,
        |x| x[0].concat_into("b", &x[1], "c", "z"),
        move |x| {
            Naive::from_fn(
                &[("a", a), ("z", b + c)],
                |i| {
                    if i[1] < b { x[0].at(i) } else { x[1].at(&[i[1] - b, i[0]]) }
                },
            )
        },
    )
}

fn stack(g: &mut Gen) -> Sample {
    let (a, b) = (g.size(), g.size());
    let x: Vec<_> = (0..3).map(|_| g.tensor(&[("a", a), ("b", b)], -1.0, 1.0)).collect();
    Sample::new(
        x,
        |x| x[0].stack("z", &[&x[1], &x[2]]),
        move |x| Naive::from_fn(&[("z", 3), ("a", a), ("b", b)], |i| x[i[0]].at(&i[1..])),
    )
}

fn unbind(g: &mut Gen) -> Sample {
    let (a, b) = (g.size(), if g.large { 3 } else { g.size1() });
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    Sample {
        inputs: vec![x],
        run: Box::new(|x| x[0].unbind("b")),
        twin: Box::new(move |x| (0..b).map(|k| Naive::from_fn(&[("a", a)], |i| x[0].at(&[i[0], k]))).collect()),
    }
}

fn repeat(g: &mut Gen) -> Sample {
    let (a, b, n) = (g.size(), g.size(), g.below(4));
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    Sample::new(
        vec![x],
        move |x| x[0].repeat("a", n),
        move |x| Naive::from_fn(&[("a", a * n), ("b", b)], |i| x[0].at(&[i[0] % a, i[1]])),
    )
}

fn repeat_interleave(g: &mut Gen) -> Sample {
    let (a, b, n) = (g.size(), g.size(), g.below(4));
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    Sample::new(
        vec![x],
        move |x| x[0].repeat_interleave("a", n),
        move |x| Naive::from_fn(&[("a", a * n), ("b", b)], |i| x[0].at(&[i[0] / n, i[1]])),
    )
}

fn roll(g: &mut Gen) -> Sample {
    let (a, b) = (g.size(), g.size());
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    let shift = g.below(20) as isize - 10;
    Sample::new(
        vec![x],
        move |x| x[0].roll("b", shift),
        move |x| {
            Naive::from_fn(&[("a", a), ("b", b)], |i| {
                x[0].at(&[i[0], (i[1] as isize - shift).rem_euclid(b as isize) as usize])
            })
        },
    )
}

/// Two counts that leave an axis of size `n` at least empty.
fn pads(g: &mut Gen, n: usize) -> (isize, isize) {
    let before = g.below(n + 4) as isize - n as isize;
    let after = g.below(n + 6) as isize - n as isize;
    (before, after.max(-(n as isize) - before))
}

fn padded(n: usize, (before, after): (isize, isize)) -> usize {
    (n as isize + before + after) as usize
}

fn pad(g: &mut Gen) -> Sample {
    let (a, b) = (g.size(), g.size());
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    let p = pads(g, a);
    Sample::new(
        vec![x],
        move |x| x[0].pad("a", p.0, p.1, 0.5),
        move |x| {
            Naive::from_fn(&[("a", padded(a, p)), ("b", b)], |i| {
                let k = i[0] as isize - p.0;
                if (0..a as isize).contains(&k) { x[0].at(&[k as usize, i[1]]) } else { 0.5 }
            })
        },
    )
}

fn pad2d(g: &mut Gen, value: f64) -> Sample {
    let (a, b, c) = (g.size(), g.size(), if g.large { 2 } else { g.size() });
    let x = g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0);
    let (p, q) = (pads(g, a), pads(g, b));
    let run = move |x: &[forge::DynTensor]| {
        if value == 0.0 { x[0].zero_pad2d("a", "b", [p, q]) } else { x[0].constant_pad2d("a", "b", [p, q], value) }
    };
    Sample::new(vec![x], run, move |x| {
        Naive::from_fn(&[("a", padded(a, p)), ("b", padded(b, q)), ("c", c)], |i| {
            let (k, l) = (i[0] as isize - p.0, i[1] as isize - q.0);
            let inside = (0..a as isize).contains(&k) && (0..b as isize).contains(&l);
            if inside { x[0].at(&[k as usize, l as usize, i[2]]) } else { value }
        })
    })
}

fn diag_embed(g: &mut Gen) -> Sample {
    let (a, b, c) = (g.size(), g.size(), if g.large { 2 } else { g.size() });
    let x = g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0);
    Sample::new(
        vec![x],
        |x| x[0].diag_embed("b", "r", "s"),
        move |x| {
            Naive::from_fn(&[("a", a), ("r", b), ("s", b), ("c", c)], |i| {
                if i[1] == i[2] { x[0].at(&[i[0], i[1], i[3]]) } else { 0.0 }
            })
        },
    )
}

fn trace(g: &mut Gen) -> Sample {
    let (a, b, c) = (g.size(), g.size(), g.size());
    let x = g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0);
    Sample::new(
        vec![x],
        |x| x[0].trace("a", "c"),
        move |x| Naive::from_fn(&[("b", b)], |i| (0..a.min(c)).map(|k| x[0].at(&[k, i[0], k])).sum()),
    )
}

fn set_slice(g: &mut Gen) -> Sample {
    let (a, b) = (g.size(), g.size());
    let start = g.below(b + 1);
    let len = g.below(b - start + 1);
    let x = vec![g.tensor(&[("a", a), ("b", b)], -1.0, 1.0), g.tensor(&[("b", len), ("a", a)], -1.0, 1.0)];
    Sample::new(
        x,
        move |x| x[0].set_slice("b", start, &x[1]),
        move |x| {
            Naive::from_fn(&[("a", a), ("b", b)], |i| {
                if (start..start + len).contains(&i[1]) { x[1].at(&[i[1] - start, i[0]]) } else { x[0].at(i) }
            })
        },
    )
}

fn zero_slice(g: &mut Gen) -> Sample {
    let (a, b) = (g.size(), g.size());
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    let start = g.below(a + 1);
    let end = start + g.below(a - start + 1);
    Sample::new(
        vec![x],
        move |x| x[0].zero_slice("a", start..end),
        move |x| Naive::from_fn(&[("a", a), ("b", b)], |i| if (start..end).contains(&i[0]) { 0.0 } else { x[0].at(i) }),
    )
}

fn align_to(g: &mut Gen) -> Sample {
    let (a, b) = (g.size(), g.size());
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    Sample::new(
        vec![x],
        |x| x[0].align_to(&["b", "z", "a"]),
        move |x| Naive::from_fn(&[("b", b), ("z", 1), ("a", a)], |i| x[0].at(&[i[2], i[0]])),
    )
}

fn broadcast_to(g: &mut Gen) -> Sample {
    let (a, b, n) = (g.size(), g.size(), g.size());
    let x = g.tensor(&[("a", a), ("b", b)], -1.0, 1.0);
    Sample::new(
        vec![x],
        move |x| x[0].broadcast_to(&["b", "z", "a"], &[b, n, a]),
        move |x| Naive::from_fn(&[("b", b), ("z", n), ("a", a)], |i| x[0].at(&[i[2], i[0]])),
    )
}

fn broadcast_like(g: &mut Gen) -> Sample {
    let (a, n) = (g.size(), g.size());
    let x = vec![g.tensor(&[("a", a)], -1.0, 1.0), g.tensor(&[("z", n), ("a", a)], -1.0, 1.0)];
    Sample::new(
        x,
        |x| x[0].broadcast_like(&x[1].detach()),
        move |x| Naive::from_fn(&[("z", n), ("a", a)], |i| x[0].at(&[i[1]])),
    )
}

/// A block that centres along b, run over the rest.
fn over(g: &mut Gen) -> Sample {
    let (a, b, c) = (g.size(), g.size1(), g.size());
    let x = g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0);
    Sample::new(
        vec![x],
        |x| x[0].over(&["b"], |x| x.mul(&x.sum("b")?)),
        move |x| {
            let s = x[0].reduce("b", |v| v.iter().sum());
            Naive::from_fn(&[("a", a), ("b", b), ("c", c)], |i| x[0].at(i) * s.at(&[i[0], i[2]]))
        },
    )
}

fn over_to(g: &mut Gen) -> Sample {
    let (a, b, c) = (g.size(), g.size1(), g.size());
    let x = g.tensor(&[("a", a), ("b", b), ("c", c)], -1.0, 1.0);
    Sample::new(
        vec![x],
        |x| x[0].over_to(&["b"], &[], |x| x.square()?.sum("b")),
        move |x| x[0].reduce("b", |v| v.iter().map(|v| v * v).sum()),
    )
}

pub fn cases() -> Vec<Case> {
    let exact = |op, sample| Case { op, ulps: 0.0, grad: Grad::Smooth, sample };
    // Sums of at most 100 terms.
    let sums = |op, sample| Case { op, ulps: 200.0, grad: Grad::Smooth, sample };
    vec![
        exact("concat", concat),
        exact("concat_into", concat_into),
        exact("stack", stack),
        exact("unbind", unbind),
        exact("repeat", repeat),
        exact("repeat_interleave", repeat_interleave),
        exact("roll", roll),
        exact("pad", pad),
        exact("constant_pad2d", |g| pad2d(g, 0.25)),
        exact("zero_pad2d", |g| pad2d(g, 0.0)),
        exact("diag_embed", diag_embed),
        sums("trace", trace),
        exact("set_slice", set_slice),
        exact("zero_slice", zero_slice),
        exact("align_to", align_to),
        exact("broadcast_to", broadcast_to),
        exact("broadcast_like", broadcast_like),
        sums("over", over),
        sums("over_to", over_to),
    ]
}

pub fn exempt() -> Vec<Exempt> {
    vec![Exempt("to_array", "copies elements out; tests/structure")]
}
