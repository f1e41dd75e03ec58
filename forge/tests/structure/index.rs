//! Selecting and updating positions.

use forge::prelude::*;
use forge::rng::Key;

axes! { Batch, Row, Col, Pos, Picked, Three = 3 }

fn table() -> Tensor<(Row, Col)> {
    Tensor::from([[1., 2.], [3., 4.], [5., 6.]])
}

#[test]
fn the_index_axes_take_the_place_of_the_axis() {
    let x = Tensor::<(Batch, Row, Col)>::from_fn((2, 3, 2), |i| i as f32);
    let y: Tensor<(Batch, Pos, Col)> = x.gather(Row, &[2usize, 0], Pos);
    assert_eq!(y.to_vec(), [4., 5., 0., 1., 10., 11., 6., 7.]);
    // No axes: one position. The axis itself: its own name.
    let one: Tensor<(Batch, Col)> = x.gather(Row, &Tensor::<(), i64>::scalar(1), ());
    assert_eq!(one.to_vec(), [2., 3., 8., 9.]);
    let same: Tensor<(Batch, Row, Col)> = x.gather(Row, &vec![1i64], Row);
    assert_eq!(same.shape(), [2, 1, 2]);
    // Nothing asked for is an empty axis.
    assert_eq!(x.gather(Row, &[0usize; 0], Pos).shape(), [2, 0, 2]);
}

#[test]
fn positions_outside_the_axis_are_named() {
    let x = table();
    let e = x.try_gather(Row, &[0usize, 3], Pos).unwrap_err().to_string();
    assert_eq!(e, "gather: index 3 is outside axis `Row` of size 3");
    let minus = Tensor::<Pos, i64>::from([-1]);
    let e = x.try_index_select(Row, &minus).unwrap_err().to_string();
    assert_eq!(e, "index_select: index -1 is outside axis `Row` of size 3");
    let along = Tensor::<(Row, Col), i64>::from([[0, 7]]);
    let e = x.try_take_along_axis(Row, &along).unwrap_err().to_string();
    assert_eq!(e, "take_along_axis: index 7 is outside axis `Row` of size 3");
    let src = Tensor::<(Pos, Col)>::zeros((1, 2));
    let e = x.try_scatter_add(Row, &Tensor::<Pos, i64>::from([9]), &src).unwrap_err().to_string();
    assert_eq!(e, "scatter_add: index 9 is outside axis `Row` of size 3");
    let e = x.try_zero_rows(Row, &[usize::MAX]).unwrap_err().to_string();
    assert!(e.ends_with("is outside axis `Row` of size 3"), "{e}");
    // An empty axis has no positions, and none may be asked for.
    let empty = Tensor::<(Row, Col)>::zeros((0, 2));
    assert!(empty.try_gather(Row, &[0usize], Pos).is_err());
    assert_eq!(empty.gather(Row, &[0usize; 0], Pos).shape(), [0, 2]);
}

#[test]
fn a_dyn_index_must_be_i64() {
    let x = table().erase();
    let bad = DynTensor::from_vec(&["p"], &[1], vec![0i32]).unwrap();
    let e = x.gather("Row", &bad).unwrap_err().to_string();
    assert_eq!(e, "gather: not defined for i32; it takes an i64 index");
    let clash = DynTensor::from_vec(&["Col"], &[1], vec![0i64]).unwrap();
    assert_eq!(x.gather("Row", &clash).unwrap_err().to_string(), "gather: axis `Col` appears twice in `(Col, Col)`");
}

#[test]
fn shared_axes_run_together_and_agree_in_size() {
    let x = Tensor::<(Batch, Row)>::from([[1., 2., 3.], [4., 5., 6.]]);
    let two_each = Tensor::<(Pos, Batch), i64>::from([[0, 2], [1, 1]]);
    let y: Tensor<(Batch, Pos)> = x.index_select(Row, &two_each);
    assert_eq!(y.to_vec(), [1., 2., 6., 5.]);
    let wrong = Tensor::<Batch, i64>::from([0, 0, 0]);
    let e = x.try_index_select(Row, &wrong).unwrap_err().to_string();
    assert_eq!(e, "index_select: axis `Batch` has size 2 in (Batch 2, Row 3) but 3 in (Batch 3)");
}

