//! Comparison, logic, masks, sorting, the k best and weighted draws: edges and errors.

use forge::prelude::*;
use forge::rng::Key;

axes! { A, B, Best, Draw, Pair = 2 }

const NAN: f32 = f32::NAN;

fn row(v: &[f32]) -> Tensor<A> {
    Tensor::from_vec(v.len(), v.to_vec())
}

fn message<T: std::fmt::Debug>(r: Result<T, Error>) -> String {
    r.unwrap_err().to_string()
}

#[test]
fn nan_is_unlike_everything() {
    let (x, y) = (row(&[1.0, NAN, NAN]), row(&[1.0, 1.0, NAN]));
    assert_eq!(x.eq(&y).to_vec(), [true, false, false]);
    assert_eq!(x.ne(&y).to_vec(), [false, true, true]);
    for none in [x.lt(&y), x.gt(&y)] {
        assert_eq!(none.to_vec(), [false; 3]);
    }
    for equal in [x.le(&y), x.ge(&y)] {
        assert_eq!(equal.to_vec(), [true, false, false]);
    }
    // NaN is not 0, so it holds.
    assert!(x.any(A).item());
    assert_eq!(row(&[0.0, NAN]).logical_not().to_vec(), [true, false]);
}

#[test]
fn comparisons_broadcast_by_name() {
    let x = Tensor::<(A, B)>::from_vec((2, 2), vec![1., 2., 3., 4.]);
    let y = row(&[2.0, 3.0]);
    assert_eq!(x.lt(&y).to_vec(), [true, false, false, false]);
    let (p, q) = (x.gt_scalar(1.0), y.eq_scalar(3.0));
    assert_eq!((&p & &q).to_vec(), [false, false, true, true]);
    assert_eq!((&p | &q).to_vec(), [false, true, true, true]);
    assert_eq!((&p ^ &q).to_vec(), [false, true, false, false]);
    assert_eq!((!&q).to_vec(), [true, false]);
    assert_eq!(message(x.try_lt(&row(&[1.0]))), "lt: axis `A` has size 2 in (A 2, B 2) but 1 in (A 1)");
    let other = DynTensor::from_vec(&["Z"], &[1], vec![1.0f32]).unwrap();
    assert_eq!(message(x.erase().lt(&other)), "lt: axis `Z` is not in `(A, B)`");
    assert_eq!(
        message(x.erase().lt(&y.erase().to(DType::F64).unwrap())),
        "lt: not defined for f64; it takes two operands of one dtype"
    );
}

#[test]
fn integers_are_compared_with_fractions_exactly() {
    let x = Tensor::<A, i64>::from_vec(4, vec![i64::MIN, 2, 3, i64::MAX]);
    assert_eq!(x.eq_scalar(2.5).to_vec(), [false; 4]);
    assert_eq!(x.ne_scalar(2.5).to_vec(), [true; 4]);
    assert_eq!(x.lt_scalar(2.5).to_vec(), [true, true, false, false]);
    assert_eq!(x.le_scalar(2.5).to_vec(), [true, true, false, false]);
    assert_eq!(x.gt_scalar(2.5).to_vec(), [false, false, true, true]);
    assert_eq!(x.ge_scalar(2.5).to_vec(), [false, false, true, true]);
    assert_eq!(x.ge_scalar(3.0).to_vec(), [false, false, true, true]);
    // 2^63 is one more than the largest i64.
    assert_eq!(x.lt_scalar(9_223_372_036_854_775_808.0).to_vec(), [true; 4]);
    assert_eq!(x.eq_scalar(9_223_372_036_854_775_808.0).to_vec(), [false; 4]);
    assert_eq!(x.gt_scalar(f64::NEG_INFINITY).to_vec(), [true; 4]);
    assert_eq!(x.le_scalar(f64::NAN).to_vec(), [false; 4]);
    assert_eq!(x.ne_scalar(f64::NAN).to_vec(), [true; 4]);
    let bytes = Tensor::<A, u8>::from_vec(2, vec![0, 255]);
    assert_eq!(bytes.gt_scalar(-1.0).to_vec(), [true; 2]);
    assert_eq!(bytes.lt_scalar(256.0).to_vec(), [true; 2]);
    assert_eq!(bytes.ge_scalar(254.5).to_vec(), [false, true]);
    // A float tensor meets the number in its own precision.
    assert_eq!(row(&[0.1]).eq_scalar(0.1).to_vec(), [true]);
}

