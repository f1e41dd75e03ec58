//! The `f32` functions against `f64`: error bounds in ULP, special values, and the same bits on every instruction set.

use forge_kernels::isa::{Isa, force};
use forge_kernels::math::{self, Real};
use forge_kernels::{multiversion, team};

/// One function, its meaning in `f64`, and the bound in ULP at an argument.
struct Case {
    name: &'static str,
    f: fn(f32) -> f32,
    exact: fn(f64) -> f64,
    bound: fn(f32) -> f64,
}

fn sigmoid(x: f64) -> f64 {
    let z = (-x.abs()).exp();
    if x < 0.0 { z / (1.0 + z) } else { 1.0 / (1.0 + z) }
}

/// The limit at minus infinity, where `x` times a factor that vanishes would be NaN.
fn bounded(x: f64) -> f64 {
    if x < -1e4 { -1e4 } else { x }
}

fn gelu(x: f64) -> f64 {
    let x = bounded(x);
    x * sigmoid(2.0 * 0.797_884_560_8 * (x + 0.044_715 * x * x * x))
}

/// The bound where the result holds `e^u` and the argument `u` is the end of `k` roundings, with `a` ULP elsewhere: each
/// of them moves the result by up to `|u|` ULP. Beyond 110 the result is zero.
fn grows(a: f64, k: f64, u: f64) -> f64 {
    a + k * u.abs().min(110.0)
}

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    let c = |name, f, exact, bound| Case { name, f, exact, bound };
    vec![
        c("exp", math::exp, f64::exp, |_| 1.2),
        c("exp_m1", math::exp_m1, f64::exp_m1, |_| 1.6),
        c("log", math::log, f64::ln, |_| 0.9),
        c("log1p", math::log1p, f64::ln_1p, |_| 1.0),
        c("tanh", math::tanh, f64::tanh, |_| 2.7),
        c("sigmoid", math::sigmoid, sigmoid, |_| 2.5),
        c("erf", math::erf, math::erf_f64, |_| 1.5),
        c("erfc", math::erfc, math::erfc_f64, |x| if x < 9.0 { 7.0 } else { 60.0 }),
        c("sin", math::sin, f64::sin, |_| 1.6),
        c("cos", math::cos, f64::cos, |_| 1.6),
        c("softplus", math::softplus, |x| (if x < 0.0 { 0.0 } else { x }) + (-x.abs()).exp().ln_1p(), |_| 2.0),
        c("elu", math::elu, |x| if x > 0.0 { x } else { x.exp_m1() }, |_| 1.6),
        c("silu", math::silu, |x| bounded(x) * sigmoid(x), |x| if x > -87.0 { 3.5 } else { 60.0 }),
        c("quick_gelu", math::quick_gelu, |x| bounded(x) * sigmoid(1.702 * x), |x| grows(4.0, 2.0, 1.702 * f64::from(x))),
        c("gelu", math::gelu, gelu, |x| grows(4.0, 4.0, 1.6 * f64::from(x) * (1.0 + 0.045 * f64::from(x).powi(2)))),
        c("gelu_erf", math::gelu_erf, |x| 0.5 * bounded(x) * math::erfc_f64(-bounded(x) * std::f64::consts::FRAC_1_SQRT_2),
            |x| grows(6.0, 4.0, 0.5 * f64::from(x).powi(2))),
        c("fast_tanh", math::fast_tanh, f64::fast_tanh, |_| 7.0),
        c("rsqrt", math::rsqrt, |x| 1.0 / x.sqrt(), |_| 1.5),
        c("sqrt", math::sqrt, f64::sqrt, |_| 0.5),
        c("recip", math::recip, f64::recip, |_| 0.5),
        c("round_even", math::round_even, f64::round_ties_even, |_| 0.0),
        c("floor", math::floor, f64::floor, |_| 0.0),
        c("ceil", math::ceil, f64::ceil, |_| 0.0),
    ]
}

