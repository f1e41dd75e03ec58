//! The laws, each a test over every case.

use crate::gen_::Gen;
use crate::naive::Naive;
use crate::{Case, Grad, Sample, cases};
use forge::autograd::Backward;
use forge::team::Team;
use forge::{DType, DynTensor};

const TRIALS: u64 = 12;

fn seed(case: &Case, trial: u64) -> u64 {
    case.op.bytes().fold(trial + 1, |h, b| h.wrapping_mul(0x0100_0000_01b3) ^ u64::from(b))
}

fn cast(inputs: &[DynTensor], dtype: DType) -> Vec<DynTensor> {
    inputs.iter().map(|x| if x.dtype() == DType::F64 { x.to(dtype).unwrap() } else { x.clone() }).collect()
}

/// Runs `law` over every case and gathers the failures, so that one run shows them all.
fn over_cases(law: impl Fn(&Case)) {
    let only = std::env::var("FORGE_OP").ok();
    let mut failed = Vec::new();
    for case in cases() {
        if only.as_ref().is_some_and(|o| o != case.op) {
            continue;
        }
        let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| law(&case)));
        if let Err(e) = r {
            let text =
                e.downcast_ref::<String>().cloned().or_else(|| e.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            failed.push(format!("{}: {}", case.op, text.unwrap_or_default()));
        }
    }
    assert!(failed.is_empty(), "{} of the operations fail:\n{}", failed.len(), failed.join("\n"));
}

fn close(op: &str, what: &str, got: &Naive, want: &Naive, tol: f64) {
    assert_eq!(got.axes, want.axes, "{op} {what}: axes");
    assert_eq!(got.shape, want.shape, "{op} {what}: shape of {:?}", got.axes);
    let scale = want.data.iter().filter(|v| v.is_finite()).fold(1e-30f64, |m, v| m.max(v.abs()));
    for (i, (&a, &b)) in got.data.iter().zip(&want.data).enumerate() {
        let same = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tol * scale;
        assert!(
            same,
            "{op} {what}: element {i} of {:?}{:?} is {a}, the twin says {b} (tolerance {:e})",
            got.axes,
            got.shape,
            tol * scale
        );
    }
}

#[test]
fn twin() {
    over_cases(|case| {
        for trial in 0..TRIALS {
            let mut g = Gen::new(seed(case, trial));
            let s = (case.sample)(&mut g);
            let want = (s.twin)(&s.inputs.iter().map(Naive::of).collect::<Vec<_>>());
            for (dtype, eps) in [(DType::F32, f64::from(f32::EPSILON)), (DType::F64, f64::EPSILON)] {
                let got = (s.run)(&cast(&s.inputs, dtype)).unwrap();
                assert_eq!(got.len(), want.len());
                for (a, b) in got.iter().zip(&want) {
                    close(case.op, &format!("trial {trial} {dtype}"), &Naive::of(a), b, case.ulps * eps);
                }
            }
        }
    });
}

/// The weighted sum of a case's float outputs, as a scalar that depends on the inputs.
fn loss(s: &Sample, inputs: &[DynTensor], weights: &mut Gen) -> DynTensor {
    let mut total: Option<DynTensor> = None;
    for y in (s.run)(inputs).unwrap().iter().filter(|y| y.dtype() == DType::F64) {
        let named: Vec<(String, usize)> =
            y.axes().iter().map(|a| a.name().to_owned()).zip(y.shape().iter().copied()).collect();
        let named: Vec<(&str, usize)> = named.iter().map(|(a, n)| (a.as_str(), *n)).collect();
        let w = weights.tensor(&named, -1.0, 1.0);
        let part = y.mul(&w).unwrap().sum_all().unwrap();
        total = Some(match total {
            Some(t) => t.add(&part).unwrap(),
            None => part,
        });
    }
    total.expect("a differentiable operation has a float output")
}

fn value(x: &DynTensor) -> f64 {
    x.to_vec::<f64>().unwrap()[0]
}

