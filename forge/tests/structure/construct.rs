//! Constructors.

use forge::prelude::*;
use forge::rng::Key;

axes! { A, B, C, Three = 3 }

#[test]
fn ranges() {
    assert_eq!(Tensor::<A>::arange(0.0, 1.0, 0.1).shape(), [10]);
    // Each element is rounded once, not accumulated.
    assert_eq!(Tensor::<A>::arange(0.0, 100.0, 0.1).get(999), (999.0 * f64::from(0.1f32)) as f32);
    assert_eq!(Tensor::<A, i64>::arange(3, -4, -3).to_vec(), [3, 0, -3]);
    assert_eq!(Tensor::<A, u8>::arange(250, 255, 2).to_vec(), [250, 252, 254]);
    assert_eq!(Tensor::<A, i64>::arange(i64::MIN, i64::MAX, i64::MAX).to_vec(), [i64::MIN, -1, i64::MAX - 1]);
    // Away from the end there is nothing (torch: an error).
    assert_eq!(Tensor::<A, i32>::arange(0, 5, -1).shape(), [0]);
    assert_eq!(Tensor::<A>::arange(1.0, 1.0, 1.0).shape(), [0]);
    for e in [
        Tensor::<A>::try_arange(0.0, 1.0, 0.0),
        Tensor::<A>::try_arange(0.0, f32::INFINITY, 1.0),
        Tensor::<A>::try_arange(f32::NAN, 1.0, 1.0),
        Tensor::<A>::try_arange(0.0, f32::MAX, f32::MIN_POSITIVE),
    ] {
        assert!(e.is_err());
    }
    assert!(Tensor::<A, i64>::try_arange(0, i64::MAX, 1).is_err());
    assert!(Tensor::<Three>::try_arange(0.0, 4.0, 1.0).is_err());
    assert_eq!(Tensor::<Three>::arange(0.0, 3.0, 1.0).to_vec(), [0., 1., 2.]);
    assert_eq!(DynTensor::arange("a", 1u16, 7, 3).unwrap().to_vec::<u16>().unwrap(), [1, 4]);
}

#[test]
fn linspace_ends_exactly() {
    for n in [2, 3, 7, 10, 1000] {
        let x = Tensor::<A>::linspace(-0.3, 0.7, n).to_vec();
        assert_eq!((x[0], x[n - 1]), (-0.3, 0.7));
        assert!(x.windows(2).all(|w| w[0] < w[1]));
    }
    assert_eq!(Tensor::<A>::linspace(2.0, 5.0, 1).to_vec(), [2.0]);
    assert_eq!(Tensor::<A>::linspace(2.0, 5.0, 0).shape(), [0]);
    assert_eq!(Tensor::<Three, f64>::linspace(0.0, 1.0, Three).to_vec(), [0.0, 0.5, 1.0]);
    assert_eq!(Tensor::<A, bf16>::linspace(0.0, 1.0, 3).to::<f32>().to_vec(), [0.0, 0.5, 1.0]);
}

#[test]
fn bands_and_one_hot() {
    let all = Tensor::<(A, B), bool>::band_mask((2, 2), None, None);
    assert_eq!(all.to_vec(), [true; 4]);
    let strictly_below = Tensor::<(A, B), bool>::band_mask((3, 3), None, -1);
    assert_eq!(strictly_below.to_vec(), [false, false, false, true, false, false, true, true, false]);
    let one_off = Tensor::<(A, B), bool>::band_mask((3, 3), 1, 0);
    assert_eq!(one_off.to_vec(), [true, false, false, true, true, false, false, true, true]);
    assert_eq!(Tensor::<(A, B), i32>::eye((2, 2)).to_vec(), [1, 0, 0, 1]);
    assert_eq!(Tensor::<(A, B), bool>::band_mask((0, 3), 0, 0).shape(), [0, 3]);

    let e = Tensor::<A, i64>::from([0, 3]).try_one_hot(C, 3).unwrap_err().to_string();
    assert_eq!(e, "one_hot: index 3 is outside axis `C` of size 3");
    assert_eq!(Tensor::<A, i64>::from([0; 0]).one_hot(C, 0).shape(), [0, 0]);
    assert!(Tensor::<A, i64>::from([0]).try_one_hot(C, usize::MAX / 2).is_err());
}

