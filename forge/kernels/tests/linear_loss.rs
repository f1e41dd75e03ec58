//! Losses of logits that never all exist, against the definition over several blocks of rows.

use forge_kernels::gemm::MatRef;
use forge_kernels::linear_loss::{Entry, Linear, Targets, backward, forward};
use forge_kernels::loss::Row;
use forge_kernels::team::Team;

fn noise(seed: u64, n: usize) -> Vec<f64> {
    let mut s = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    let mut next = || {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        (s >> 40) as f64 / (1u64 << 24) as f64 * 2.0 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// Few rows have targets, in any order; 40,000 classes make several blocks of rows.
fn problem(classes: usize) -> (Vec<f64>, Vec<f64>, Targets<f64>) {
    let (rows, d) = (80, 3);
    let chosen: Vec<usize> = (0..60).map(|i| i * 7 % rows).collect();
    let mut t = Targets { rows: chosen, starts: vec![0], entries: vec![], totals: vec![], smoothing: 0.1 };
    for i in 0..60 {
        let n = i % 4;
        t.entries.extend((0..n).map(|e| Entry { class: (i * 31 + e * 17) % classes, weight: 0.25 + e as f64 * 0.5 }));
        t.starts.push(t.entries.len());
        t.totals.push(0.5 + i as f64 / 60.0);
    }
    (noise(1, rows * d), noise(2, classes * d), t)
}

/// Losses by the definition.
fn naive(x: &[f64], w: &[f64], t: &Targets<f64>) -> Vec<f64> {
    let s = t.smoothing;
    (0..t.rows.len())
        .map(|i| {
            let x = &x[t.rows[i] * 3..][..3];
            let z: Vec<f64> = w.chunks(3).map(|w| x.iter().zip(w).map(|(a, b)| a * b).sum()).collect();
            let lse = z.iter().map(|z| z.exp()).sum::<f64>().ln();
            let hit: f64 = t.entries[t.starts[i]..t.starts[i + 1]].iter().map(|e| e.weight * z[e.class]).sum();
            let mean = z.iter().sum::<f64>() / z.len() as f64;
            t.totals[i] * lse - (1.0 - s) * hit - s * t.totals[i] * mean
        })
        .collect()
}

fn run(x: &[f64], w: &[f64], classes: usize, t: &Targets<f64>, g: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let l = Linear { x, w: MatRef::row_major(w, classes, 3) };
    let mut rows = vec![Row::default(); t.rows.len()];
    forward(l, t, &mut rows);
    let (mut dx, mut dw) = (vec![0.0; x.len()], vec![0.0; w.len()]);
    backward(l, t, &rows, g, &mut dx, &mut dw);
    (rows.iter().map(|r| r.loss).collect(), dx, dw)
}

#[test]
fn equals_the_definition_and_its_differences() {
    let classes = 40_000;
    let (x, w, t) = problem(classes);
    let g = noise(3, 60);
    let (loss, dx, dw) = run(&x, &w, classes, &t, &g);
    for (a, b) in loss.iter().zip(naive(&x, &w, &t)) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
    let total = |x: &[f64], w: &[f64]| naive(x, w, &t).iter().zip(&g).map(|(l, g)| l * g).sum::<f64>();
    let h = 1e-5;
    for i in [0, 1, 50, 100, 239] {
        let at = |d: f64| {
            let mut x = x.clone();
            x[i] += d;
            total(&x, &w)
        };
        let want = (at(h) - at(-h)) / (2.0 * h);
        assert!((dx[i] - want).abs() < 1e-6, "dx {i}: {} {want}", dx[i]);
    }
    for i in [0, 1, 3 * 31, 3 * 48 + 2, 3 * classes - 1] {
        let at = |d: f64| {
            let mut w = w.clone();
            w[i] += d;
            total(&x, &w)
        };
        let want = (at(h) - at(-h)) / (2.0 * h);
        assert!((dw[i] - want).abs() < 1e-6, "dw {i}: {} {want}", dw[i]);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (x, w, t) = problem(40_000);
    let g = noise(3, 60);
    let one = Team::single().enter(|| run(&x, &w, 40_000, &t, &g));
    for n in [2, 3, 8] {
        assert!(Team::new(n).enter(|| run(&x, &w, 40_000, &t, &g)) == one, "{n} threads");
    }
}