#[test]
fn what_is_not_selected_leaves_no_trace() {
    let x = row(&[1.0, NAN, 3.0]).requires_grad();
    let y = row(&[NAN, 20.0, NAN]).requires_grad();
    let mask = x.isfinite();
    let z = x.where_(&mask, &y);
    assert_eq!(z.to_vec(), [1.0, 20.0, 3.0]);
    let g = z.square().sum_all().backward().unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), [2.0, 0.0, 6.0]);
    assert_eq!(g.get(&y).unwrap().to_vec(), [0.0, 40.0, 0.0]);
    // A mask of numbers: 0 is no, the rest yes.
    assert_eq!(row(&[1.0, 2.0]).masked_fill(&row(&[0.0, -3.0]), 9.0).to_vec(), [1.0, 9.0]);
}

#[test]
fn triangles_drop_nan_outside() {
    // torch.tril keeps nothing of the NaN either; a product with a 0/1 plane would.
    let x = Tensor::<(A, B)>::from_vec((2, 3), vec![1., NAN, NAN, 4., 5., NAN]);
    assert_eq!(x.tril(A, B, 0).to_vec(), [1., 0., 0., 4., 5., 0.]);
    let x = Tensor::<(A, B)>::from_vec((2, 3), vec![1., 2., 3., 4., 5., 6.]);
    assert_eq!(x.tril(A, B, 1).to_vec(), [1., 2., 0., 4., 5., 6.]);
    assert_eq!(x.tril(A, B, -1).to_vec(), [0., 0., 0., 4., 0., 0.]);
    assert_eq!(x.triu(A, B, 0).to_vec(), [1., 2., 3., 0., 5., 6.]);
    assert_eq!(x.triu(A, B, 1).to_vec(), [0., 2., 3., 0., 0., 6.]);
    assert_eq!(x.triu(B, A, 0).to_vec(), [1., 0., 0., 4., 5., 0.]);
    assert_eq!(x.band_part(A, B, 0, 0).to_vec(), [1., 0., 0., 0., 5., 0.]);
    assert_eq!(x.band_part(A, B, None, None).to_vec(), x.to_vec());
    assert_eq!(x.band_part(A, B, i64::MIN, None).to_vec(), [0.0; 6]);
    assert_eq!(message(x.erase().tril("A", "A", 0)), "band_part: axis `A` stands for rows and columns");
}

#[test]
fn sorting_is_stable_and_puts_nan_last() {
    let x = row(&[2.0, NAN, -0.0, 2.0, 0.0, f32::INFINITY]);
    let (up, from) = x.sort(A, false);
    assert_eq!(up.to_vec()[..5], [0.0, 0.0, 2.0, 2.0, f32::INFINITY]);
    assert!(up.to_vec()[5].is_nan());
    assert_eq!(from.to_vec(), [2, 4, 0, 3, 5, 1]);
    assert_eq!(x.argsort(A, true).to_vec(), [5, 0, 3, 2, 4, 1]);
    // Along the first axis.
    let m = Tensor::<(A, B), i32>::from_vec((3, 2), vec![3, 1, 1, 2, 2, 3]);
    let (s, at) = m.sort(A, true);
    assert_eq!(s.to_vec(), [3, 3, 2, 2, 1, 1]);
    assert_eq!(at.to_vec(), [0, 2, 2, 1, 1, 0]);
    let flags = Tensor::<A, bool>::from_vec(3, vec![true, false, true]);
    assert_eq!(flags.argsort(A, false).to_vec(), [1, 0, 2]);
    assert_eq!(Tensor::<A>::zeros(0).argsort(A, false).shape(), [0]);
}