#[test]
fn fixed_axes_keep_their_size() {
    let x = Tensor::<(Batch, Three)>::from_fn((2, Three), |i| i as f32);
    let back = Tensor::<(Batch, Three), i64>::from_vec((2, Three), vec![2, 1, 0, 2, 1, 0]);
    let y: Tensor<(Batch, Three)> = x.take_along_axis(Three, &back);
    assert_eq!(y.to_vec(), [2., 1., 0., 5., 4., 3.]);
    assert_eq!(x.zero_rows(Three, &[1usize]).to_vec(), [0., 0., 2., 3., 0., 5.]);
    let e = table().try_gather(Row, &[0usize, 1], Three).unwrap_err().to_string();
    assert_eq!(e, "gather: axis `Three` has the fixed size 3, but this one has 2");
}

#[test]
fn the_last_write_wins_and_gets_the_gradient() {
    let x = Tensor::<Row>::from([1., 2., 3.]).requires_grad();
    let src = Tensor::<Pos>::from([10., 20., 30.]).requires_grad();
    let y = x.scatter(Row, &Tensor::<Pos, i64>::from([1, 2, 1]), &src);
    assert_eq!(y.to_vec(), [1., 30., 20.]);
    let w = Tensor::<Row>::from([5., 6., 7.]);
    let g = (&y * &w).sum_all().backward().unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), [5., 0., 0.]);
    // torch (2.x) gives [6., 7., 6.] here: also to the write that was overwritten.
    assert_eq!(g.get(&src).unwrap().to_vec(), [0., 7., 6.]);
}

#[test]
fn repeated_positions_add_up_in_every_dtype() {
    let at = Tensor::<Pos, i64>::from([0, 0, 1]);
    let i = Tensor::<Row, i32>::zeros(2).scatter_add(Row, &at, &Tensor::<Pos, i32>::from([i32::MAX, 1, 5]));
    assert_eq!(i.to_vec(), [i32::MIN, 5]);
    let ones = Tensor::<Pos, bf16>::full(3, bf16::from_f32(1.0));
    let h = Tensor::<Row, bf16>::zeros(2).scatter_add(Row, &at, &ones);
    assert_eq!(h.to::<f32>().to_vec(), [2., 1.]);
    // 16-bit sums are rounded once: 2048 ones do not get stuck at 256, where bf16 would.
    let many = Tensor::<Pos, bf16>::full(2048, bf16::from_f32(1.0));
    let sum = Tensor::<Row, bf16>::zeros(1).index_add(Row, &[0usize; 2048], &many.rename(Pos, Row));
    assert_eq!(sum.to::<f32>().to_vec(), [2048.]);
}

#[test]
fn set_rows_refuses_to_choose() {
    let x = table();
    let src = Tensor::<(Row, Col)>::zeros((2, 2));
    let e = x.try_set_rows(Row, &[1usize, 1], &src).unwrap_err().to_string();
    assert!(e.starts_with("set_rows: position 1 of axis `Row` is named twice"), "{e}");
    let e = x.try_set_rows(Row, &[1usize], &src).unwrap_err().to_string();
    assert_eq!(e, "set_rows: axis `Row` has size 1 in (Row 1, Col 2) but 2 in (Row 2, Col 2)");
    assert_eq!(x.set_rows(Row, &[2usize, 0], &src).to_vec(), [0., 0., 3., 4., 0., 0.]);
}

#[test]
fn what_is_replaced_leaves_no_trace() {
    let x = Tensor::<Row>::from([f32::NAN, 1., f32::INFINITY]).requires_grad();
    let y = x.zero_rows(Row, &[0usize, 2]);
    assert_eq!(y.to_vec(), [0., 1., 0.]);
    let g = y.square().sum_all().backward().unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), [0., 2., 0.]);
}

