//! Conversions between element types: every pair, against the rules written down.

use forge::DType;
use forge::prelude::*;

axes! { A }

/// What f64 `v` becomes in `to`, as f64 again.
fn expected(v: f64, from: DType, to: DType) -> f64 {
    let int = |lo: f64, hi: f64, bits: u32| {
        if from.is_float() {
            // Truncates, saturates, NaN to 0.
            return if v.is_nan() { 0.0 } else { v.trunc().clamp(lo, hi) };
        }
        // Integers wrap.
        let m = 2i128.pow(bits);
        let w = (v as i128).rem_euclid(m);
        (if lo < 0.0 && w >= m / 2 { w - m } else { w }) as f64
    };
    match to {
        DType::F64 => v,
        DType::F32 => f64::from(v as f32),
        DType::F16 => f16::from_f64(v).to_f64(),
        DType::BF16 => bf16::from_f64(v).to_f64(),
        DType::I8 => int(-128.0, 127.0, 8),
        DType::I16 => int(-32768.0, 32767.0, 16),
        DType::I32 => int(-2_147_483_648.0, 2_147_483_647.0, 32),
        DType::I64 => int(-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_807.0, 64),
        DType::U8 => int(0.0, 255.0, 8),
        DType::U16 => int(0.0, 65535.0, 16),
        DType::Bool => f64::from(v != 0.0),
    }
}

fn values(x: &DynTensor) -> Vec<f64> {
    match x.dtype() {
        DType::I64 => x.to_vec::<i64>().unwrap().into_iter().map(|v| v as f64).collect(),
        _ => x.to(DType::F64).unwrap().to_vec::<f64>().unwrap(),
    }
}

#[test]
fn every_pair_follows_the_rules() {
    let source =
        [0.0, 1.0, -1.0, 2.5, -2.5, 100.0, 127.0, 128.0, 200.0, 255.0, 256.0, -129.0, 300.0, 1000.25, 40000.0, 70000.0];
    let x = DynTensor::from_vec(&["a"], &[source.len()], source.to_vec()).unwrap();
    for from in DType::ALL {
        let start = x.to(from).unwrap();
        let held = values(&start);
        for to in DType::ALL {
            let got = start.to(to).unwrap();
            assert_eq!(got.dtype(), to);
            let got = values(&got);
            for (i, (&g, &v)) in got.iter().zip(&held).enumerate() {
                let want = expected(v, from, to);
                assert!(
                    g == want || (g.is_nan() && want.is_nan()),
                    "{from} {v} (element {i}) to {to}: {g}, not {want}"
                );
            }
        }
    }
}

#[test]
fn special_floats() {
    let x = Tensor::<A>::from([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0]);
    assert_eq!(x.to::<i32>().to_vec(), [0, i32::MAX, i32::MIN, 0]);
    assert_eq!(x.to::<bool>().to_vec(), [true, true, true, false]);
    let h = x.to::<bf16>().to_vec();
    assert!(h[0].is_nan() && h[1].is_infinite() && h[3].to_bits() == 0x8000);
}

#[test]
fn rounds_to_nearest_even() {
    // Halfway between two bf16 neighbours: 1 + 2^-8 goes down to the even 1, 1 + 3 * 2^-8 up to the even 1 + 2^-6.
    let x = Tensor::<A>::from([1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0]);
    assert_eq!(x.to::<bf16>().to::<f32>().to_vec(), [1.0, 1.0 + 1.0 / 64.0]);
}

#[test]
fn gradients_pass_between_f32_and_f64_only() {
    let x = Tensor::<A>::from([1.0f32, 2.0]).requires_grad();
    let g = x.to::<f64>().square().sum_all().backward().unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), [2.0, 4.0]);
    let e = x.try_to::<bf16>().unwrap_err().to_string();
    assert_eq!(
        e,
        "to: no gradient: bf16 tensors carry no gradient; convert a detached value: `.detach().to::<bf16>()`"
    );
    assert!(!x.to::<i64>().is_tracked() && !x.to::<bool>().is_tracked());
    assert!(!no_grad(|| x.to::<bf16>()).is_tracked());
}
