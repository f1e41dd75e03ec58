//! Reductions and scans: dtypes, NaN, empty axes, masks, gradients at corners, errors.

use forge::prelude::*;
use forge::{Masked, Norm, Standardize};

axes! { A, B, C, Seg }

const NAN: f32 = f32::NAN;

fn row(v: &[f32]) -> Tensor<A> {
    Tensor::from_vec(v.len(), v.to_vec())
}

fn message<T: std::fmt::Debug>(r: Result<T, Error>) -> String {
    r.unwrap_err().to_string()
}

/// The gradient of `f(x)` for a vector.
fn slope(x: &[f32], f: impl Fn(&Tensor<A>) -> Tensor<()>) -> Vec<f32> {
    let x = row(x).requires_grad();
    f(&x).backward().unwrap().get(&x).unwrap().to_vec()
}

#[test]
fn sums_and_products_have_the_type_of_their_accumulator() {
    let bytes = Tensor::<A, u8>::from_vec(3, vec![200, 100, 7]);
    let sum: Tensor<(), i64> = bytes.sum(A);
    assert_eq!(sum.item(), 307);
    assert_eq!(bytes.prod_all().item(), 140_000i64);
    assert_eq!(bytes.cumsum(A).to_vec(), [200i64, 300, 307]);
    let yes = row(&[1.0, -1.0, 2.0]).gt_scalar(0.0);
    assert_eq!(yes.sum_all().item(), 2i64);
    // 4096 + 1 is not a bf16, but the sum is made and given in f32.
    let half = Tensor::<A>::ones(4097).to::<bf16>();
    let sum: Tensor<(), f32> = half.sum(A);
    assert_eq!(sum.item(), 4097.0);
    assert_eq!(half.mean_all().item(), 1.0f32);
    assert_eq!(half.max(A).item(), bf16::ONE);
    // Integers wrap.
    assert_eq!(Tensor::<A, i64>::from_vec(2, vec![i64::MAX, 1]).sum(A).item(), i64::MIN);
}

#[test]
fn erased_reductions_follow_the_same_types() {
    let x = DynTensor::from_vec(&["A", "B"], &[2, 2], vec![1i8, 2, 3, 4]).unwrap();
    assert_eq!(x.sum(["B", "A"]).unwrap().to_vec::<i64>().unwrap(), [10]);
    assert_eq!(x.max("A").unwrap().to_vec::<i8>().unwrap(), [3, 4]);
    assert_eq!(message(x.mean("A")), "mean: not defined for i8; it takes floats");
    assert_eq!(message(x.sum(["A", "A"])), "sum: axis `A` appears twice in `(A, A)`");
    assert_eq!(message(x.sum("Z")), "sum: no axis `Z` in `(A, B)`");
    assert_eq!(message(x.gt_scalar(1.0).unwrap().max("A")), "max: not defined for bool; it takes a number type");
}

#[test]
fn nan_wins_and_its_first_place_is_found() {
    let x = row(&[1.0, NAN, 3.0, NAN]);
    assert!(x.max(A).item().is_nan() && x.min(A).item().is_nan() && x.max_all().item().is_nan());
    assert_eq!((x.argmax(A).item(), x.argmin(A).item()), (1, 1));
    assert!(x.logsumexp(A).item().is_nan() && x.norm(A, Norm::Inf).item().is_nan());
    // A masked reduction does not see what it does not take.
    assert_eq!(x.max_masked(A, &x.isfinite()).item(), 3.0);
}

