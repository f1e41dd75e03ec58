//! Sampling against its definitions, written out in `f64`.

use forge_kernels::rng::Key;
use forge_llm::sample::{Dry, LogitProcessor, Mirostat, SampleError, Sampler, Sampling};

/// Numbers for tests: each is a function of its index.
struct Random(Key, u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(Key::new(seed).derive("test"), 0)
    }
    fn unit(&mut self) -> f64 {
        self.1 += 1;
        self.0.unit_at(self.1)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }
    fn logits(&mut self, n: usize, spread: f64) -> Vec<f32> {
        (0..n).map(|_| ((self.unit() - 0.5) * spread) as f32).collect()
    }
}

/// Tokens and logits, the likeliest first; ties by number.
fn sorted(logits: &[f32]) -> Vec<(u32, f64)> {
    let mut all: Vec<(u32, f64)> =
        logits.iter().enumerate().filter(|l| l.1.is_finite()).map(|(i, &l)| (i as u32, f64::from(l))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all
}

fn softmax(c: &[(u32, f64)]) -> Vec<f64> {
    let top = c.iter().map(|c| c.1).fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = c.iter().map(|c| (c.1 - top).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.into_iter().map(|e| e / sum).collect()
}

/// What the options leave, by their definitions; `None` where a sum stands too near to its limit to tell.
fn kept(o: &Sampling, logits: &[f32]) -> Option<Vec<(u32, f64)>> {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let mut c = sorted(logits);
    if o.top_k > 0 {
        c.truncate(o.top_k);
    }
    if o.typical_p < 1.0 {
        let p = softmax(&c);
        let h: f64 = p.iter().map(|p| -p * p.ln()).sum();
        let mut order: Vec<usize> = (0..c.len()).collect();
        order.sort_by(|&a, &b| (-p[a].ln() - h).abs().total_cmp(&(-p[b].ln() - h).abs()));
        let (mut sum, mut take) = (0.0, order.len());
        for (i, &j) in order.iter().enumerate() {
            sum += p[j];
            if near(sum, o.typical_p.into()) {
                return None;
            }
            if sum > f64::from(o.typical_p) && i + 1 >= o.min_keep {
                take = i + 1;
                break;
            }
        }
        c = order[..take].iter().map(|&j| c[j]).collect();
        c.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    }
    if o.top_p < 1.0 {
        let p = softmax(&c);
        let mut sum = 0.0;
        for i in 0..c.len() {
            sum += p[i];
            if near(sum, o.top_p.into()) {
                return None;
            }
            if sum >= f64::from(o.top_p) && i + 1 >= o.min_keep {
                c.truncate(i + 1);
                break;
            }
        }
    }
    if o.min_p > 0.0 {
        let p = softmax(&c);
        if p.iter().any(|p0| near(*p0, f64::from(o.min_p) * p[0])) {
            return None;
        }
        let n = p.iter().filter(|p0| **p0 >= f64::from(o.min_p) * p[0]).count();
        c.truncate(n.max(o.min_keep).max(1));
    }
    Some(c)
}

/// The token that a draw of `unit` gives, unless it falls on the edge between two.
fn pick(c: &[(u32, f64)], temperature: f32, unit: f64) -> Option<u32> {
    if temperature == 0.0 {
        return Some(c[0].0);
    }
    let hot: Vec<(u32, f64)> = c.iter().map(|c| (c.0, c.1 / f64::from(temperature))).collect();
    let mut sum = 0.0;
    for (c, p) in hot.iter().zip(softmax(&hot)) {
        sum += p;
        if (sum - unit).abs() < 1e-9 {
            return None;
        }
        if sum > unit {
            return Some(c.0);
        }
    }
    None
}

/// The draw at a place of the text.
fn unit(seed: u64, at: usize) -> f64 {
    Key::new(seed).derive("sample").unit_at(at as u64)
}

#[test]
fn every_option_agrees_with_its_definition() {
    let mut r = Random::new(1);
    let (mut checked, mut cut) = (0, 0);
    for round in 0..4000 {
        let n = [1, 2, 7, 50, 400, 3000][r.below(6)];
        let spread = [0.0, 1.0, 8.0, 40.0][r.below(4)];
        let mut logits = r.logits(n, spread);
        if r.below(3) == 0 {
            (1..n).for_each(|i| {
                if r.below(4) == 0 {
                    logits[i] = f32::NEG_INFINITY
                }
            });
        }
        let o = Sampling {
            temperature: [0.0, 0.5, 1.0, 3.0][r.below(4)],
            top_k: [0, 0, 1, 5, 40, 10_000][r.below(6)],
            top_p: [1.0, 0.95, 0.5, 0.0][r.below(4)],
            min_p: [0.0, 0.05, 0.5, 1.0][r.below(4)],
            typical_p: [1.0, 1.0, 0.9, 0.2][r.below(4)],
            min_keep: [0, 0, 3, 300][r.below(4)],
            seed: round,
            ..Sampling::default()
        };
        let at = r.below(5);
        let mut s = Sampler::new(o.clone(), n).unwrap();
        s.extend(&vec![0; at]);
        let got = s.sample(&logits).unwrap().token;
        // Ties of typical's scores in a flat distribution are decided by rounding.
        if spread == 0.0 && o.typical_p < 1.0 {
            continue;
        }
        let Some(c) = kept(&o, &logits) else { continue };
        let Some(want) = pick(&c, o.temperature, unit(round, at)) else { continue };
        assert_eq!(got, want, "{o:?}\n{n} logits, spread {spread}, kept {}", c.len());
        checked += 1;
        cut += usize::from(c.len() > 1 && c.len() < n);
    }
    assert!(checked > 2500 && cut > 500, "{checked} checked, {cut} of them cut");
}

#[test]
fn penalties_and_biases_agree_with_their_definition() {
    let mut r = Random::new(2);
    for _ in 0..500 {
        let n = 12;
        let logits = r.logits(n, 10.0);
        let text: Vec<u32> = (0..r.below(30)).map(|_| r.below(n) as u32).collect();
        let o = Sampling {
            repeat_penalty: [1.0, 1.3, 0.7][r.below(3)],
            frequency_penalty: [0.0, 0.5, -0.5][r.below(3)],
            presence_penalty: [0.0, 1.5, -1.5][r.below(3)],
            penalty_last: [0, 4, 64][r.below(3)],
            logit_bias: vec![(r.below(n) as u32, 2.5), (r.below(n) as u32, f32::NEG_INFINITY)],
            ..Sampling::greedy()
        };
        let mut want: Vec<f64> = logits.iter().map(|&l| f64::from(l)).collect();
        for &(t, b) in &o.logit_bias {
            want[t as usize] += f64::from(b);
        }
        let recent = &text[text.len().saturating_sub(o.penalty_last)..];
        for (t, l) in want.iter_mut().enumerate() {
            let count = recent.iter().filter(|x| **x as usize == t).count();
            if count > 0 {
                let p = f64::from(o.repeat_penalty);
                *l = if *l > 0.0 { *l / p } else { *l * p };
                *l -= count as f64 * f64::from(o.frequency_penalty) + f64::from(o.presence_penalty);
            }
        }
        let mut s = Sampler::new(o, n).unwrap();
        s.extend(&text);
        let got = s.sample(&logits).unwrap().token as usize;
        let best = want.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(best - want[got] < 1e-5, "took {got} of {want:?}");
    }
}

#[test]
fn draws_follow_the_distribution() {
    // Pearson's statistic with 9 degrees of freedom passes 40 once in 10^5 times.
    let logits: Vec<f32> = (0..10).map(|i| (i as f32 * 0.3).sin() * 2.0).collect();
    let p = softmax(&logits.iter().enumerate().map(|(i, &l)| (i as u32, f64::from(l))).collect::<Vec<_>>());
    let mut counts = [0u32; 10];
    let mut s = Sampler::new(Sampling::plain(3), 10).unwrap();
    let n = 20_000;
    for _ in 0..n {
        counts[s.next(&logits).unwrap().token as usize] += 1;
    }
    let x2: f64 =
        counts.iter().zip(&p).map(|(&c, p)| (f64::from(c) - p * f64::from(n)).powi(2) / (p * f64::from(n))).sum();
    assert!(x2 < 40.0, "{counts:?}: {x2}");
}

#[test]
fn logprobs_are_those_of_the_model() {
    let mut r = Random::new(4);
    for _ in 0..50 {
        let mut logits = r.logits(300, 20.0);
        logits[7] = f32::NEG_INFINITY;
        let o = Sampling { logprobs: Some(5), logit_bias: vec![(3, 50.0)], ..Sampling::default() };
        let got = Sampler::new(o, 300).unwrap().sample(&logits).unwrap();
        let c = sorted(&logits);
        let p = softmax(&c);
        let of = |t: u32| p[c.iter().position(|c| c.0 == t).unwrap()].ln();
        let lp = got.logprobs.unwrap();
        assert_eq!(got.token, 3, "the bias decides the token, not its probability");
        assert!((lp.chosen - of(3)).abs() < 1e-9);
        assert_eq!(lp.top.len(), 5);
        for (i, (t, l)) in lp.top.iter().enumerate() {
            assert_eq!(*t, c[i].0);
            assert!((l - of(*t)).abs() < 1e-9);
        }
    }
}

/// Mirostat as its paper and llama.cpp have it, in `f64`: the tokens that are left.
fn mirostat(o: &Sampling, logits: &[f32], mu: f64) -> Vec<(u32, f64)> {
    let heat = f64::from(o.temperature);
    let mut c: Vec<(u32, f64)> = sorted(logits).into_iter().map(|c| (c.0, c.1 / heat)).collect();
    let p = softmax(&c);
    let n = match o.mirostat {
        Mirostat::V1 { .. } => {
            let (mut tb, mut tt) = (0.0, 0.0);
            for i in 0..99.min(c.len() - 1) {
                let t = ((i + 2) as f64 / (i + 1) as f64).ln();
                tb += t * (p[i] / p[i + 1]).ln();
                tt += t * t;
            }
            let s: f64 = tb / tt;
            let e = s - 1.0;
            let k = (e * 2f64.powf(mu) / (1.0 - (logits.len() as f64).powf(-e))).powf(1.0 / s);
            k as usize
        }
        _ => p.iter().take_while(|p| -p.log2() <= mu).count(),
    };
    c.truncate(n.max(1));
    c
}

#[test]
fn mirostat_agrees_with_its_definition_and_holds_the_surprise() {
    for kind in [Mirostat::V1 { tau: 3.0, eta: 0.1 }, Mirostat::V2 { tau: 3.0, eta: 0.1 }] {
        let o = Sampling { temperature: 1.2, mirostat: kind, seed: 9, ..Sampling::default() };
        let mut s = Sampler::new(o.clone(), 2000).unwrap();
        let mut r = Random::new(6);
        let (mut mu, mut total, mut agree) = (6.0, 0.0, 0);
        for step in 0..400 {
            let logits = r.logits(2000, 25.0);
            let c = mirostat(&o, &logits, mu);
            let p = softmax(&c);
            let got = s.next(&logits).unwrap().token;
            let i = c.iter().position(|c| c.0 == got).expect("one of those that are left");
            agree += usize::from(pick(&c, 1.0, unit(9, step)).is_none_or(|want| want == got));
            let surprise = -p[i].log2();
            mu -= 0.1 * (surprise - 3.0);
            total += surprise;
        }
        // A count that rounding decides is possible, hundreds are not.
        assert!(agree >= 398, "{kind:?}: {agree} of 400");
        assert!((total / 400.0 - 3.0).abs() < 0.3, "{kind:?}: mean surprise {}", total / 400.0);
    }
}

#[test]
fn the_same_seed_gives_the_same_text_and_rolling_back_forgets() {
    for mirostat in [Mirostat::Off, Mirostat::V1 { tau: 4.0, eta: 0.2 }, Mirostat::V2 { tau: 4.0, eta: 0.2 }] {
        let o = Sampling { repeat_penalty: 1.2, mirostat, seed: 11, temperature: 1.5, ..Sampling::default() };
        let row = |i: usize| Random::new(100 + i as u64).logits(200, 8.0);
        let run = |seed: u64| -> Vec<u32> {
            let mut s = Sampler::new(Sampling { seed, ..o.clone() }, 200).unwrap();
            (0..40).map(|i| s.next(&row(i)).unwrap().token).collect()
        };
        let text = run(11);
        assert_eq!(text, run(11));
        assert_ne!(text, run(12));
        let mut s = Sampler::new(o.clone(), 200).unwrap();
        let mut i = 0;
        for back in [3, 10, 1, 0, 7] {
            for _ in 0..15 {
                assert_eq!(s.sample(&row(i)).unwrap(), s.sample(&row(i)).unwrap(), "asking changes nothing");
                assert_eq!(s.next(&row(i)).unwrap().token, text[i]);
                i += 1;
                if i == 40 {
                    return;
                }
            }
            s.roll_back(back);
            i -= back;
        }
    }
}

#[test]
fn odd_rows_are_refused() {
    let mut s = Sampler::new(Sampling::default(), 3).unwrap();
    assert_eq!(s.sample(&[0.0; 2]), Err(SampleError::Length { got: 2, len: 3 }));
    assert!(matches!(s.sample(&[0.0, f32::NAN, 0.0]), Err(SampleError::NotFinite { token: 1, .. })));
    assert!(matches!(s.sample(&[0.0, 0.0, f32::INFINITY]), Err(SampleError::NotFinite { token: 2, .. })));
    assert_eq!(s.sample(&[f32::NEG_INFINITY; 3]), Err(SampleError::NoneAllowed));
    assert_eq!(Sampler::new(Sampling::default(), 0).unwrap().sample(&[]), Err(SampleError::NoneAllowed));
    // Biases may overflow.
    let o = Sampling { logit_bias: vec![(0, f32::MAX)], ..Sampling::default() };
    let e = Sampler::new(o, 3).unwrap().sample(&[f32::MAX, 0.0, 0.0]);
    assert!(matches!(e, Err(SampleError::NotFinite { token: 0, .. })));
    // Extremes that are numbers are fine.
    for temperature in [1e-45, 1e30] {
        for mirostat in [Mirostat::Off, Mirostat::V1 { tau: 5.0, eta: 0.1 }, Mirostat::V2 { tau: 5.0, eta: 0.1 }] {
            let o = Sampling { temperature, mirostat, ..Sampling::default() };
            let got = Sampler::new(o, 3).unwrap().sample(&[f32::MAX, f32::MIN, 0.0]).unwrap();
            assert_eq!(got.token, 0);
        }
    }
}

#[test]
fn odd_options_are_refused() {
    let d = Sampling::default;
    let dry = |multiplier: f32, base: f32| Some(Dry { base, ..Dry::new(multiplier, Default::default()) });
    let bad = [
        Sampling { temperature: -1.0, ..d() },
        Sampling { temperature: f32::NAN, ..d() },
        Sampling { temperature: f32::INFINITY, ..d() },
        Sampling { top_p: 1.1, ..d() },
        Sampling { top_p: -0.1, ..d() },
        Sampling { min_p: f32::NAN, ..d() },
        Sampling { typical_p: 2.0, ..d() },
        Sampling { repeat_penalty: 0.0, ..d() },
        Sampling { frequency_penalty: f32::INFINITY, ..d() },
        Sampling { presence_penalty: f32::NAN, ..d() },
        Sampling { dry: dry(-1.0, 2.0), ..d() },
        Sampling { dry: dry(1.0, 0.5), ..d() },
        Sampling { mirostat: Mirostat::V1 { tau: 0.0, eta: 0.1 }, ..d() },
        Sampling { mirostat: Mirostat::V2 { tau: 5.0, eta: f32::NAN }, ..d() },
        Sampling { logit_bias: vec![(0, f32::INFINITY)], ..d() },
        Sampling { logit_bias: vec![(0, f32::NAN)], ..d() },
    ];
    for o in bad {
        let e = Sampler::new(o, 10).unwrap_err();
        assert!(matches!(e, SampleError::Option { .. }), "{e}");
    }
    let e = Sampler::new(Sampling { logit_bias: vec![(10, 0.0)], ..d() }, 10).unwrap_err();
    assert_eq!(e.to_string(), "logit_bias names token 10, but the model has tokens 0 to 9");
}

/// Forbids the last token.
struct NoRepeat;
impl LogitProcessor for NoRepeat {
    fn process(&mut self, text: &[u32], logits: &mut [f32]) -> Result<(), SampleError> {
        if let Some(&t) = text.last() {
            logits[t as usize] = f32::NEG_INFINITY;
        }
        Ok(())
    }
}

#[test]
fn processors_see_the_text_and_have_the_last_word_over_biases() {
    let o = Sampling { logit_bias: vec![(1, 100.0)], ..Sampling::greedy() };
    let mut s = Sampler::new(o, 3).unwrap().with(NoRepeat);
    let text: Vec<u32> = (0..6).map(|_| s.next(&[2.0, 0.0, 1.0]).unwrap().token).collect();
    assert_eq!(text, [1, 0, 1, 0, 1, 0]);
}
