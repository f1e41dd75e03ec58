//! Reductions, scans, sorting and selection against naive loops, over layouts, threads and instruction sets.

use forge_kernels::isa::{Isa, force};
use forge_kernels::rng::Key;
use forge_kernels::scan::{self, Direction};
use forge_kernels::select::{self, BadWeights};
use forge_kernels::team::Team;
use forge_kernels::{Layout, Strided, reduce};

/// Elements of a strided view in row-major order.
fn elements<T: Copy + Default>(x: &Strided<T>) -> Vec<T> {
    let mut v = vec![T::default(); x.len()];
    x.copy_to(0, &mut v);
    v
}

/// Shapes (with the number of kept axes) that reach every arm: short and long lanes, dense and not, one output and many.
fn problems() -> Vec<(Vec<usize>, usize)> {
    [
        (&[][..], 0),
        (&[7], 0),
        (&[7], 1),
        (&[0], 0),
        (&[3, 0], 1),
        (&[0, 3], 1),
        (&[5, 3], 1),
        (&[3, 100], 1),
        (&[100_000], 0),
        (&[2, 40_000], 1),
        (&[70, 65], 1),
        (&[3, 700, 5], 1),
        (&[3, 5, 700], 2),
        (&[600, 300], 1),
        (&[3, 5000], 1),
        (&[4, 3, 2, 5], 2),
    ]
    .into_iter()
    .map(|(s, k)| (s.to_vec(), k))
    .collect()
}

/// Memory orders of the axes, from plain to reversed, with one axis flipped or thinned out in some.
fn layouts(shape: &[usize]) -> Vec<(Layout, usize, usize)> {
    let r = shape.len();
    let mut out = Vec::new();
    let orders: Vec<Vec<usize>> = vec![(0..r).collect(), (0..r).rev().collect(), (0..r).map(|i| (i + 1) % r).collect()];
    for order in orders {
        for thin in [1usize, 2] {
            let mut strides = vec![0isize; r];
            let mut step = thin as isize;
            for &a in order.iter().rev() {
                strides[a] = step;
                step *= shape[a].max(1) as isize;
            }
            out.push((Layout::new(shape, &strides), 0, step as usize + 1));
            if r > 0 && shape[0] > 0 {
                // Backwards along the first axis.
                let start = (shape[0] - 1) * strides[0] as usize;
                strides[0] = -strides[0];
                out.push((Layout::new(shape, &strides), start, step as usize + 1));
            }
        }
    }
    // One axis repeated.
    if r > 0 {
        let mut strides = Layout::contiguous(shape).strides().to_vec();
        strides[r - 1] = 0;
        out.push((Layout::new(shape, &strides), 0, shape.iter().product::<usize>() + 1));
    }
    out
}

fn random(n: usize, seed: u64) -> Vec<f32> {
    let mut v = vec![0.0f32; n];
    Key::new(seed).fill_uniform(0, &mut v, -1.0, 1.0);
    v
}

/// Runs `f` on every problem, layout and on several teams and arms; all must give `bits` of the first.
fn sweep<R: PartialEq + std::fmt::Debug>(
    f: impl Fn(&Strided<f32>, usize) -> R + Sync,
    check: impl Fn(&Strided<f32>, usize, &R),
) {
    for (shape, kept) in problems() {
        for (layout, start, len) in layouts(&shape) {
            let data = random(len, 7);
            let x = Strided::new(&data, start, layout);
            let first = Team::single().enter(|| f(&x, kept));
            check(&x, kept, &first);
            for threads in [2, 3, 8] {
                let other = Team::new(threads).enter(|| f(&x, kept));
                assert!(other == first, "{layout:?} keeping {kept}: other bits on {threads} threads");
            }
            for isa in Isa::ALL {
                let _held = force(isa);
                assert!(f(&x, kept) == first, "{layout:?} keeping {kept}: other bits on {}", isa.name());
            }
        }
    }
}

/// The lanes of a problem, each as a vector.
fn lanes(x: &Strided<f32>, kept: usize) -> Vec<Vec<f32>> {
    let outputs: usize = x.shape()[..kept].iter().product();
    let n: usize = x.shape()[kept..].iter().product();
    let all = elements(x);
    (0..outputs).map(|o| all[o * n..(o + 1) * n].to_vec()).collect()
}

#[test]
fn sums() {
    let run = |x: &Strided<f32>, kept: usize| {
        let mut out = vec![9.0f32; x.shape()[..kept].iter().product()];
        reduce::sum(&mut out, x, kept);
        out.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
    };
    sweep(run, |x, kept, got| {
        for (lane, &bits) in lanes(x, kept).iter().zip(got) {
            let want: f64 = lane.iter().map(|&v| f64::from(v)).sum();
            // Blocked summation: no element passes through more than 200 additions, each of relative error 2^-24.
            let tol = 200.0 * 2f64.powi(-24) * lane.iter().map(|v| f64::from(v.abs())).sum::<f64>();
            assert!((f64::from(f32::from_bits(bits)) - want).abs() <= tol, "{:?} keeping {kept}", x.layout());
        }
    });
}

