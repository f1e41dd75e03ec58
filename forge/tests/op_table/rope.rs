//! Rotary position embedding and relative positions.

use crate::gen_::{Gen, shuffled};
use crate::naive::Naive;
use crate::{Case, Grad, Sample};
use forge::Rope;

fn rope(g: &mut Gen) -> Sample {
    let d = g.size();
    let sizes = [("s", g.size()), ("h", g.size()), ("d", d)];
    let axes = shuffled(g, &sizes);
    let x = g.tensor(&axes, -2.0, 2.0);
    let dims = 2 * g.below(d / 2 + 1);
    let positions: Vec<i64> = (0..sizes[0].1).map(|_| g.below(200) as i64 - 50).collect();
    let kind = g.below(3);
    let inverse = g.coin();
    let rope = Rope::new(dims, 100.0);
    let rope = [rope.clone(), rope.clone().interleaved(), rope.interleaved_tail()][kind].clone();
    let table = rope.table(positions.iter().copied());
    let table = if inverse { table.inverse() } else { table };
    Sample::new(
        vec![x],
        move |x| x[0].rope("s", "d", &table),
        move |x| {
            let (ps, pd) = (x[0].position("s"), x[0].position("d"));
            Naive::from_fn(&x[0].named(), |ix| {
                let first = if kind == 2 { d - dims } else { 0 };
                let Some(i) = ix[pd].checked_sub(first).filter(|i| *i < dims) else { return x[0].at(ix) };
                // The pair, and which of its two this is.
                let (pair, second) = if kind == 0 { (i % (dims / 2), i >= dims / 2) } else { (i / 2, i % 2 == 1) };
                let other = match (kind, second) {
                    (0, false) => i + dims / 2,
                    (0, true) => i - dims / 2,
                    (_, false) => i + 1,
                    (_, true) => i - 1,
                };
                let mut at = ix.to_vec();
                at[pd] = first + other;
                let angle = positions[ix[ps]] as f64 / 100f64.powf(2.0 * pair as f64 / dims as f64);
                let sin = if inverse { -angle.sin() } else { angle.sin() };
                x[0].at(ix) * angle.cos() + x[0].at(&at) * if second { sin } else { -sin }
            })
        },
    )
}

fn relpos_shift(g: &mut Gen) -> Sample {
    let (q, k) = (g.size(), g.size());
    let p = (q + k).saturating_sub(1) + g.below(3);
    let sizes = [("h", g.size()), ("q", q), ("r", p)];
    let axes = shuffled(g, &sizes);
    let x = g.tensor(&axes, -2.0, 2.0);
    Sample::new(
        vec![x],
        move |x| x[0].relpos_shift("q", "r", "k", k),
        move |x| {
            let (pq, pr) = (x[0].position("q"), x[0].position("r"));
            let mut named = x[0].named();
            named[pr] = ("k", k);
            Naive::from_fn(&named, |ix| {
                let mut at = ix.to_vec();
                at[pr] = ix[pr] + (q - 1) - ix[pq];
                x[0].at(&at)
            })
        },
    )
}

/// A turn is two products and a sum; a shift moves elements.
pub fn cases() -> Vec<Case> {
    vec![
        Case { op: "rope", ulps: 4.0, grad: Grad::Smooth, sample: rope },
        Case { op: "relpos_shift", ulps: 0.0, grad: Grad::Smooth, sample: relpos_shift },
    ]
}