#[test]
fn the_k_best_are_the_head_of_the_order() {
    let x = row(&[1.0, NAN, 5.0, 5.0, 2.0]);
    let (v, at) = x.top_k(A, 3, Best);
    assert_eq!((v.to_vec(), at.to_vec()), (vec![5.0, 5.0, 2.0], vec![2, 3, 4]));
    // NaN is taken only when nothing else is left; torch.topk takes it first.
    let (v, at) = x.top_k(A, 5, Best);
    assert!(v.to_vec()[4].is_nan() && at.to_vec()[4] == 1);
    assert_eq!(x.bottom_k(A, 2, Best).1.to_vec(), [0, 4]);
    assert_eq!(message(x.try_top_k(A, 6, Best)), "top_k: 6 elements of axis `A`, which has 5");
    assert!(message(x.try_top_k(A, 3, Pair)).contains("Pair"));
    let x = x.requires_grad();
    let g = x.top_k(A, 2, Best).0.sum_all().backward().unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), [0., 0., 1., 1., 0.]);
}

#[test]
fn routers_weigh_by_the_softmax() {
    let x = Tensor::<(B, A)>::from_vec((1, 4), vec![0.0, 2f32.ln(), 3f32.ln(), f32::NEG_INFINITY]);
    let close = |a: Vec<f32>, b: &[f32]| a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-6);
    let (p, at) = x.router_top_k(A, 2, false, Best);
    assert!(close(p.to_vec(), &[0.5, 1.0 / 3.0]));
    assert_eq!(at.to_vec(), [2, 1]);
    assert!(close(x.router_top_k(A, 2, true, Best).0.to_vec(), &[0.6, 0.4]));
}

#[test]
fn draws() {
    let w = Tensor::<(B, A)>::from_vec((2, 3), vec![0.0, 1.0, 1.0, 5.0, 0.0, 0.0]);
    let key = Key::new(7);
    let d = w.multinomial(A, 1000, true, key, Draw);
    assert_eq!(d.shape(), [2, 1000]);
    let v = d.to_vec();
    assert!(v[..1000].iter().all(|&i| i == 1 || i == 2) && v[1000..].iter().all(|&i| i == 0));
    // 1000 fair draws: the standard deviation is 16.
    let ones = v[..1000].iter().filter(|&&i| i == 1).count();
    assert!((420..580).contains(&ones), "{ones}");
    assert_eq!(d.to_vec(), w.multinomial(A, 1000, true, key, Draw).to_vec());
    // Draw `s` of row `r` takes number `r n + s`: the same numbers in another shape.
    let first = w.narrow(B, 0..1).multinomial(A, 1000, true, key, Draw);
    assert_eq!(first.to_vec(), v[..1000]);
    let both = w.narrow(B, 0..1).multinomial(A, 2, false, key, Draw).to_vec();
    assert!(both == [1, 2] || both == [2, 1]);
    let bad = |r: Result<Tensor<Draw, i64>, Error>| message(r);
    assert_eq!(
        message(w.try_multinomial(A, 2, false, key, Draw)),
        "multinomial: row 1 of axis `A` holds fewer than 2 positive weights, and none is drawn twice"
    );
    assert_eq!(
        bad(row(&[1.0, -1.0]).try_multinomial(A, 1, true, key, Draw)),
        "multinomial: row 0 of axis `A` holds a weight that is negative, infinite or NaN"
    );
    assert!(bad(row(&[0.0]).try_multinomial(A, 1, true, key, Draw)).contains("only weights of 0"));
    assert!(bad(Tensor::<A>::zeros(0).try_multinomial(A, 1, true, key, Draw)).contains("is empty"));
}

#[test]
fn nonzero_lists_positions_by_axis() {
    let x = Tensor::<(A, B)>::from_vec((2, 3), vec![0., 1., NAN, 0., 0., -2.]);
    assert_eq!(x.nonzero(), [vec![0, 0, 1], vec![1, 2, 2]]);
    assert_eq!(Tensor::<()>::scalar(3.0).nonzero(), Vec::<Vec<usize>>::new());
}