#[test]
fn extrema_and_their_positions() {
    // Few distinct values, so that ties are everywhere.
    let coarse = |x: &Strided<f32>| elements(x).iter().map(|v| (v * 4.0).round()).collect::<Vec<f32>>();
    let run = |x: &Strided<f32>, kept: usize| {
        let n = x.shape()[..kept].iter().product();
        let (mut max, mut min, mut hi, mut lo) = (vec![0.0f32; n], vec![0.0f32; n], vec![0i64; n], vec![0i64; n]);
        reduce::max(&mut max, x, kept);
        reduce::min(&mut min, x, kept);
        let mut tied = vec![0i64; n];
        if !x.is_empty() {
            reduce::argmax(&mut hi, x, kept);
            reduce::argmin(&mut lo, x, kept);
            let c = coarse(x);
            reduce::argmax(&mut tied, &Strided::dense(&c, x.shape()), kept);
        }
        (max, min, hi, lo, tied)
    };
    sweep(run, |x, kept, (max, min, hi, lo, tied)| {
        let c = coarse(x);
        let tie_lanes = lanes(&Strided::dense(&c, x.shape()), kept);
        for (i, lane) in lanes(x, kept).iter().enumerate() {
            let top = lane.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            assert_eq!(max[i], top);
            assert_eq!(min[i], lane.iter().copied().fold(f32::INFINITY, f32::min));
            if !lane.is_empty() {
                assert_eq!(hi[i] as usize, lane.iter().position(|&v| v == top).unwrap());
                assert_eq!(lane[lo[i] as usize], min[i]);
                let t = &tie_lanes[i];
                let first = t.iter().position(|&v| v == t.iter().copied().fold(f32::NEG_INFINITY, f32::max));
                assert_eq!(tied[i] as usize, first.unwrap(), "the first of equal elements");
            }
        }
    });
}

#[test]
fn ties_are_found_in_every_memory_order() {
    for (shape, kept) in problems() {
        for (layout, start, len) in layouts(&shape) {
            let data: Vec<f32> = random(len, 3).iter().map(|v| (v * 2.0).round()).collect();
            let x = Strided::new(&data, start, layout);
            if x.is_empty() {
                continue;
            }
            let mut got = vec![0i64; shape[..kept].iter().product()];
            reduce::argmin(&mut got, &x, kept);
            for (lane, &g) in lanes(&x, kept).iter().zip(&got) {
                let least = lane.iter().copied().fold(f32::INFINITY, f32::min);
                assert_eq!(g as usize, lane.iter().position(|&v| v == least).unwrap(), "{layout:?}");
            }
        }
    }
}

#[test]
fn nan_wins() {
    for n in [1, 5, 40, 1000, 20_000] {
        for at in [0, n / 2, n - 1] {
            let mut x = random(n, 1);
            x[at] = f32::NAN;
            let s = Strided::dense(&x, &[n]);
            let (mut v, mut p) = ([0.0f32], [0i64]);
            reduce::max(&mut v, &s, 0);
            reduce::argmax(&mut p, &s, 0);
            assert!(v[0].is_nan() && p[0] as usize == at, "{n} {at}");
            reduce::min(&mut v, &s, 0);
            reduce::argmin(&mut p, &s, 0);
            assert!(v[0].is_nan() && p[0] as usize == at, "{n} {at}");
        }
    }
}

#[test]
fn integers_sum_in_64_bits() {
    let x: Vec<i8> = (0..100_000).map(|i| (i % 251) as i8).collect();
    for shape in [[100_000, 1], [1, 100_000], [400, 250]] {
        let s = Strided::dense(&x, &shape);
        let mut out = [0i64];
        reduce::sum(&mut out, &s, 0);
        assert_eq!(out[0], x.iter().map(|&v| i64::from(v)).sum::<i64>());
        let mut columns = vec![0i64; shape[1]];
        let turned = Strided::new(&x, 0, s.layout().permuted(&[1, 0]));
        reduce::sum(&mut columns, &turned, 1);
        assert_eq!(columns.iter().sum::<i64>(), out[0]);
    }
    let b = [true, false, true];
    let mut n = [0i64];
    reduce::sum(&mut n, &Strided::dense(&b, &[3]), 0);
    assert_eq!(n, [2]);
    let mut m = [0i32];
    reduce::max(&mut m, &Strided::dense(&[] as &[i32], &[0]), 0);
    assert_eq!(m, [i32::MIN]);
}