#[test]
fn masks_select_and_put_back() {
    let x = table();
    let mask = Tensor::<(Row, Col), bool>::from([[true, false], [false, true], [true, true]]);
    let y: Tensor<Picked> = x.masked_select(&mask, Picked);
    assert_eq!(y.to_vec(), [1., 4., 5., 6.]);
    assert_eq!(x.masked_scatter(&mask, &y.scale(10.0), Picked).to_vec(), [10., 2., 3., 40., 50., 60.]);
    // The mask's own order counts: columns first here.
    let turned: Tensor<(Col, Row), bool> = mask.permute();
    let z: Tensor<Picked> = x.masked_select(&turned, Picked);
    assert_eq!(z.to_vec(), [1., 5., 4., 6.]);
    let none = Tensor::<(Row, Col), bool>::zeros((3, 2));
    assert_eq!(x.masked_select(&none, Picked).shape(), [0]);
    let e = x.try_masked_scatter(&mask, &Tensor::from([1.; 3]), Picked).unwrap_err().to_string();
    assert_eq!(e, "masked_scatter: axis `Picked` has size 4 in (Picked 4) but 3 in (Picked 3)");
}

#[test]
fn a_gather_of_many_rows_differentiates() {
    // Large enough for several tasks, forwards and backwards.
    let table = Tensor::<(Row, Col)>::randn((500, 64), Key::new(1)).requires_grad();
    let at = Tensor::<Pos, i64>::randint(3000, 0, 500, Key::new(2));
    let y: Tensor<(Pos, Col)> = table.gather(Row, &at, Pos);
    let g = y.sum_all().backward().unwrap();
    let counts = Tensor::<Row>::zeros(500).scatter_add(Row, &at, &Tensor::<Pos>::ones(3000));
    let got = g.get(&table).unwrap();
    for r in 0..500 {
        assert_eq!(got.get((r, 7)), counts.get(r));
    }
}

#[test]
fn dropout_drops_the_same_again() {
    let key = Key::new(5).derive("drop");
    let x = Tensor::<(Row, Col)>::ones((40, 50)).requires_grad();
    let y = x.dropout(0.3, key);
    let g = y.sum_all().backward().unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), y.to_vec());
    assert_eq!(y.to_vec(), x.dropout(0.3, key).to_vec());
    assert_ne!(y.to_vec(), x.dropout(0.3, key.derive(1)).to_vec());
    // A view of other strides drops the same places.
    let turned: Tensor<(Col, Row)> = x.permute();
    let again: Tensor<(Row, Col)> = turned.contiguous().permute();
    assert_eq!(again.dropout(0.3, key).to_vec(), y.to_vec());
    // Nothing, everything, and nonsense.
    assert_eq!(x.dropout(0.0, key).as_slice().unwrap().as_ptr(), x.as_slice().unwrap().as_ptr());
    let nan = Tensor::<Row>::full(10, f32::NAN);
    assert_eq!(nan.dropout(1.0, key).to_vec(), [0.; 10]);
    assert!(x.try_dropout(1.5, key).is_err() && x.try_dropout(f64::NAN, key).is_err());
    // The frozen map: element i stays where number i of the key is below 1 - p.
    let kept: Vec<bool> = y.to_vec().iter().map(|v| *v != 0.0).collect();
    assert!((0..2000).all(|i| kept[i] == (key.unit_at(i as u64) < 0.7)));
}

#[test]
fn clamp_has_its_corners_inside() {
    let x = Tensor::<Row>::from([-2., -1., 0., 1., 2., f32::NAN]).requires_grad();
    let y = x.clamp(-1.0, 1.0);
    assert_eq!(y.to_vec()[..5], [-1., -1., 0., 1., 1.]);
    assert!(y.get(5).is_nan());
    let g = y.sum_all().backward().unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), [0., 1., 1., 1., 0., 0.]);
    assert!(x.try_clamp(1.0, -1.0).is_err() && x.try_clamp(f64::NAN, 1.0).is_err());
    // Integers: bounds between two integers move inwards.
    let i = Tensor::<Row, i8>::from([-5, 0, 5]);
    assert_eq!(i.clamp(-1.5, 2.5).to_vec(), [-1, 0, 2]);
    assert_eq!(i.clamp(f64::NEG_INFINITY, 1.0).to_vec(), [-5, 0, 1]);
}
