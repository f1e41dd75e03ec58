//! Softmax: what is hidden, what is empty, what is refused.

use forge::prelude::*;
use forge::{DynSoftmax, Softmax};

axes! { Head, Seq, Key }

const INF: f32 = f32::INFINITY;

#[test]
fn a_row_without_anything_to_see_is_zero() {
    let x = Tensor::<(Seq, Key)>::from_vec((2, 2), vec![-INF, -INF, 0.0, 0.0]).requires_grad();
    let y = x.softmax(Key);
    assert_eq!(y.to_vec(), [0.0, 0.0, 0.5, 0.5]);
    let g = y.square().sum_all().backward().unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), [0.0; 4]);
    assert_eq!(x.log_softmax(Key).select(Seq, 0).to_vec(), [-INF, -INF]);
}

#[test]
fn nan_spoils_its_own_row_unless_hidden() {
    let x = Tensor::<(Seq, Key)>::from_vec((2, 2), vec![0.0, f32::NAN, 1.0, 1.0]);
    let y = x.softmax(Key).to_vec();
    assert!(y[0].is_nan() && y[1].is_nan());
    assert_eq!(y[2..], [0.5, 0.5]);
    // Query 0 sees key 0 alone.
    assert_eq!(x.softmax_with(Key, Softmax::new().causal(Seq, 0)).to_vec(), [1.0, 0.0, 0.5, 0.5]);
}

#[test]
fn empty_axes() {
    let none = Tensor::<(Seq, Key)>::zeros((3, 0));
    assert_eq!(none.softmax(Key).shape(), [3, 0]);
    assert_eq!(none.softmax(Seq).shape(), [3, 0]);
    assert_eq!(none.softmax_with(Key, Softmax::new().causal(Seq, 0)).shape(), [3, 0]);
}

#[test]
fn golden_values() {
    // e^k / (1 + e + e^2), from mpmath.
    let y = Tensor::<Key>::from_vec(3, vec![0.0, 1.0, 2.0]).softmax(Key).to_vec();
    for (a, b) in y.iter().zip([0.090_030_57, 0.244_728_47, 0.665_240_96]) {
        assert!((a - b).abs() < 1e-7);
    }
    // Far logits leave a finite logarithm.
    let y = Tensor::<Key>::from_vec(2, vec![0.0, 1000.0]).log_softmax(Key).to_vec();
    assert_eq!(y, [-1000.0, 0.0]);
}

#[test]
fn a_sink_takes_its_share() {
    let x = Tensor::<(Head, Key)>::zeros((2, 2));
    let sinks = Tensor::<Head>::from_vec(2, vec![0.0, -INF]).requires_grad();
    let y = x.softmax_with(Key, Softmax::new().sinks(&sinks));
    let y = y.to_vec();
    for (a, b) in y.iter().zip([1.0 / 3.0, 1.0 / 3.0, 0.5, 0.5]) {
        assert!((a - b).abs() < 1e-6);
    }
}

#[test]
fn half_goes_through_f32_and_is_rounded_once() {
    let x = Tensor::<Key>::from_vec(3, vec![0.5, 1.25, -2.0]);
    let want = x.softmax(Key).to::<f16>();
    assert_eq!(x.to::<f16>().softmax(Key).to_vec(), want.to_vec());
}

#[test]
fn what_does_not_fit_is_an_error() {
    let x = Tensor::<(Seq, Key)>::zeros((2, 3));
    let mask = Tensor::<Key>::zeros(4);
    let e = x.try_softmax_with(Key, Softmax::new().mask(&mask)).unwrap_err().to_string();
    assert_eq!(e, "softmax: axis `Key` has size 3 in (Seq 2, Key 3) but 4 in (Key 4)");
    let e = x.try_softmax_with(Key, Softmax::new().alibi(8.0, Seq)).unwrap_err().to_string();
    assert_eq!(e, "softmax: ALiBi slopes multiply a mask, and there is none");
    let e = x.try_softmax_with(Key, Softmax::new().causal(Key, 0)).unwrap_err().to_string();
    assert!(e.contains("axis `Key` is the one that softmax runs along"), "{e}");
    let sinks = Tensor::<Seq>::zeros(3);
    let e = x.try_softmax_with(Key, Softmax::new().sinks(&sinks)).unwrap_err().to_string();
    assert_eq!(e, "softmax: the vector of sinks has sizes [3], but axis `Seq` has size 2");
    let e = x.erase().softmax("Head").unwrap_err().to_string();
    assert_eq!(e, "softmax: no axis `Head` in `(Seq, Key)`");
    let how = DynSoftmax { causal: Some(("Head", 0)), ..DynSoftmax::default() };
    assert!(x.erase().softmax_with("Key", &how).is_err());
    assert!(x.to::<i64>().erase().softmax("Key").unwrap_err().to_string().contains("not defined for i64"));
}