#[test]
fn log_sum_exp_at_the_edges() {
    let inf = f32::INFINITY;
    let run = |x: &[f32]| {
        let mut out = [0.0f32];
        reduce::log_sum_exp(&mut out, &Strided::dense(x, &[x.len()]), 0);
        out[0]
    };
    assert_eq!(run(&[]), -inf);
    assert_eq!(run(&[-inf, -inf]), -inf);
    assert_eq!(run(&[1.0, inf]), inf);
    assert!(run(&[inf, f32::NAN]).is_nan());
    assert_eq!(run(&[1000.0, 1000.0]), 1000.0 + 2.0f32.ln());
    assert_eq!(run(&[-inf, 3.0]), 3.0);
}

#[test]
fn scans_are_sequential_chains() {
    for (shape, axis) in [
        (vec![1000], 0),
        (vec![3, 400], 1),
        (vec![400, 3], 0),
        (vec![2, 50, 300], 1),
        (vec![13, 7, 1], 1),
        (vec![4, 0], 1),
    ] {
        for (layout, start, len) in layouts(&shape) {
            let data = random(len, 5);
            let x = Strided::new(&data, start, layout);
            let decays = random(len, 6);
            let a = Strided::new(&decays, start, layout);
            let all = elements(&x);
            let ea = elements(&a);
            let (n, inner): (usize, usize) = (shape[axis], shape[axis + 1..].iter().product());
            let place = |o: usize, i: usize, t: usize| (o * n + t) * inner + i;
            for reverse in [false, true] {
                let mut want =
                    [vec![0.0f32; all.len()], vec![0.0; all.len()], vec![0.0; all.len()], vec![0.0; all.len()]];
                for o in 0..all.len() / (n * inner).max(1) {
                    for i in 0..inner {
                        let (mut sum, mut prod, mut h, mut late) = (0.0f32, 1.0f32, 0.0f32, 0.0f32);
                        for s in 0..n {
                            let p = place(o, i, if reverse { n - 1 - s } else { s });
                            want[1][p] = prod;
                            sum = if s == 0 { all[p] } else { sum + all[p] };
                            prod *= all[p];
                            h = if s == 0 { all[p] } else { ea[p] * h + all[p] };
                            if s == 0 {
                                late = all[p];
                            } else {
                                let before = place(o, i, if reverse { n - s } else { s - 1 });
                                late = ea[before] * late + all[p];
                            }
                            want[0][p] = sum;
                            want[2][p] = h;
                            want[3][p] = late;
                        }
                    }
                }
                let how = Direction { reverse, ..Direction::default() };
                let mut got = vec![0.0f32; all.len()];
                scan::cumsum(&mut got, &x, axis, how);
                assert_eq!(got, want[0]);
                scan::cumprod(&mut got, &x, axis, Direction { exclusive: true, ..how });
                assert_eq!(got, want[1]);
                scan::linear(&mut got, &x, &a, &[], axis, how);
                assert_eq!(got, want[2]);
                scan::linear(&mut got, &x, &a, &[], axis, Direction { late: true, ..how });
                assert_eq!(got, want[3]);
                let many = Team::new(3).enter(|| {
                    let mut m = vec![0.0f32; all.len()];
                    scan::linear(&mut m, &x, &a, &[], axis, Direction { late: true, ..how });
                    m
                });
                assert_eq!(got, many);
            }
        }
    }
}

#[test]
fn a_continued_recurrence_has_the_same_bits() {
    let (n, w) = (200, 70);
    let (x, a) = (random(n * w, 1), random(w, 2));
    for (shape, axis, a_strides) in [([n, w], 0, [0, 1]), ([w, n], 1, [1, 0])] {
        let whole = Strided::dense(&x, &shape);
        let decays = Strided::new(&a, 0, Layout::new(&shape, &a_strides));
        let mut want = vec![0.0f32; n * w];
        scan::linear(&mut want, &whole, &decays, &[], axis, Direction::default());
        let last = |h: &[f32], shape: &[usize]| -> Vec<f32> {
            let s = Strided::dense(h, shape);
            (0..w).map(|i| if axis == 0 { s.get(&[shape[0] - 1, i]) } else { s.get(&[i, shape[1] - 1]) }).collect()
        };
        let mut state: Vec<f32> = Vec::new();
        let mut at = 0;
        for len in [1, 64, 3, 132] {
            let l = whole.layout().resized(axis, len, whole.layout().strides()[axis]);
            let part = Strided::new(&x, at * whole.layout().strides()[axis] as usize, l);
            let d = Strided::new(&a, 0, Layout::new(l.shape(), &a_strides));
            let mut h = vec![0.0f32; len * w];
            scan::linear(&mut h, &part, &d, &state, axis, Direction::default());
            let there = Strided::new(&want, at * whole.layout().strides()[axis] as usize, l);
            assert_eq!(h, elements(&there));
            state = last(&h, l.shape());
            at += len;
        }
    }
}