/// Fourth-order central difference of `f` in element `i` of input `k`.
fn slope(inputs: &[DynTensor], k: usize, i: usize, f: &dyn Fn(&[DynTensor]) -> f64) -> f64 {
    let data = inputs[k].to_vec::<f64>().unwrap();
    let names: Vec<&str> = inputs[k].axes().iter().map(|a| a.name()).collect();
    let h = 1e-3 * data[i].abs().clamp(0.1, 4.0);
    let at = |d: f64| {
        let mut v = data.clone();
        v[i] += d;
        let mut x = inputs.to_vec();
        x[k] = DynTensor::from_vec(&names, inputs[k].shape(), v).unwrap();
        f(&x)
    };
    (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
}

/// Compares `grads[k][i]` with finite differences of `f`, on up to 12 elements of each input.
fn check(op: &str, inputs: &[DynTensor], grads: &[Option<Vec<f64>>], f: &dyn Fn(&[DynTensor]) -> f64, g: &mut Gen) {
    for (k, x) in inputs.iter().enumerate() {
        if x.dtype() != DType::F64 || x.is_empty() {
            continue;
        }
        let zero = vec![0.0; x.len()];
        let analytic = grads[k].as_ref().unwrap_or(&zero);
        let scale = analytic.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        for _ in 0..x.len().min(12) {
            let i = g.below(x.len());
            let n = slope(inputs, k, i, f);
            let err = (n - analytic[i]).abs();
            assert!(
                err <= 1e-7 * scale.max(n.abs()),
                "{op}: gradient {i} of input {k} ({}) is {}, finite differences say {n}",
                x.axes_text(),
                analytic[i]
            );
        }
    }
}

fn tracked(inputs: &[DynTensor]) -> Vec<DynTensor> {
    inputs.iter().map(|x| if x.dtype() == DType::F64 { x.requires_grad().unwrap() } else { x.clone() }).collect()
}

#[test]
fn gradient() {
    over_cases(|case| {
        if matches!(case.grad, Grad::No(_)) {
            return;
        }
        for trial in 0..4 {
            let mut g = Gen::new(seed(case, trial));
            g.no_empty = trial > 0;
            let s = (case.sample)(&mut g);
            let x = tracked(&s.inputs);
            let l = loss(&s, &x, &mut Gen::new(trial));
            if !l.is_tracked() {
                panic!("{}: the output of tracked inputs is not tracked", case.op);
            }
            let grads = l.backward().unwrap();
            let grads: Vec<_> = x.iter().map(|x| grads.get_dyn(x).map(|g| g.to_vec::<f64>().unwrap())).collect();
            check(case.op, &s.inputs, &grads, &|x| value(&loss(&s, x, &mut Gen::new(trial))), &mut g);
        }
    });
}

#[test]
fn gradient_of_gradient() {
    over_cases(|case| {
        if case.grad != Grad::Smooth {
            return;
        }
        for trial in 1..4 {
            let mut g = Gen::new(seed(case, trial));
            g.no_empty = true;
            let s = (case.sample)(&mut g);
            // The scalar whose slope is checked: a weighted sum of the first gradients.
            let pull = |inputs: &[DynTensor], how: Backward| {
                let x = tracked(inputs);
                let l = loss(&s, &x, &mut Gen::new(trial));
                let grads = l.backward_with(how).unwrap();
                let mut weights = Gen::new(trial + 100);
                let mut total: Option<DynTensor> = None;
                for x in &x {
                    let Some(d) = grads.get_dyn(x) else { continue };
                    let named: Vec<(String, usize)> =
                        d.axes().iter().map(|a| a.name().to_owned()).zip(d.shape().iter().copied()).collect();
                    let named: Vec<(&str, usize)> = named.iter().map(|(a, n)| (a.as_str(), *n)).collect();
                    let w = weights.tensor(&named, -1.0, 1.0);
                    let part = d.mul(&w).unwrap().sum_all().unwrap();
                    total = Some(match total {
                        Some(t) => t.add(&part).unwrap(),
                        None => part,
                    });
                }
                (x, total.unwrap())
            };
            let (x, l) = pull(&s.inputs, Backward::create_graph());
            if !l.is_tracked() {
                // Linear in every input: the second gradient is zero, which finite differences must confirm.
                check(case.op, &s.inputs, &vec![None; x.len()], &|x| value(&pull(x, Backward::retain()).1), &mut g);
                continue;
            }
            let grads = l.backward().unwrap();
            let grads: Vec<_> = x.iter().map(|x| grads.get_dyn(x).map(|g| g.to_vec::<f64>().unwrap())).collect();
            check(case.op, &s.inputs, &grads, &|x| value(&pull(x, Backward::retain()).1), &mut g);
        }
    });
}

/// The bits of every f32 output and gradient of a case.
fn bits(case: &Case, trial: u64) -> Vec<u64> {
    let mut g = Gen::new(seed(case, trial));
    g.large = true;
    let s = (case.sample)(&mut g);
    let x: Vec<DynTensor> = cast(&s.inputs, DType::F32)
        .iter()
        .map(|x| {
            let float = x.dtype() == DType::F32 && !matches!(case.grad, Grad::No(_));
            if float { x.requires_grad().unwrap() } else { x.clone() }
        })
        .collect();
    let y = (s.run)(&x).unwrap();
    let mut out = Vec::new();
    let push = |t: &DynTensor, out: &mut Vec<u64>| out.extend(Naive::of(t).data.iter().map(|v| v.to_bits()));
    y.iter().for_each(|t| push(t, &mut out));
    let total = y.iter().filter(|t| t.is_tracked()).map(|t| t.mul(&t.detach()).unwrap().sum_all().unwrap());
    if let Some(l) = total.reduce(|a, b| a.add(&b).unwrap()) {
        let grads = l.backward().unwrap();
        x.iter().filter_map(|x| grads.get_dyn(x)).for_each(|g| push(&g, &mut out));
    }
    out
}

#[test]
fn threads() {
    over_cases(|case| {
        for trial in 0..2 {
            let one = Team::single().enter(|| bits(case, trial));
            for n in [2, 3, 8] {
                let many = Team::new(n).enter(|| bits(case, trial));
                assert!(one == many, "{}: other bits on {n} threads than on one (trial {trial})", case.op);
            }
        }
    });
}

#[test]
fn a_wrong_derivative_turns_the_table_red() {
    // The same check that guards every case must refuse a derivative with its sign flipped.
    let mut g = Gen::new(7);
    let x = g.tensor(&[("a", 3)], -1.0, 1.0);
    let f = |x: &[DynTensor]| value(&x[0].exp().unwrap().sum_all().unwrap());
    let right: Vec<f64> = x.to_vec::<f64>().unwrap().iter().map(|v| v.exp()).collect();
    let wrong: Vec<f64> = right.iter().map(|v| -v).collect();
    let inputs = [x];
    check("exp", &inputs, &[Some(right)], &f, &mut g);
    let caught =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check("exp", &inputs, &[Some(wrong)], &f, &mut g)));
    assert!(caught.is_err());
}
