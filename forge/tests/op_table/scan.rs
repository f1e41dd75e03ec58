//! Scans.

use crate::gen_::Gen;
use crate::naive::Naive;
use crate::reduce::factors;
use crate::{Case, Grad, Sample};
use forge::{DynTensor, Error};

fn scan(
    g: &mut Gen,
    x: impl Fn(&mut Gen, &[(&str, usize)]) -> DynTensor,
    run: fn(&DynTensor, &str) -> Result<DynTensor, Error>,
    f: fn(f64, f64) -> f64,
) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = x(g, &axes);
    let (axis, n) = axes[g.below(3)];
    Sample::new(
        vec![x],
        move |x| run(&x[0], axis),
        move |x| {
            x[0].lanes(axis, n, |lane| {
                let mut out = lane.to_vec();
                for i in 1..n {
                    out[i] = f(out[i - 1], lane[i]);
                }
                out
            })
        },
    )
}

fn segment_sum(g: &mut Gen) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = g.tensor(&axes, -2.0, 2.0);
    let (axis, n) = axes[g.below(3)];
    let mut offsets: Vec<usize> = (0..g.below(6)).map(|_| g.below(n + 1)).collect();
    offsets.extend([0, n]);
    offsets.sort_unstable();
    let twin_offsets = offsets.clone();
    Sample::new(
        vec![x],
        move |x| x[0].segment_sum(axis, &offsets, "s"),
        move |x| {
            let o = &twin_offsets;
            let mut y =
                x[0].lanes(axis, o.len() - 1, |lane| o.windows(2).map(|w| lane[w[0]..w[1]].iter().sum()).collect());
            let p = y.position(axis);
            y.axes[p] = "s".to_owned();
            y
        },
    )
}

fn linear_recurrence(g: &mut Gen) -> Sample {
    let axes = [("a", g.size()), ("b", g.size()), ("c", g.size())];
    let x = g.tensor(&axes, -2.0, 2.0);
    let (axis, n) = axes[g.below(3)];
    let mut some: Vec<_> = axes.into_iter().filter(|_| g.coin()).collect();
    if g.coin() {
        some.reverse();
    }
    let decay = g.tensor(&some, -0.9, 0.9);
    let kept: Vec<_> = axes.into_iter().filter(|a| a.0 != axis).collect();
    let mut inputs = vec![x, decay];
    if g.coin() {
        inputs.push(g.tensor(&kept, -1.0, 1.0));
    }
    Sample::new(
        inputs,
        move |x| x[0].linear_recurrence(axis, &x[1], x.get(2)),
        move |x| {
            let names = ["a", "b", "c"];
            let p = x[0].position(axis);
            let mut out = x[0].clone();
            Naive::from_fn(&x[0].named(), |ix| {
                // In row-major order the place before along any axis has been computed already.
                let a = x[1].at_named(&names, ix);
                let before = if ix[p] > 0 {
                    let mut b = ix.to_vec();
                    b[p] -= 1;
                    Some(out.at(&b))
                } else {
                    x.get(2).map(|h| h.at_named(&names, ix))
                };
                let y = x[0].at(ix) + before.map_or(0.0, |h| a * h);
                let flat = ix.iter().zip(&out.shape).fold(0, |f, (&i, &n)| f * n + i);
                out.data[flat] = y;
                y
            });
            assert!(n > 0 || out.data.is_empty());
            out
        },
    )
}

/// At most 6 steps in the twin's trials, each of one or two roundings.
pub fn cases() -> Vec<Case> {
    vec![
        Case {
            op: "cumsum",
            ulps: 8.0,
            grad: Grad::Smooth,
            sample: |g| scan(g, |g, a| g.tensor(a, -2.0, 2.0), |x, a| x.cumsum(a), |h, x| h + x),
        },
        Case {
            op: "cumprod",
            ulps: 8.0,
            grad: Grad::Smooth,
            sample: |g| scan(g, factors, |x, a| x.cumprod(a), |h, x| h * x),
        },
        Case { op: "segment_sum", ulps: 8.0, grad: Grad::Smooth, sample: segment_sum },
        Case { op: "linear_recurrence", ulps: 16.0, grad: Grad::Smooth, sample: linear_recurrence },
    ]
}