#[test]
fn segments() {
    let x: Vec<f32> = (0..24).map(|i| i as f32).collect();
    let s = Strided::dense(&x, &[2, 4, 3]);
    let offsets = [0, 0, 3, 4, 4];
    let mut out = vec![9.0f32; 2 * 4 * 3];
    scan::segment_sum(&mut out, &s, 1, &offsets);
    assert_eq!(out[..12], [0., 0., 0., 9., 12., 15., 9., 10., 11., 0., 0., 0.]);
    let mut back = vec![0.0f32; 24];
    scan::segment_spread(&mut back, &Strided::dense(&out, &[2, 4, 3]), 1, &offsets);
    assert_eq!(back[..12], [9., 12., 15., 9., 12., 15., 9., 12., 15., 9., 10., 11.]);
    let mut rows = vec![0.0f32; 3];
    scan::segment_sum(&mut rows, &Strided::dense(&x, &[24]), 0, &[0, 1, 10, 24]);
    assert_eq!(rows, [0.0, 45.0, 231.0]);
}

#[test]
fn sorting_is_stable_with_nan_last() {
    for n in [1usize, 2, 30, 1000, 32 * 1024, 100_001] {
        let mut x: Vec<f32> = random(n, 9).iter().map(|v| (v * 50.0).round() / 4.0).collect();
        if n > 20 {
            x[3] = f32::NAN;
            x[17] = -f32::NAN;
            x[5] = f32::INFINITY;
            x[6] = -0.0;
            x[7] = 0.0;
        }
        let s = Strided::dense(&x, &[n]);
        for falling in [false, true] {
            let mut want: Vec<i64> = (0..n as i64).collect();
            want.sort_by(|&i, &j| {
                let (a, b) = (x[i as usize], x[j as usize]);
                match (a.is_nan(), b.is_nan()) {
                    (false, false) => {
                        if falling {
                            b.partial_cmp(&a).unwrap()
                        } else {
                            a.partial_cmp(&b).unwrap()
                        }
                    }
                    (p, q) => p.cmp(&q),
                }
            });
            let mut got = vec![0i64; n];
            for threads in [1, 3] {
                Team::new(threads).enter(|| select::argsort(&mut got, &s, n, falling));
                assert!(got == want, "{n} falling {falling}");
                for k in [0, 1, n / 3, n.min(40), n] {
                    let mut top = vec![0i64; k];
                    Team::new(threads).enter(|| select::top_k(&mut top, &s, n, k, falling));
                    assert!(top == want[..k], "{k} of {n} falling {falling}");
                }
            }
        }
    }
}

#[test]
fn the_worst_order_for_selection() {
    let n = 70_000;
    let x: Vec<i64> = (0..n).collect();
    let mut top = vec![0i64; 2000];
    select::top_k(&mut top, &Strided::dense(&x, &[n as usize]), n as usize, 2000, true);
    assert!(top.iter().enumerate().all(|(i, &p)| p == n - 1 - i as i64));
    let b = [true, false, true, false];
    let mut order = [0i64; 4];
    select::argsort(&mut order, &Strided::dense(&b, &[4]), 4, false);
    assert_eq!(order, [1, 3, 0, 2]);
    let m = [3i8, -5, 100, -128];
    select::argsort(&mut order, &Strided::dense(&m, &[4]), 4, true);
    assert_eq!(order, [2, 0, 1, 3]);
}

#[test]
fn draws_follow_the_weights() {
    let w = [0.0f32, 1.0, 3.0, 0.0];
    let s = Strided::dense(&w, &[4]);
    let mut out = vec![0i64; 40_000];
    select::multinomial(&mut out, &s, 4, 40_000, true, Key::new(3));
    let threes = out.iter().filter(|&&i| i == 2).count() as f64;
    assert!(out.iter().all(|&i| i == 1 || i == 2));
    // 40,000 draws at p = 3/4: the standard deviation is 87.
    assert!((threes - 30_000.0).abs() < 450.0, "{threes}");
    for seed in 0..50 {
        let mut two = [0i64; 2];
        select::multinomial(&mut two, &s, 4, 2, false, Key::new(seed));
        assert!(two == [1, 2] || two == [2, 1]);
    }
    assert_eq!(select::check_weights(&s, 4, 3, false), Err((0, BadWeights::TooFew)));
    assert_eq!(
        select::check_weights(&Strided::dense(&[1.0f64, -1.0], &[2]), 2, 1, true),
        Err((0, BadWeights::NotAWeight))
    );
    assert_eq!(
        select::check_weights(&Strided::dense(&[1.0f64, 0.0], &[2, 1]), 1, 1, true),
        Err((1, BadWeights::AllZero))
    );
}