#[test]
fn random_tensors_are_functions_of_the_key() {
    let key = Key::new(11).derive("test");
    let u = Tensor::<(A, B)>::uniform((30, 7), -2.0, 3.0, key);
    assert!(u.to_vec().iter().enumerate().all(|(i, &v)| v == key.uniform_at(i as u64, -2.0f32, 3.0)));
    let n = Tensor::<(A, B), f64>::normal((30, 7), 1.0, 0.5, key);
    assert!(n.to_vec().iter().enumerate().all(|(i, &v)| v == 1.0 + 0.5 * key.normal_at(i as u64)));
    let g = Tensor::<A, f64>::gumbel(20, key);
    assert!(g.to_vec().iter().enumerate().all(|(i, &v)| v == key.gumbel_at(i as u64)));
    let b = Tensor::<A, bool>::bernoulli(500, 0.2, key);
    assert!(b.to_vec().iter().enumerate().all(|(i, &v)| v == key.bernoulli_at(i as u64, 0.2)));
    let i = Tensor::<A, i64>::randint(100, -3, 4, key);
    assert!(i.to_vec().iter().enumerate().all(|(k, &v)| v == key.int_at(k as u64, -3, 4) && (-3..4).contains(&v)));
    let mut p = Tensor::<A, i64>::randperm(50, key).to_vec();
    assert_ne!(p, (0..50).collect::<Vec<_>>());
    p.sort_unstable();
    assert_eq!(p, (0..50).collect::<Vec<_>>());
    // The erased forms draw the same.
    let d = DynTensor::normal(&["A", "B"], &[30, 7], DType::F64, 1.0, 0.5, key).unwrap();
    assert_eq!(d.to_vec::<f64>().unwrap(), n.to_vec());

    assert!(Tensor::<A>::try_uniform(1, 1.0, 0.0, key).is_err());
    assert!(Tensor::<A>::try_uniform(1, 0.0, 1e300, key).is_err());
    assert!(Tensor::<A>::try_normal(1, 0.0, -1.0, key).is_err());
    assert!(Tensor::<A, bool>::try_bernoulli(1, 1.1, key).is_err());
    assert!(Tensor::<A, i64>::try_randint(1, 2, 2, key).is_err());
    assert!(DynTensor::uniform(&["a"], &[1], DType::I32, 0.0, 1.0, key).is_err());
}

#[test]
fn arrays_come_and_go() {
    let x = Tensor::<(A, B, C)>::from([[[1., 2.]], [[3., 4.]]]);
    assert_eq!(x.shape(), [2, 1, 2]);
    assert_eq!(x.to_array(), [1., 2., 3., 4.]);
    let e = x.try_to_array::<3>().unwrap_err().to_string();
    assert_eq!(e, "to_array: 3 elements do not fill (A 2, B 1, C 2), which needs 4");
}

#[test]
fn erased_constructors_check_their_axes() {
    assert_eq!(DynTensor::ones(&["a"], &[2], DType::I8).unwrap().to_vec::<i8>().unwrap(), [1, 1]);
    assert_eq!(DynTensor::zeros(&[], &[], DType::Bool).unwrap().to_vec::<bool>().unwrap(), [false]);
    assert_eq!(DynTensor::full(&["a"], &[1], 2.5f64).unwrap().to_vec::<f64>().unwrap(), [2.5]);
    assert!(DynTensor::zeros(&["a", "a"], &[1, 1], DType::F32).is_err());
    assert!(DynTensor::zeros(&["a"], &[1, 2], DType::F32).is_err());
    assert!(DynTensor::zeros(&["a", "b"], &[usize::MAX, 2], DType::F32).is_err());
    assert!(DynTensor::zeros(&["a"; 9], &[1; 9], DType::F32).is_err());
}