#[test]
fn nothing_reduces_to_what_changes_nothing() {
    let none = Tensor::<(A, B)>::zeros((0, 2));
    assert_eq!(none.sum(A).to_vec(), [0.0, 0.0]);
    assert_eq!(none.prod(A).to_vec(), [1.0, 1.0]);
    assert!(none.mean(A).to_vec().iter().all(|v| v.is_nan()));
    assert_eq!(none.max(A).to_vec(), [f32::NEG_INFINITY; 2]);
    assert_eq!(none.min(A).to_vec(), [f32::INFINITY; 2]);
    assert_eq!(none.logsumexp(A).to_vec(), [f32::NEG_INFINITY; 2]);
    assert_eq!(none.norm(A, Norm::Inf).to_vec(), [0.0; 2]);
    assert_eq!(none.any(A).to_vec(), [false; 2]);
    assert_eq!(none.all(A).to_vec(), [true; 2]);
    assert!(none.variance(A, 0).to_vec().iter().all(|v| v.is_nan()));
    assert_eq!(none.sum(B).shape(), [0]);
    assert_eq!(none.argmax(B).shape(), [0]);
    assert_eq!(message(none.try_argmax(A)), "argmax: axis `A` is empty: there is no element to take");
    let ints = Tensor::<(A, B), i32>::zeros((0, 2));
    assert_eq!(message(ints.try_max(A)), "max: axis `A` is empty: there is no element to take");
    // Gradients of reductions over nothing exist and are empty.
    let x = none.requires_grad();
    for y in [x.max(A), x.sum(A), x.prod(A), x.norm(A, Norm::Inf), x.cumsum(A).sum(A), x.cumprod(A).sum(A)] {
        assert_eq!(y.sum_all().backward().unwrap().get(&x).unwrap().shape(), [0, 2]);
    }
}

