//! Attention against a naive twin, and the bits that it promises.

use forge_kernels::attention::{Bias, Gradients, Operand, Options, Problem, Sizes, Span, Stats, backward, forward};
use forge_kernels::team::Team;

fn noise(seed: u64, n: usize) -> Vec<f32> {
    let mut s = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    let mut next = || {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        (s >> 40) as f32 / (1 << 24) as f32 * 2.0 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

struct Data {
    sizes: Sizes,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
}

impl Data {
    fn new(sizes: Sizes) -> Self {
        let s = sizes;
        Self {
            sizes,
            q: noise(1, s.batch * s.queries * s.heads * s.width),
            k: noise(2, s.batch * s.keys * s.kv_heads * s.width),
            v: noise(3, s.batch * s.keys * s.kv_heads * s.value_width),
        }
    }

    fn problem<'a>(&'a self, options: Options<'a, f32>) -> Problem<'a, f32> {
        let s = self.sizes;
        let op = |data, n: usize, heads: usize, w: usize| Operand {
            data,
            offset: 0,
            batch: (n * heads * w) as isize,
            row: (heads * w) as isize,
            head: w as isize,
        };
        Problem {
            sizes: s,
            q: op(&self.q[..], s.queries, s.heads, s.width),
            k: op(&self.k[..], s.keys, s.kv_heads, s.width),
            v: op(&self.v[..], s.keys, s.kv_heads, s.value_width),
            options,
        }
    }

    fn forward(&self, options: Options<f32>) -> Vec<f32> {
        let s = self.sizes;
        let mut out = vec![7.0; s.batch * s.queries * s.heads * s.value_width];
        forward(&self.problem(options), &mut out, &mut []);
        out
    }

    /// By the definition, in f64.
    fn naive(&self, o: Options<f32>) -> Vec<f64> {
        let s = self.sizes;
        let mut out = Vec::new();
        let whole = [Span { queries: 0..s.queries, keys: 0..s.keys }];
        for (b, i, h) in
            (0..s.batch).flat_map(|b| (0..s.queries).flat_map(move |i| (0..s.heads).map(move |h| (b, i, h))))
        {
            let g = h / (s.heads / s.kv_heads);
            let span = o.spans.unwrap_or(&whole).iter().find(|x| x.queries.contains(&i));
            let mut weights: Vec<(usize, f64)> = Vec::new();
            if let Some(span) = span {
                let off = o.offset.unwrap_or(span.keys.len() as isize - span.queries.len() as isize);
                let place = (i - span.queries.start) as isize + off;
                for j in span.keys.clone() {
                    let far = (j - span.keys.start) as isize - place;
                    if o.causal && far > 0 || o.window.is_some_and(|w| far.unsigned_abs() >= w) {
                        continue;
                    }
                    let q = &self.q[((b * s.queries + i) * s.heads + h) * s.width..][..s.width];
                    let k = &self.k[((b * s.keys + j) * s.kv_heads + g) * s.width..][..s.width];
                    let mut x =
                        q.iter().zip(k).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>() * f64::from(o.scale);
                    if let Some(bias) = &o.bias {
                        let at = [b, i, h, j].iter().zip(bias.strides).map(|(x, s)| *x as isize * s).sum::<isize>();
                        x += f64::from(bias.data[(bias.offset as isize + at) as usize]);
                    }
                    x -= o.slopes.map_or(0.0, |m| f64::from(m[h])) * far.abs() as f64;
                    weights.push((j, x));
                }
            }
            let sink = o.sinks.map_or(f64::NEG_INFINITY, |x| f64::from(x[h]));
            let top = weights.iter().fold(sink, |m, w| m.max(w.1));
            let sum: f64 = weights.iter().map(|w| (w.1 - top).exp()).sum::<f64>() + (sink - top).exp();
            for d in 0..s.value_width {
                let v = |j: usize| f64::from(self.v[((b * s.keys + j) * s.kv_heads + g) * s.value_width + d]);
                let y: f64 = weights.iter().map(|w| (w.1 - top).exp() / sum * v(w.0)).sum();
                out.push(if weights.is_empty() { 0.0 } else { y });
            }
        }
        out
    }
}

fn sizes(batch: usize, queries: usize, keys: usize, heads: usize, kv_heads: usize) -> Sizes {
    Sizes { batch, queries, keys, heads, kv_heads, width: 20, value_width: 12 }
}

fn close(got: &[f32], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len());
    for (i, (&a, &b)) in got.iter().zip(want).enumerate() {
        assert!((f64::from(a) - b).abs() < 2e-6, "{what}: element {i} is {a}, the twin says {b}");
    }
}

#[test]
fn equals_the_definition() {
    let plain = Options { scale: 0.4, ..Options::default() };
    let causal = Options { causal: true, ..plain };
    let (slopes, sinks) = ([0.5, 0.25, 0.125, 0.0625], [0.3, -1.0, 2.0, 0.0]);
    let bias = noise(5, 4 * 300);
    let bias = Bias { data: &bias, offset: 0, strides: [0, 0, 300, 1] };
    let spans = [
        Span { queries: 0..70, keys: 0..70 },
        Span { queries: 70..71, keys: 75..300 },
        Span { queries: 80..85, keys: 70..75 },
    ];
    let all = [
        ("plain", plain),
        ("causal", causal),
        ("offset", Options { offset: Some(40), ..causal }),
        ("window", Options { window: Some(37), ..causal }),
        ("window both ways", Options { window: Some(37), ..plain }),
        ("bias", Options { bias: Some(bias), ..plain }),
        ("alibi", Options { slopes: Some(&slopes), ..causal }),
        ("sinks", Options { sinks: Some(&sinks), ..causal }),
        ("ragged", Options { spans: Some(&spans), ..causal }),
        ("ragged window", Options { spans: Some(&spans), window: Some(9), ..causal }),
    ];
    for s in [sizes(2, 90, 300, 4, 2), sizes(1, 130, 300, 4, 4), sizes(1, 85, 300, 4, 1)] {
        let data = Data::new(s);
        for (name, o) in all {
            close(&data.forward(o), &data.naive(o), name);
        }
    }
    for s in [sizes(1, 5, 3, 4, 1), sizes(0, 2, 2, 4, 2), sizes(2, 0, 4, 4, 2), sizes(2, 3, 0, 4, 2)] {
        let data = Data::new(s);
        close(&data.forward(causal), &data.naive(causal), "small and empty");
    }
}

#[test]
fn a_row_has_the_same_bits_alone_and_in_company() {
    let (n, heads) = (300, 4);
    let data = Data::new(sizes(1, n, n, heads, 2));
    let slopes = [0.5, 0.25, 0.125, 0.0625];
    for window in [None, Some(50), Some(200)] {
        let o = Options { scale: 0.3, causal: true, window, slopes: Some(&slopes), ..Options::default() };
        let whole = data.forward(o);
        for (from, to) in [(0, 1), (1, 64), (100, 101), (64, 299), (255, 257), (299, 300)] {
            // Queries from..to with the keys so far, as a decoder sees them.
            let s = data.sizes;
            let part = Data {
                sizes: Sizes { queries: to - from, keys: to, ..s },
                q: data.q[from * heads * s.width..to * heads * s.width].to_vec(),
                k: data.k[..to * 2 * s.width].to_vec(),
                v: data.v[..to * 2 * s.value_width].to_vec(),
            };
            let row = heads * s.value_width;
            assert_eq!(part.forward(o), whole[from * row..to * row], "{from}..{to}, window {window:?}");
        }
        // As one of several sequences.
        let spans = [Span { queries: 0..120, keys: 0..120 }, Span { queries: 120..n, keys: 0..n }];
        let ragged = data.forward(Options { spans: Some(&spans), ..o });
        assert!(ragged == whole, "ragged, window {window:?}");
    }
}

#[test]
fn what_is_hidden_is_not_read() {
    let o = Options { causal: true, ..Options::default() };
    let mut data = Data::new(sizes(1, 70, 70, 4, 2));
    let clean = data.forward(o);
    let s = data.sizes;
    // The last key is seen by the last query alone.
    data.v[69 * 2 * s.value_width..].fill(f32::NAN);
    data.k[69 * 2 * s.width..].fill(f32::INFINITY);
    let row = s.heads * s.value_width;
    let y = data.forward(o);
    assert_eq!(y[..69 * row], clean[..69 * row]);
    assert!(y[69 * row..].iter().all(|v| v.is_nan()));
}

fn gradients(data: &Data, o: Options<f32>, want_bias: bool) -> [Vec<f32>; 5] {
    let s = data.sizes;
    let rows = s.batch * s.queries * s.heads;
    let (mut out, mut stats) = (vec![0.0; rows * s.value_width], vec![Stats::default(); rows]);
    let p = data.problem(o);
    forward(&p, &mut out, &mut stats);
    let g = noise(9, out.len());
    let mut grads = [
        vec![5.0; data.q.len()],
        vec![5.0; data.k.len()],
        vec![5.0; data.v.len()],
        vec![5.0; if want_bias { rows * s.keys } else { 0 }],
        vec![5.0; if o.sinks.is_some() { s.heads } else { 0 }],
    ];
    let [q, k, v, bias, sinks] = &mut grads;
    backward(&p, &out, &stats, &g, Gradients { q, k, v, bias, sinks });
    grads
}

/// `sum(g out)` by the definition.
fn loss(data: &Data, o: Options<f32>) -> f64 {
    let y = data.naive(o);
    noise(9, y.len()).iter().zip(y).map(|(g, y)| f64::from(*g) * y).sum()
}

#[test]
fn gradients_equal_differences() {
    let spans = [Span { queries: 0..9, keys: 0..9 }, Span { queries: 9..12, keys: 9..20 }];
    let sinks = [0.3, -1.0, 2.0, 0.0];
    let bias = noise(5, 2 * 12 * 4 * 20);
    let bias = Bias { data: &bias, offset: 0, strides: [12 * 4 * 20, 4 * 20, 20, 1] };
    let o = Options {
        scale: 0.7,
        causal: true,
        window: Some(6),
        sinks: Some(&sinks),
        bias: Some(bias),
        ..Options::default()
    };
    for (name, o) in [("dense", o), ("ragged", Options { spans: Some(&spans), ..o })] {
        let data = Data::new(sizes(2, 12, 20, 4, 2));
        let grads = gradients(&data, o, true);
        let h = 1.0 / 256.0;
        let check = |kind: usize, i: usize, n: f64| {
            let a = f64::from(grads[kind][i]);
            assert!(
                (a - n).abs() < 3e-4 * n.abs().max(1.0),
                "{name}: gradient {i} of operand {kind} is {a}, differences say {n}"
            );
        };
        for i in (0..data.k.len()).step_by(13) {
            for kind in 0..3 {
                let at = |d: f32| {
                    let mut x = Data { sizes: data.sizes, q: data.q.clone(), k: data.k.clone(), v: data.v.clone() };
                    let to = [&mut x.q, &mut x.k, &mut x.v];
                    let Some(e) = to.into_iter().nth(kind).unwrap().get_mut(i) else { return 0.0 };
                    *e += d;
                    loss(&x, o)
                };
                if i < grads[kind].len() {
                    check(kind, i, (at(h) - at(-h)) / f64::from(2.0 * h));
                }
            }
        }
        for i in 0..4 {
            let at = |d: f32| {
                let mut s = sinks;
                s[i] += d;
                loss(&data, Options { sinks: Some(&s), ..o })
            };
            check(4, i, (at(h) - at(-h)) / f64::from(2.0 * h));
        }
        for i in (0..bias.data.len()).step_by(31) {
            let at = |d: f32| {
                let mut b = bias.data.to_vec();
                b[i] += d;
                loss(&data, Options { bias: Some(Bias { data: &b, ..bias }), ..o })
            };
            check(3, i, (at(h) - at(-h)) / f64::from(2.0 * h));
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let data = Data::new(sizes(2, 150, 200, 4, 2));
    let sinks = [0.3, -1.0, 2.0, 0.0];
    let o = Options { scale: 0.3, causal: true, sinks: Some(&sinks), ..Options::default() };
    let one = Team::single().enter(|| (data.forward(o), gradients(&data, o, true)));
    for n in [2, 3, 8] {
        let many = Team::new(n).enter(|| (data.forward(o), gradients(&data, o, true)));
        assert!(one == many, "{n} threads");
    }
}
