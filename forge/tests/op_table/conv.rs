//! Convolutions, pooling, windows: the twins walk every output, tap and channel.

use crate::gen_::Gen;
use crate::naive::{Naive, each};
use crate::{Case, Grad, Sample};
use forge::{CausalConv1d, Conv1d, Conv2d, ConvTranspose1d, DynTensor, Pool2d, Unfold};

/// The same axes in a random order.
fn shuffled(g: &mut Gen, axes: &[(&'static str, usize)]) -> Vec<(&'static str, usize)> {
    let mut v = axes.to_vec();
    for i in (1..v.len()).rev() {
        let j = g.below(i + 1);
        v.swap(i, j);
    }
    v
}

/// The axes of a result: those of `x` with `with` at the place of `axis`, resized by `size`.
fn named<'a>(
    x: &'a Naive,
    axis: &str,
    with: &[(&'a str, usize)],
    size: impl Fn(&str) -> Option<usize>,
) -> Vec<(&'a str, usize)> {
    let mut out = Vec::new();
    for (a, n) in x.named() {
        if a == axis {
            out.extend_from_slice(with);
        } else {
            out.push((a, size(a).unwrap_or(n)));
        }
    }
    out
}

/// `pos - pad` if it lies in `0..n`.
fn inside(pos: usize, pad: usize, n: usize) -> Option<usize> {
    pos.checked_sub(pad).filter(|p| *p < n)
}

/// `x` at the named position `index`, with some axes elsewhere.
fn at(x: &Naive, names: &[&str], index: &[usize], moved: &[(&str, usize)]) -> f64 {
    let own: Vec<usize> = x
        .axes
        .iter()
        .map(|a| match moved.iter().find(|m| m.0 == a) {
            Some(m) => m.1,
            None => index[names.iter().position(|n| n == a).expect("a named axis")],
        })
        .collect();
    x.at(&own)
}

/// How one spatial axis of a case moves.
#[derive(Clone, Copy)]
struct Steps {
    stride: usize,
    pad: (usize, usize),
    dilation: usize,
}

impl Steps {
    fn draw(g: &mut Gen) -> Self {
        Self { stride: 1 + g.below(3), pad: (g.below(4), g.below(4)), dilation: 1 + g.below(3) }
    }

    /// Outputs of an axis of `n` with `taps` taps; the padding grows until the kernel fits.
    fn fit(&mut self, n: usize, taps: usize) -> usize {
        let span = (taps - 1) * self.dilation + 1;
        if n > 0 && n + self.pad.0 + self.pad.1 < span {
            self.pad.0 = span - n;
        }
        match (n + self.pad.0 + self.pad.1).checked_sub(span) {
            Some(room) => room / self.stride + 1,
            None => 0,
        }
    }
}

/// The twin of every convolution: spatial axes `(name, tap name, steps, outputs)`, channel "c", output axis "o".
fn correlate(x: &Naive, w: &Naive, spatial: &[(&'static str, &'static str, Steps, usize)], groups: usize) -> Naive {
    let (out, per) = (w.size("o"), w.size("c"));
    let axes = named(x, "c", &[("o", out)], |a| spatial.iter().find(|s| s.0 == a).map(|s| s.3));
    let names: Vec<&str> = axes.iter().map(|a| a.0).collect();
    let mut taps: Vec<usize> = spatial.iter().map(|s| w.size(s.1)).collect();
    taps.push(per);
    Naive::from_fn(&axes, |ix| {
        let here = |a: &str| ix[names.iter().position(|n| *n == a).unwrap()];
        let group = here("o") * groups / out.max(1);
        let mut total = 0.0;
        each(&taps, |k| {
            let mut moved = vec![("c", group * per + k[k.len() - 1])];
            for (i, s) in spatial.iter().enumerate() {
                match inside(here(s.0) * s.2.stride + k[i] * s.2.dilation, s.2.pad.0, x.size(s.0)) {
                    Some(p) => moved.push((s.0, p)),
                    None => return,
                }
            }
            let mut wx = vec![("c", k[k.len() - 1]), ("o", here("o"))];
            wx.extend(spatial.iter().enumerate().map(|(i, s)| (s.1, k[i])));
            total += at(x, &names, ix, &moved) * at(w, &[], &[], &wx);
        });
        total
    })
}

/// Channels per group, output channels per group, groups.
fn channels(g: &mut Gen) -> (usize, usize, usize) {
    if g.coin() { (g.size(), g.size(), 1) } else { (g.size1().min(8), g.size1().min(8), 1 + g.below(3)) }
}

fn conv1d(g: &mut Gen) -> Sample {
    let (ci, co, groups) = channels(g);
    let (b, t, k) = (g.size1().min(3), g.size(), 1 + g.below(4));
    let mut s = Steps::draw(g);
    let outputs = s.fit(t, k);
    let xa = shuffled(g, &[("b", b), ("t", t), ("c", ci * groups)]);
    let wa = shuffled(g, &[("k", k), ("c", ci), ("o", co * groups)]);
    let (x, w) = (g.tensor(&xa, -1.0, 1.0), g.tensor(&wa, -1.0, 1.0));
    let how = Conv1d::new().stride(s.stride).pad_each(s.pad.0, s.pad.1).dilation(s.dilation).groups(groups);
    Sample::new(
        vec![x, w],
        move |x| x[0].conv1d(&x[1], "t", "c", "k", how),
        move |x| correlate(&x[0], &x[1], &[("t", "k", s, outputs)], groups),
    )
}

fn causal_steps(dilation: usize, taps: usize) -> Steps {
    Steps { stride: 1, pad: ((taps - 1) * dilation, 0), dilation }
}

fn causal_conv1d(g: &mut Gen) -> Sample {
    let (ci, co, groups) = channels(g);
    let (b, t, k, d) = (g.size1().min(3), g.size(), 1 + g.below(4), 1 + g.below(4));
    let xa = shuffled(g, &[("b", b), ("t", t), ("c", ci * groups)]);
    let wa = shuffled(g, &[("k", k), ("c", ci), ("o", co * groups)]);
    let (x, w) = (g.tensor(&xa, -1.0, 1.0), g.tensor(&wa, -1.0, 1.0));
    let how = CausalConv1d::new().dilation(d).groups(groups);
    Sample::new(
        vec![x, w],
        move |x| x[0].causal_conv1d(&x[1], "t", "c", "k", how),
        move |x| correlate(&x[0], &x[1], &[("t", "k", causal_steps(d, k), t)], groups),
    )
}

/// The rows of `past`, then those of `x`, along "t".
fn after(past: &Naive, x: &Naive) -> Naive {
    let h = past.size("t");
    let axes = named(x, "", &[], |a| (a == "t").then(|| h + x.size("t")));
    let names: Vec<&str> = axes.iter().map(|a| a.0).collect();
    let p = x.position("t");
    Naive::from_fn(
        &axes,
        |ix| {
            if ix[p] < h { at(past, &names, ix, &[]) } else { at(x, &names, ix, &[("t", ix[p] - h)]) }
        },
    )
}

fn causal_conv1d_after(g: &mut Gen) -> Sample {
    let (ci, co, groups) = channels(g);
    let (b, t, k, d) = (g.size1().min(3), g.size(), 1 + g.below(4), 1 + g.below(4));
    let how = CausalConv1d::new().dilation(d).groups(groups);
    let history = how.history(k);
    let xa = shuffled(g, &[("b", b), ("t", t), ("c", ci * groups)]);
    let pa: Vec<_> = xa.iter().map(|&(a, n)| (a, if a == "t" { history } else { n })).collect();
    let wa = shuffled(g, &[("k", k), ("c", ci), ("o", co * groups)]);
    let (x, past, w) = (g.tensor(&xa, -1.0, 1.0), g.tensor(&pa, -1.0, 1.0), g.tensor(&wa, -1.0, 1.0));
    let s = Steps { stride: 1, pad: (0, 0), dilation: d };
    Sample::new(
        vec![x, past, w],
        move |x| x[0].causal_conv1d_after(&x[1], &x[2], "t", "c", "k", how),
        move |x| correlate(&after(&x[1], &x[0]), &x[2], &[("t", "k", s, t)], groups),
    )
}

fn causal_state(g: &mut Gen) -> Sample {
    let (b, t, h, c) = (g.size(), g.size(), g.size(), g.size());
    let xa = shuffled(g, &[("b", b), ("t", t), ("c", c)]);
    let pa: Vec<_> = xa.iter().map(|&(a, n)| (a, if a == "t" { h } else { n })).collect();
    let (x, past) = (g.tensor(&xa, -1.0, 1.0), g.tensor(&pa, -1.0, 1.0));
    Sample::new(
        vec![x, past],
        |x| x[0].causal_state(&x[1], "t"),
        move |x| {
            let whole = after(&x[1], &x[0]);
            let axes = x[1].named();
            let names: Vec<&str> = axes.iter().map(|a| a.0).collect();
            let p = whole.position("t");
            Naive::from_fn(&axes, |ix| at(&whole, &names, ix, &[("t", ix[p] + t)]))
        },
    )
}

/// Every channel by itself, with the filters `w`.
fn filters(x: &Naive, w: &Naive, s: Steps, outputs: usize) -> Naive {
    let axes = named(x, "", &[], |a| (a == "t").then_some(outputs));
    let names: Vec<&str> = axes.iter().map(|a| a.0).collect();
    let (pt, pc) = (x.position("t"), x.position("c"));
    Naive::from_fn(&axes, |ix| {
        (0..w.size("k"))
            .filter_map(|k| {
                let p = inside(ix[pt] + k * s.dilation, s.pad.0, x.size("t"))?;
                Some(at(x, &names, ix, &[("t", p)]) * at(w, &[], &[], &[("k", k), ("c", ix[pc])]))
            })
            .sum()
    })
}

fn causal_depthwise_conv1d(g: &mut Gen) -> Sample {
    let (b, t, c, k, d) = (g.size1().min(3), g.size(), g.size(), 1 + g.below(4), 1 + g.below(4));
    let xa = shuffled(g, &[("b", b), ("t", t), ("c", c)]);
    let wa = shuffled(g, &[("k", k), ("c", c)]);
    let (x, w) = (g.tensor(&xa, -1.0, 1.0), g.tensor(&wa, -1.0, 1.0));
    let how = CausalConv1d::new().dilation(d);
    Sample::new(
        vec![x, w],
        move |x| x[0].causal_depthwise_conv1d(&x[1], "t", "c", "k", how),
        move |x| filters(&x[0], &x[1], causal_steps(d, k), t),
    )
}

fn causal_depthwise_conv1d_after(g: &mut Gen) -> Sample {
    let (b, t, c, k, d) = (g.size1().min(3), g.size(), g.size(), 1 + g.below(4), 1 + g.below(4));
    let how = CausalConv1d::new().dilation(d);
    let history = how.history(k);
    let xa = shuffled(g, &[("b", b), ("t", t), ("c", c)]);
    let pa: Vec<_> = xa.iter().map(|&(a, n)| (a, if a == "t" { history } else { n })).collect();
    let wa = shuffled(g, &[("k", k), ("c", c)]);
    let (x, past, w) = (g.tensor(&xa, -1.0, 1.0), g.tensor(&pa, -1.0, 1.0), g.tensor(&wa, -1.0, 1.0));
    let s = Steps { stride: 1, pad: (0, 0), dilation: d };
    Sample::new(
        vec![x, past, w],
        move |x| x[0].causal_depthwise_conv1d_after(&x[1], &x[2], "t", "c", "k", how),
        move |x| filters(&after(&x[1], &x[0]), &x[2], s, t),
    )
}

fn conv_transpose1d(g: &mut Gen) -> Sample {
    let (ci, co, groups) = channels(g);
    let (b, t, k) = (g.size1().min(3), g.size(), 1 + g.below(4));
    let (stride, dilation) = (1 + g.below(3), 1 + g.below(3));
    let extra = g.below(stride.max(dilation));
    let full = t.saturating_sub(1) * stride + dilation * (k - 1) + 1 + extra;
    let pad = if t == 0 { 0 } else { g.below(full / 2 + 1).min(3) };
    let outputs = if t == 0 { 0 } else { full - 2 * pad };
    let xa = shuffled(g, &[("b", b), ("t", t), ("c", ci * groups)]);
    let wa = shuffled(g, &[("k", k), ("c", ci * groups), ("o", co)]);
    let (x, w) = (g.tensor(&xa, -1.0, 1.0), g.tensor(&wa, -1.0, 1.0));
    let mut inputs = vec![x, w];
    if g.coin() {
        inputs.push(g.tensor(&[("o", co * groups)], -1.0, 1.0));
    }
    let how = ConvTranspose1d::new().stride(stride).pad(pad).output_pad(extra).dilation(dilation).groups(groups);
    Sample::new(
        inputs,
        move |x| x[0].conv_transpose1d(&x[1], x.get(2), "t", "c", "k", how),
        move |x| {
            let axes = named(&x[0], "c", &[("o", co * groups)], |a| (a == "t").then_some(outputs));
            let names: Vec<&str> = axes.iter().map(|a| a.0).collect();
            let here = |ix: &[usize], a: &str| ix[names.iter().position(|n| *n == a).unwrap()];
            Naive::from_fn(&axes, |ix| {
                let (y, o) = (here(ix, "t"), here(ix, "o"));
                let (group, o_in) = (o / co, o % co);
                let mut total = x.get(2).map_or(0.0, |b| b.at(&[o]));
                for i in 0..t {
                    for tap in 0..k {
                        if i * stride + tap * dilation != y + pad {
                            continue;
                        }
                        for c in group * ci..(group + 1) * ci {
                            total += at(&x[0], &names, ix, &[("t", i), ("c", c)])
                                * at(&x[1], &[], &[], &[("k", tap), ("c", c), ("o", o_in)]);
                        }
                    }
                }
                total
            })
        },
    )
}

fn conv2d(g: &mut Gen) -> Sample {
    let (ci, co, groups) = channels(g);
    let (ci, co) = (ci.min(9), co.min(9));
    let b = g.size1().min(2);
    let (h, v) = (g.size().min(30), g.size().min(30));
    let (kh, kw) = (1 + g.below(3), 1 + g.below(3));
    let (mut sh, mut sv) = (Steps::draw(g), Steps::draw(g));
    sh.pad.1 = sh.pad.0;
    sv.pad.1 = sv.pad.0;
    let fit = |s: &mut Steps, n: usize, k: usize| {
        let outputs = s.fit(n, k);
        // Only symmetric padding can be asked for here.
        if s.pad.0 != s.pad.1 {
            s.pad.1 = s.pad.0;
            return s.fit(n, k);
        }
        outputs
    };
    let (oh, ov) = (fit(&mut sh, h, kh), fit(&mut sv, v, kw));
    let xa = shuffled(g, &[("b", b), ("h", h), ("v", v), ("c", ci * groups)]);
    let wa = shuffled(g, &[("kh", kh), ("kv", kw), ("c", ci), ("o", co * groups)]);
    let (x, w) = (g.tensor(&xa, -1.0, 1.0), g.tensor(&wa, -1.0, 1.0));
    let how = Conv2d::new()
        .stride((sh.stride, sv.stride))
        .pad((sh.pad.0, sv.pad.0))
        .dilation((sh.dilation, sv.dilation))
        .groups(groups);
    Sample::new(
        vec![x, w],
        move |x| x[0].conv2d(&x[1], ("h", "v"), "c", ("kh", "kv"), how),
        move |x| correlate(&x[0], &x[1], &[("h", "kh", sh, oh), ("v", "kv", sv, ov)], groups),
    )
}

/// A pooled image: `f` reduces the elements that a window meets, row by row.
fn pooled(g: &mut Gen, run: fn(&DynTensor, Pool2d) -> Result<DynTensor, forge::Error>, f: fn(&[f64]) -> f64) -> Sample {
    let (c, h, v) = (g.size1().min(20), g.size().min(20), g.size().min(20));
    let mut steps = [Steps::draw(g), Steps::draw(g)];
    let size = [1 + g.below(3), 1 + g.below(3)];
    let mut outputs = [0; 2];
    for (i, n) in [h, v].into_iter().enumerate() {
        let s = &mut steps[i];
        // Every window meets something: pads stay below the windows, and windows inside of the image.
        s.dilation = 1;
        let size = size[i].min(n.max(1));
        let pad = g.below(size);
        s.pad = (pad, pad);
        outputs[i] = s.fit(n, size);
    }
    let size = [size[0].min(h.max(1)), size[1].min(v.max(1))];
    let xa = shuffled(g, &[("h", h), ("v", v), ("c", c)]);
    let x = g.tensor_distinct(&xa);
    let [a, b] = steps;
    let how = Pool2d::new((size[0], size[1])).stride((a.stride, b.stride)).pad((a.pad.0, b.pad.0));
    Sample::new(
        vec![x],
        move |x| run(&x[0], how),
        move |x| {
            let x = &x[0];
            let axes = named(x, "", &[], |n| match n {
                "h" => Some(outputs[0]),
                "v" => Some(outputs[1]),
                _ => None,
            });
            let names: Vec<&str> = axes.iter().map(|a| a.0).collect();
            let (ph, pv) = (x.position("h"), x.position("v"));
            Naive::from_fn(&axes, |ix| {
                let mut window = Vec::new();
                each(&size, |k| {
                    let i = inside(ix[ph] * a.stride + k[0], a.pad.0, h);
                    let j = inside(ix[pv] * b.stride + k[1], b.pad.0, v);
                    if let (Some(i), Some(j)) = (i, j) {
                        window.push(at(x, &names, ix, &[("h", i), ("v", j)]));
                    }
                });
                f(&window)
            })
        },
    )
}

fn max_pool2d(g: &mut Gen) -> Sample {
    pooled(g, |x, how| x.max_pool2d(("h", "v"), how), |w| w.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

fn avg_pool2d(g: &mut Gen) -> Sample {
    pooled(g, |x, how| x.avg_pool2d(("h", "v"), how), |w| w.iter().sum::<f64>() / w.len() as f64)
}

fn upsample2x_nearest(g: &mut Gen) -> Sample {
    let (c, h, v) = (g.size(), g.size(), g.size().min(20));
    let xa = shuffled(g, &[("h", h), ("v", v), ("c", c)]);
    let x = g.tensor(&xa, -1.0, 1.0);
    Sample::new(
        vec![x],
        |x| x[0].upsample2x_nearest(("h", "v")),
        |x| {
            let x = &x[0];
            let axes = named(x, "", &[], |a| (a != "c").then(|| 2 * x.size(a)));
            let names: Vec<&str> = axes.iter().map(|a| a.0).collect();
            let (ph, pv) = (x.position("h"), x.position("v"));
            Naive::from_fn(&axes, |ix| at(x, &names, ix, &[("h", ix[ph] / 2), ("v", ix[pv] / 2)]))
        },
    )
}

/// Window size, steps with symmetric padding, number of windows.
fn windows(g: &mut Gen, n: usize) -> (usize, Steps, usize) {
    let (size, mut s) = (1 + g.below(4), Steps::draw(g));
    s.pad.1 = s.pad.0;
    if g.coin() {
        s.pad = (0, 0);
    }
    s.fit(n, size);
    s.pad.1 = s.pad.0;
    let outputs = s.fit(n, size);
    (size, s, outputs)
}

fn unfold(g: &mut Gen) -> Sample {
    let (a, t, c) = (g.size().min(9), g.size(), g.size());
    let (size, s, outputs) = windows(g, t);
    let x = g.tensor(&[("a", a), ("t", t), ("c", c)], -1.0, 1.0);
    let how = Unfold::new(size).stride(s.stride).dilation(s.dilation).pad(s.pad.0);
    Sample::new(
        vec![x],
        move |x| x[0].unfold("t", "k", how),
        move |x| {
            Naive::from_fn(&[("a", a), ("t", outputs), ("c", c), ("k", size)], |ix| {
                inside(ix[1] * s.stride + ix[3] * s.dilation, s.pad.0, t).map_or(0.0, |p| x[0].at(&[ix[0], p, ix[2]]))
            })
        },
    )
}

fn fold(g: &mut Gen) -> Sample {
    let (a, t, c) = (g.size().min(9), g.size(), g.size());
    let (size, s, outputs) = windows(g, t);
    let xa = shuffled(g, &[("a", a), ("t", outputs), ("k", size), ("c", c)]);
    let x = g.tensor(&xa, -1.0, 1.0);
    let how = Unfold::new(size).stride(s.stride).dilation(s.dilation).pad(s.pad.0);
    Sample::new(
        vec![x],
        move |x| x[0].fold("t", "k", t, how),
        move |x| {
            let axes: Vec<(&str, usize)> = x[0]
                .named()
                .into_iter()
                .filter(|a| a.0 != "k")
                .map(|(a, n)| (a, if a == "t" { t } else { n }))
                .collect();
            let names: Vec<&str> = axes.iter().map(|a| a.0).collect();
            let p = names.iter().position(|n| *n == "t").unwrap();
            Naive::from_fn(&axes, |ix| {
                let mut total = 0.0;
                for w in 0..outputs {
                    for k in 0..size {
                        if w * s.stride + k * s.dilation == ix[p] + s.pad.0 {
                            total += at(&x[0], &names, ix, &[("t", w), ("k", k)]);
                        }
                    }
                }
                total
            })
        },
    )
}

/// A convolution's output is a chain of at most 4 * 4 * 90 products of numbers below 1 in large trials, 3 * 3 * 9 in the
/// others, so it strays by as many rounding errors at worst, and by far fewer of random sign.
pub fn cases() -> Vec<Case> {
    let smooth = |op, ulps, sample| Case { op, ulps, grad: Grad::Smooth, sample };
    vec![
        smooth("conv1d", 80.0, conv1d),
        smooth("causal_conv1d", 80.0, causal_conv1d),
        smooth("causal_conv1d_after", 80.0, causal_conv1d_after),
        smooth("causal_state", 0.0, causal_state),
        smooth("causal_depthwise_conv1d", 8.0, causal_depthwise_conv1d),
        smooth("causal_depthwise_conv1d_after", 8.0, causal_depthwise_conv1d_after),
        smooth("conv_transpose1d", 80.0, conv_transpose1d),
        smooth("conv2d", 80.0, conv2d),
        Case { op: "max_pool2d", ulps: 0.0, grad: Grad::Once, sample: max_pool2d },
        smooth("avg_pool2d", 8.0, avg_pool2d),
        smooth("upsample2x_nearest", 0.0, upsample2x_nearest),
        smooth("unfold", 0.0, unfold),
        smooth("fold", 8.0, fold),
    ]
}
