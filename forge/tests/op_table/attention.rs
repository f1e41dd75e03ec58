//! Attention, by its definition.

use crate::gen_::{Gen, shuffled};
use crate::naive::Naive;
use crate::{Case, Grad, Sample};
use forge::{DynAttention, DynTensor, Span};

/// ALiBi's slope of head `h`, from its definition.
fn slope(h: usize, heads: usize, max_bias: f64) -> f64 {
    let n = 1usize << heads.ilog2();
    if h < n {
        2f64.powf(-max_bias / n as f64).powf((h + 1) as f64)
    } else {
        2f64.powf(-max_bias / 2.0 / n as f64).powf((2 * (h - n) + 1) as f64)
    }
}

/// Two spans with a gap between their queries, where there is room.
fn spans(g: &mut Gen, s: usize, k: usize) -> Option<Vec<Span>> {
    if s < 3 || k < 2 || g.coin() {
        return None;
    }
    let (i, j) = (1 + g.below(s - 2), 1 + g.below(k - 1));
    Some(vec![Span { queries: 0..i, keys: 0..j }, Span { queries: i + 1..s, keys: j..k }])
}

fn attention(g: &mut Gen) -> Sample {
    let (groups, each) = (1 + g.below(2), 1 + g.below(3));
    let heads = groups * each;
    let (b, s, k) = (g.size().min(3), g.size(), g.size());
    let (e, f) = (g.size1().min(9), g.size1().min(5));
    let same_width = g.coin();
    let (f, width) = if same_width { (e, "e") } else { (f, "f") };
    let order = |g: &mut Gen, axes: &[(&'static str, usize)]| shuffled(g, axes);
    let qa = order(g, &[("b", b), ("s", s), ("h", heads), ("e", e)]);
    let mut ka = order(g, &[("b", b), ("k", k), ("g", groups), ("e", e)]);
    let mut va = order(g, &[("b", b), ("k", k), ("g", groups), (width, f)]);
    // Keys or values may be shared by the batch.
    if g.below(4) == 0 {
        ka.retain(|a| a.0 != "b");
    }
    if g.below(4) == 0 {
        va.retain(|a| a.0 != "b");
    }
    let q = g.tensor(&qa, -1.5, 1.5);
    let (kt, vt) = (g.tensor(&ka, -1.5, 1.5), g.tensor(&va, -1.5, 1.5));
    let bias = g.coin().then(|| {
        let all = [("b", b), ("s", s), ("h", heads), ("k", k)];
        let some: Vec<(&str, usize)> = all.into_iter().filter(|_| g.coin()).collect();
        let axes = shuffled(g, &some);
        g.tensor(&axes, -1.0, 1.0)
    });
    let sinks = g.coin().then(|| g.tensor(&[("h", heads)], -1.0, 1.0));
    let (has_bias, has_sinks) = (bias.is_some(), sinks.is_some());
    let causal = g.coin();
    let window = g.coin().then(|| 1 + g.below(4));
    let offset = g.coin().then(|| g.below(5) as isize - 2);
    let alibi = g.coin().then_some(4.0);
    let scale = g.coin().then_some(0.75);
    let spans = spans(g, s, k);
    let twin_spans = spans.clone();
    let (ib, is) = (has_bias.then_some(3), has_sinks.then_some(if has_bias { 4 } else { 3 }));
    let inputs: Vec<DynTensor> = [Some(q), Some(kt), Some(vt), bias, sinks].into_iter().flatten().collect();
    Sample::new(
        inputs,
        move |x| {
            let how = DynAttention {
                queries: ["s", "h", "e"],
                keys: ["k", "g", "e"],
                value_width: width,
                scale,
                causal,
                window,
                offset,
                alibi,
                bias: ib.map(|i| &x[i]),
                sinks: is.map(|i| &x[i]),
                spans: spans.as_deref(),
            };
            x[0].attention(&x[1], &x[2], &how)
        },
        move |x| {
            let names = ["b", "s", "h", "k", "g", "e", "f"];
            let mut out: Vec<(&str, usize)> = x[0].named();
            let p = out.iter().position(|a| a.0 == "e").unwrap();
            out[p] = (width, f);
            let own: Vec<&str> = out.iter().map(|a| a.0).collect();
            Naive::from_fn(&out, |ix| {
                let at = |a: &str| ix[own.iter().position(|n| *n == a).unwrap()];
                let (bi, i, h) = (at("b"), at("s"), at("h"));
                let index = |j: usize, d: usize| [bi, i, h, j, h / each, d, d];
                let whole = Span { queries: 0..s, keys: 0..k };
                let span = match &twin_spans {
                    None => Some(&whole),
                    Some(all) => all.iter().find(|s| s.queries.contains(&i)),
                };
                let Some(span) = span else { return 0.0 };
                let place = (i - span.queries.start) as isize
                    + offset.unwrap_or(span.keys.len() as isize - span.queries.len() as isize);
                let mut scores = Vec::new();
                for j in span.keys.clone() {
                    let far = (j - span.keys.start) as isize - place;
                    if causal && far > 0 || window.is_some_and(|w| far.unsigned_abs() >= w) {
                        continue;
                    }
                    let dot: f64 =
                        (0..e).map(|d| x[0].at_named(&names, &index(j, d)) * x[1].at_named(&names, &index(j, d))).sum();
                    let mut y = dot * scale.unwrap_or(1.0 / (e as f64).sqrt());
                    y += ib.map_or(0.0, |t| x[t].at_named(&names, &index(j, 0)));
                    y -= alibi.map_or(0.0, |a| slope(h, heads, a)) * far.unsigned_abs() as f64;
                    scores.push((j, y));
                }
                let sink = is.map_or(f64::NEG_INFINITY, |t| x[t].data[h]);
                let top = scores.iter().fold(sink, |m, s| m.max(s.1));
                let total = scores.iter().map(|s| (s.1 - top).exp()).sum::<f64>() + (sink - top).exp();
                let d = at(width);
                let weigh = |s: &(usize, f64)| (s.1 - top).exp() / total * x[2].at_named(&names, &index(s.0, d));
                if scores.is_empty() { 0.0 } else { scores.iter().map(weigh).sum() }
            })
        },
    )
}

/// Scores are sums of 9 products below 2.25; an error of a score moves a probability by as much, relatively.
pub fn cases() -> Vec<Case> {
    vec![Case { op: "attention", ulps: 96.0, grad: Grad::Smooth, sample: attention }]
}