#[test]
fn the_gradient_of_an_extremum_goes_to_the_first_one() {
    // torch.amax gives [0, 0.5, 0.5, 0].
    assert_eq!(slope(&[1.0, 3.0, 3.0, 2.0], |x| x.max(A)), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(slope(&[1.0, 3.0, 1.0, 2.0], |x| x.min(A)), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(slope(&[1.0, NAN, 3.0], |x| x.max(A)), [0.0, 1.0, 0.0]);
    // Over two axes the first is the first in row-major order of the axes, whatever the order in memory.
    let x = Tensor::<(A, B)>::from_vec((2, 2), vec![0.0, 5.0, 5.0, 0.0]);
    let turned: Tensor<(B, A)> = x.permute();
    let (x, turned) = (x.requires_grad(), turned.requires_grad());
    let g = x.max((A, B)).backward().unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), [0.0, 1.0, 0.0, 0.0]);
    let g = turned.max((A, B)).backward().unwrap();
    assert_eq!(g.get(&turned).unwrap().to_vec(), [0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn products_have_exact_gradients_around_zeros() {
    assert_eq!(slope(&[2.0, 3.0, 4.0], |x| x.prod(A)), [12.0, 8.0, 6.0]);
    assert_eq!(slope(&[2.0, 0.0, 4.0], |x| x.prod(A)), [0.0, 8.0, 0.0]);
    assert_eq!(slope(&[0.0, 0.0, 4.0], |x| x.prod(A)), [0.0, 0.0, 0.0]);
    // y = (2, 0, 0, 0): dy0/dx0 = 1, dy1/dx1 = 2, dy2/dx1 = 2 * 4, dy3/dx1 = 2 * 4 * 5.
    assert_eq!(slope(&[2.0, 0.0, 4.0, 5.0], |x| x.cumprod(A).sum(A)), [1.0, 50.0, 0.0, 0.0]);
    // d/dx0 of dy1/dx1 = 1: the gradient's own gradient is exact too.
    let x = row(&[0.0, 0.0]).requires_grad();
    let g = x.prod(A).backward_with(Backward::create_graph()).unwrap().get(&x).unwrap();
    assert_eq!(g.sum(A).backward().unwrap().get(&x).unwrap().to_vec(), [1.0, 1.0]);
}

#[test]
fn the_norm_of_zero_has_slope_zero() {
    assert_eq!(slope(&[0.0, 0.0], |x| x.norm(A, Norm::L2)), [0.0, 0.0]);
    assert_eq!(slope(&[3.0, -4.0], |x| x.norm(A, Norm::L2)), [0.6, -0.8]);
    assert_eq!(slope(&[3.0, -4.0, 4.0], |x| x.norm(A, Norm::Inf)), [0.0, -1.0, 0.0]);
    assert_eq!(slope(&[3.0, -4.0, 0.0], |x| x.norm_all(Norm::L1)), [1.0, -1.0, 0.0]);
}

#[test]
fn logsumexp_at_infinity() {
    let inf = f32::INFINITY;
    assert_eq!(row(&[-inf, -inf]).logsumexp(A).item(), -inf);
    assert_eq!(row(&[1000.0, 1000.0]).logsumexp(A).item(), 1000.0 + 2f32.ln());
    assert_eq!(slope(&[-inf, -inf], |x| x.logsumexp(A)), [0.0, 0.0]);
    assert_eq!(slope(&[-inf, 0.0], |x| x.logsumexp(A)), [0.0, 1.0]);
}

#[test]
fn variance_keeps_its_digits_under_an_offset() {
    let x = row(&[1e4, 1e4 + 1.0, 1e4 + 2.0, 1e4 + 3.0]);
    assert_eq!(x.variance(A, 0).item(), 1.25);
    assert_eq!(x.variance(A, 1).item(), 5.0 / 3.0);
    assert!(row(&[1.0]).variance(A, 1).item().is_nan());
}

#[test]
fn masks_broadcast_by_name_and_give_what_filling_gives() {
    let x = Tensor::<(A, B)>::from_fn((3, 40), |i| ((i * 37) % 101) as f32 * 0.1 - 5.0);
    let columns = Tensor::<B, bool>::from_vec(40, (0..40).map(|i| i % 3 != 0).collect());
    let hidden = columns.logical_not();
    let bits = |t: Tensor<A>| t.to_vec().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(x.sum_masked(B, &columns)), bits(x.masked_fill(&hidden, 0.0).sum(B)));
    assert_eq!(bits(x.prod_masked(B, &columns)), bits(x.masked_fill(&hidden, 1.0).prod(B)));
    assert_eq!(bits(x.max_masked(B, &columns)), bits(x.masked_fill(&hidden, f64::NEG_INFINITY).max(B)));
    let n = 40 - 14;
    assert_eq!(bits(x.mean_masked(B, &columns)), bits(x.masked_fill(&hidden, 0.0).sum(B).div_scalar(f64::from(n))));
    // Where a mask takes nothing.
    let none = Tensor::<B, bool>::full(40, false);
    assert_eq!(x.sum_masked(B, &none).to_vec(), [0.0; 3]);
    assert!(x.mean_masked(B, &none).to_vec().iter().all(|v| v.is_nan()));
    assert_eq!(x.min_masked(B, &none).to_vec(), [f32::INFINITY; 3]);
    assert_eq!(x.mean_masked(B, Masked::new(&none).empty(-1.0)).to_vec(), [-1.0; 3]);
    let ints = Tensor::<B, i32>::full(40, 5);
    assert_eq!(ints.max_masked(B, &columns).item(), 5);
    assert_eq!(ints.max_masked(B, Masked::new(&none).empty(9.0)).item(), 9);
    assert!(message(ints.try_max_masked(B, &none)).contains("integers have no infinity"));
    // What is hidden gets no gradient, and a NaN there does no harm.
    let g = slope(&[NAN, 2.0, 4.0], |x| x.mean_masked(A, &x.isfinite()));
    assert_eq!(g, [0.0, 0.5, 0.5]);
    let g = slope(&[1.0, 2.0], |x| x.mean_masked(A, Masked::new(&x.isnan()).empty(7.0)));
    assert_eq!(g, [0.0, 0.0]);
    let short = Tensor::<B, bool>::full(3, true);
    assert_eq!(message(x.try_sum_masked(B, &short)), "sum_masked: axis `B` has size 40 in (A 3, B 40) but 3 in (B 3)");
}

#[test]
fn standardize_with_its_options() {
    let x = row(&[1.0, 3.0, 100.0]);
    let y = x.standardize(A, &Standardize::new().eps(0.0).valid(2));
    assert_eq!(y.to_vec(), [-1.0, 1.0, 0.0]);
    assert_eq!(x.standardize(A, &Standardize::new().eps_outside(1.0).valid(2)).to_vec(), [-0.5, 0.5, 0.0]);
    let sample = x.standardize(A, &Standardize::new().ddof(1).eps(0.0).valid(2)).to_vec();
    assert!((sample[1] - std::f32::consts::FRAC_1_SQRT_2).abs() < 1e-6);
    assert_eq!(
        message(x.try_standardize(A, &Standardize::new().valid(4))),
        "standardize: 4 valid positions on axis `A` of size 3"
    );
    // A constant lane has no deviation: finite value, finite slope.
    assert_eq!(row(&[2.0, 2.0]).standardize(A, &Standardize::new().eps_outside(0.1)).to_vec(), [0.0, 0.0]);
    let g = slope(&[2.0, 2.0], |x| x.standardize(A, &Standardize::new().eps_outside(0.1)).select(A, 0));
    assert!(g.iter().all(|v| v.is_finite()), "{g:?}");
}

#[test]
fn a_recurrence_is_a_running_sum_at_decay_one_and_streams() {
    let x = Tensor::<(A, B)>::from_fn((50, 7), |i| ((i * 7919) % 1000) as f32 * 1e-3 - 0.4);
    let bits = |t: &Tensor<(A, B)>| t.to_vec().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let one = Tensor::<()>::scalar(1.0);
    assert_eq!(bits(&x.linear_recurrence(A, &one, None)), bits(&x.cumsum(A)));
    let decay = Tensor::<B>::from_fn(7, |i| 0.9 - 0.1 * i as f32);
    let whole = x.linear_recurrence(A, &decay, None);
    let first = x.narrow(A, 0..20).linear_recurrence(A, &decay, None);
    let second = x.narrow(A, 20..50).linear_recurrence(A, &decay, Some(&first.select(A, -1)));
    assert_eq!(bits(&whole)[..140], bits(&first)[..]);
    assert_eq!(bits(&whole)[140..], bits(&second)[..]);
    let state = Tensor::<B>::zeros(3);
    assert_eq!(
        message(x.try_linear_recurrence(A, &decay, Some(&state))),
        "linear_recurrence: axis `B` has size 7 in (A 50, B 7) but 3 in (B 3)"
    );
}

#[test]
fn segments_must_cover_their_axis() {
    let x = row(&[1.0, 2.0, 3.0]);
    assert_eq!(x.segment_sum(A, &[0, 2, 2, 3], Seg).to_vec(), [3.0, 0.0, 3.0]);
    for bad in [&[][..], &[0], &[0, 2], &[1, 3], &[0, 2, 1, 3]] {
        assert!(
            message(x.try_segment_sum(A, bad, Seg)).contains("must rise from 0 to the size of axis `A`, which is 3")
        );
    }
    assert_eq!(slope(&[1.0, 2.0, 3.0], |x| x.segment_sum(A, &[0, 1, 3], Seg).select(Seg, 1)), [0.0, 1.0, 1.0]);
}

#[test]
fn the_erased_recurrence_checks_its_axes() {
    let x = DynTensor::from_vec(&["A", "B"], &[2, 2], vec![1.0f32; 4]).unwrap();
    let b = DynTensor::from_vec(&["B"], &[2], vec![0.5f32; 2]).unwrap();
    let z = DynTensor::from_vec(&["Z"], &[2], vec![0.5f32; 2]).unwrap();
    assert_eq!(x.linear_recurrence("A", &b, Some(&b)).unwrap().to_vec::<f32>().unwrap(), [1.25, 1.25, 1.625, 1.625]);
    assert_eq!(message(x.linear_recurrence("A", &z, None)), "linear_recurrence: axis `Z` is not in `(A, B)`");
    assert_eq!(
        message(x.linear_recurrence("A", &b, Some(&x))),
        "linear_recurrence: the initial state has the axes `(A, B)`, not `B`"
    );
}

#[test]
fn reductions_over_three_axes_name_what_is_left() {
    let x = Tensor::<(A, B, C)>::from_fn((2, 3, 4), |i| i as f32);
    let b: Tensor<B> = x.sum((C, A));
    assert_eq!(b.to_vec(), [60.0, 92.0, 124.0]);
    let ac: Tensor<(A, C)> = x.max(B);
    assert_eq!(ac.to_vec(), [8., 9., 10., 11., 20., 21., 22., 23.]);
}