/// The distance of `y` from the exact value in units of the last place of an `f32` there. Infinite when one is NaN, when
/// a zero has the wrong sign, or when a result that `f32` can hold overflows.
fn ulps(y: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if y.is_nan() || exact.is_nan() {
        return if y.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if y == 0.0 && rounded == 0.0 && y.is_sign_negative() != exact.is_sign_negative() {
        return f64::INFINITY;
    }
    if y == rounded && (y.is_infinite() || f64::from(y) == exact) {
        return 0.0;
    }
    // Past the largest number, infinity stands where the next number would.
    let top = f64::from(f32::MAX) + last_place(f64::from(f32::MAX));
    let (y, exact) = (f64::from(y).clamp(-top, top), exact.clamp(-top, top));
    (y - exact).abs() / last_place(exact)
}

fn last_place(x: f64) -> f64 {
    let e = if x == 0.0 { -126 } else { (x.abs().to_bits() >> 52) as i32 - 1023 };
    2f64.powi(e.clamp(-126, 127) - 23)
}

/// What is worst, in multiples of the bound, over the arguments with the bits `at(0), .., at(n - 1)`; an error message
/// when that is more than the bound.
fn check(c: &Case, n: u64, at: impl Fn(u64) -> u32 + Sync) -> Option<String> {
    let mut worst = vec![(0.0, 0.0f32, 0.0); 256];
    team::for_each_chunk(&mut worst, 1, |i, w| {
        for j in n * i as u64 / 256..n * (i as u64 + 1) / 256 {
            let x = f32::from_bits(at(j));
            let e = ulps((c.f)(x), (c.exact)(f64::from(x)));
            let over = if e == 0.0 { 0.0 } else { e / (c.bound)(x) };
            if over > w[0].0 {
                w[0] = (over, x, e);
            }
        }
    });
    let (over, x, e) = worst.into_iter().fold((0.0, 0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
    let (y, exact) = ((c.f)(x), (c.exact)(f64::from(x)));
    (over > 1.0).then(|| format!("{}({x:e}) = {y:e}, exact {exact:e}: {e:.3} ULP, bound {}", c.name, (c.bound)(x)))
}

/// 2^22 arguments, 8192 for each sign and exponent.
fn sample(i: u64) -> u32 {
    ((i << 10) | (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54)) as u32
}

fn check_all(n: u64, at: impl Fn(u64) -> u32 + Sync) {
    let wrong: Vec<_> = cases().iter().filter_map(|c| check(c, n, &at)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bounds_hold_on_every_exponent() {
    check_all(1 << 22, sample);
}

#[test]
fn bounds_hold_where_the_functions_bend() {
    // 2^21 arguments spread evenly over -24..24, and those around the limits of overflow and underflow.
    check_all(1 << 21, |i| ((i as f64 - f64::from(1 << 20)) * 2.288_818_36e-5).to_bits_f32());
    check_all(1 << 18, |i| (-104.5 + i as f64 * (194.0 / f64::from(1 << 18))).to_bits_f32());
}

trait BitsF32 {
    fn to_bits_f32(self) -> u32;
}

impl BitsF32 for f64 {
    fn to_bits_f32(self) -> u32 {
        (self as f32).to_bits()
    }
}

/// About 40 minutes on two cores:
/// `cargo test --release -p forge-kernels --test math -- --ignored every_f32`
#[test]
#[ignore = "all 2^32 arguments take most of an hour"]
fn bounds_hold_on_every_f32() {
    check_all(1 << 32, |i| i as u32);
}

#[test]
fn special_values() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let same = |a: f32, b: f32| (a.is_nan() && b.is_nan()) || a.to_bits() == b.to_bits();
    let sub = f32::from_bits(1);
    #[rustfmt::skip]
    let rows: Vec<(&str, fn(f32) -> f32, Vec<(f32, f32)>)> = vec![
        ("exp", math::exp, vec![(0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0), (88.73, inf), (-104.0, 0.0), (sub, 1.0), (-103.9, sub)]),
        ("exp_m1", math::exp_m1, vec![(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0), (sub, sub), (-sub, -sub), (88.73, inf)]),
        ("log", math::log, vec![(1.0, 0.0), (0.0, -inf), (-0.0, -inf), (-1.0, nan), (-inf, nan), (inf, inf)]),
        ("log1p", math::log1p, vec![(0.0, 0.0), (-0.0, -0.0), (-1.0, -inf), (-1.5, nan), (-inf, nan), (inf, inf), (sub, sub), (-sub, -sub)]),
        ("tanh", math::tanh, vec![(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (sub, sub), (-sub, -sub), (f32::MAX, 1.0)]),
        ("sigmoid", math::sigmoid, vec![(0.0, 0.5), (inf, 1.0), (-inf, 0.0), (f32::MIN, 0.0)]),
        ("erf", math::erf, vec![(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (f32::MAX, 1.0)]),
        ("erfc", math::erfc, vec![(0.0, 1.0), (inf, 0.0), (-inf, 2.0)]),
        ("sin", math::sin, vec![(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan), (-sub, -sub)]),
        ("cos", math::cos, vec![(0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan)]),
        ("silu", math::silu, vec![(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -0.0), (f32::MAX, f32::MAX), (f32::MIN, -0.0)]),
        ("gelu", math::gelu, vec![(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -0.0), (f32::MAX, f32::MAX), (f32::MIN, -0.0)]),
        ("gelu_erf", math::gelu_erf, vec![(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -0.0), (f32::MAX, f32::MAX)]),
        ("quick_gelu", math::quick_gelu, vec![(0.0, 0.0), (inf, inf), (-inf, -0.0), (f32::MAX, f32::MAX)]),
        ("softplus", math::softplus, vec![(inf, inf), (-inf, 0.0), (f32::MAX, f32::MAX)]),
        ("elu", math::elu, vec![(inf, inf), (-inf, -1.0), (-0.0, -0.0)]),
        ("fast_tanh", math::fast_tanh, vec![(0.0, 0.0), (-0.0, -0.0), (inf, 1.008_081_9), (-inf, -1.008_081_9)]),
        ("round_even", math::round_even, vec![(0.5, 0.0), (-0.5, -0.0), (1.5, 2.0), (2.5, 2.0), (-0.0, -0.0), (inf, inf), (8_388_609.0, 8_388_609.0)]),
        ("floor", math::floor, vec![(-0.5, -1.0), (-0.0, -0.0), (0.9, 0.0), (-inf, -inf), (sub, 0.0), (-sub, -1.0)]),
        ("ceil", math::ceil, vec![(-0.5, -0.0), (-0.0, -0.0), (0.1, 1.0), (inf, inf), (sub, 1.0), (-sub, -0.0)]),
        ("rsqrt", math::rsqrt, vec![(0.0, inf), (-0.0, -inf), (-1.0, nan), (inf, 0.0), (4.0, 0.5)]),
    ];
    for (name, f, values) in rows {
        assert!(f(nan).is_nan() && f(-nan).is_nan() && f(f32::from_bits(0x7f80_0001)).is_nan(), "{name}(NaN)");
        for (x, y) in values {
            assert!(same(f(x), y), "{name}({x:e}) = {:e}, not {y:e}", f(x));
        }
    }
}

#[test]
fn pow_follows_libm() {
    let nan = f32::NAN;
    for (x, y, z) in [(0.0, 0.0, 1.0), (nan, 0.0, 1.0), (1.0, nan, 1.0), (-8.0, 3.0, -512.0), (2.0, -1.0, 0.5)] {
        assert_eq!(math::pow(x, y), z, "{x} ^ {y}");
    }
    assert!(math::pow(-8.0, 1.0 / 3.0).is_nan() && math::pow(nan, 1.0).is_nan());
    assert_eq!(math::pow(0.0, -1.0), f32::INFINITY);
}

#[test]
fn max_and_min_propagate_nan() {
    fn on<T: Real>() {
        let (one, two) = (T::ONE, T::ONE + T::ONE);
        assert!(one.nan_max(two) == two && two.nan_max(one) == two);
        assert!(one.nan_min(two) == one && two.nan_min(one) == one);
        for f in [T::nan_max, T::nan_min] {
            assert!(f(T::NAN, one).is_nan() && f(one, T::NAN).is_nan());
        }
        assert!(one.mul_add_if::<true>(two, one) == one + two && one.mul_add_if::<false>(two, one) == one + two);
    }
    on::<f32>();
    on::<f64>();
}

/// Correctly rounded values from arithmetic with 60 digits.
const ERF: [(f64, f64, f64); 14] = [
    (1e-300, 1.128_379_167_095_512_6e-300, 1.0),
    (1e-10, 1.128_379_167_095_512_6e-10, 0.999_999_999_887_162),
    (0.1, 0.112_462_916_018_284_9, 0.887_537_083_981_715),
    (0.5, 0.520_499_877_813_046_5, 0.479_500_122_186_953_5),
    (1.0, 0.842_700_792_949_714_9, 0.157_299_207_050_285_13),
    (1.5, 0.966_105_146_475_310_8, 0.033_894_853_524_689_274),
    (2.0, 0.995_322_265_018_952_7, 0.004_677_734_981_047_266),
    (2.4, 0.999_311_486_103_355, 6.885_138_966_450_789e-4),
    (2.5, 0.999_593_047_982_555, 4.069_520_174_449_589e-4),
    (2.75, 0.999_899_378_077_880_3, 1.006_219_221_196_368_3e-4),
    (3.0, 0.999_977_909_503_001_4, 2.209_049_699_858_544e-5),
    (4.0, 0.999_999_984_582_742_1, 1.541_725_790_028_002e-8),
    (5.0, 0.999_999_999_998_462_6, 1.537_459_794_428_035e-12),
    (5.9, 0.999_999_999_999_999_9, 7.190_409_783_550_478e-17),
];

#[test]
fn erf_in_f64() {
    for (x, e, c) in ERF {
        assert!((math::erf_f64(x) - e).abs() <= 1e-15 * e, "erf({x}) = {:e}", math::erf_f64(x));
        assert_eq!(math::erf_f64(-x), -math::erf_f64(x));
        // Below 2.5 the complement is a difference.
        let tolerance = if x < 2.5 { 4e-16 } else { 1e-14 * c };
        assert!((math::erfc_f64(x) - c).abs() <= tolerance, "erfc({x}) = {:e}", math::erfc_f64(x));
    }
    assert!(math::erf_f64(f64::NAN).is_nan() && math::erfc_f64(f64::NAN).is_nan());
    assert_eq!((math::erf_f64(f64::INFINITY), math::erf_f64(f64::NEG_INFINITY)), (1.0, -1.0));
    assert_eq!((math::erfc_f64(f64::INFINITY), math::erfc_f64(f64::NEG_INFINITY)), (0.0, 2.0));
    assert!(math::erf_f64(-0.0).is_sign_negative());
}

multiversion! {
    fn map<F: Fn(f32) -> f32>(x: &mut [f32], f: F) {
        x.iter_mut().for_each(|x| *x = f(*x));
    }
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    let x: Vec<f32> = (0..1 << 18).map(|i| f32::from_bits(sample(16 * i + 5))).collect();
    macro_rules! same {
        ($($name:ident),*) => {$({
            let mut first: Option<Vec<f32>> = None;
            for arm in Isa::ALL {
                let held = force(arm);
                let mut y = x.clone();
                map(&mut y, |v| math::$name(v));
                drop(held);
                let first = first.get_or_insert_with(|| y.clone());
                for ((&x, a), b) in x.iter().zip(first).zip(y) {
                    let scalar = math::$name(x);
                    assert!(
                        a.to_bits() == b.to_bits() && scalar.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
                        "{}({x:e}) on {arm:?}: {a:e} {b:e} {scalar:e}", stringify!($name)
                    );
                }
            }
        })*};
    }
    same!(
        exp, exp_m1, log, log1p, tanh, fast_tanh, sigmoid, silu, gelu, gelu_erf, quick_gelu, softplus, elu, erf, erfc
    );
    same!(sin_bounded, cos_bounded, floor, ceil, round_even, rsqrt, sqrt, recip);
}

#[test]
fn sine_slices_take_any_argument() {
    // Blocks with and without large arguments, and a remainder.
    let mut x: Vec<f32> = (0..1000).map(|i| i as f32 * 0.37 - 100.0).collect();
    for (i, v) in [(3, 1e9), (140, f32::INFINITY), (141, f32::NAN), (600, -3e30), (999, f32::MAX)] {
        x[i] = v;
    }
    let (mut s, mut c) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    math::sin_slice(&mut s, &x);
    math::cos_slice(&mut c, &x);
    for i in 0..x.len() {
        assert!(s[i].to_bits() == math::sin(x[i]).to_bits() || s[i].is_nan() && !x[i].is_finite(), "sin({})", x[i]);
        assert!(c[i].to_bits() == math::cos(x[i]).to_bits() || c[i].is_nan() && !x[i].is_finite(), "cos({})", x[i]);
    }
    let (x, mut s) = ([0.5f64, -2.0, 1e9], [0.0; 3]);
    math::sin_slice(&mut s, &x);
    assert_eq!(s, x.map(f64::sin));
}

#[test]
fn fast_tanh_is_near_tanh() {
    let far = (-2000..=2000).map(|i| f64::from(i) * 0.01).map(|x| (x.fast_tanh() - x.tanh()).abs()).fold(0.0, f64::max);
    assert!(far < 0.01, "{far}");
}
