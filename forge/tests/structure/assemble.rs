//! Joining, repeating, padding, replacing.

use forge::prelude::*;

axes! { Batch, Seq, Col, New, Two = 2, Three = 3, Five = 5 }

fn iota(a: usize, b: usize) -> Tensor<(Batch, Seq)> {
    Tensor::from_fn((a, b), |i| i as f32)
}

#[test]
fn concat_takes_views_of_any_layout() {
    let x = iota(2, 3);
    let turned: Tensor<(Batch, Seq)> = iota(3, 2).rename(Batch, New).rename(Seq, Batch).rename(New, Seq).permute();
    let y = x.concat(Seq, &[&x.flip(Seq), &turned, &x.narrow(Seq, 1..2)]);
    assert_eq!(y.shape(), [2, 10]);
    assert_eq!(y.to_vec()[..10], [0., 1., 2., 2., 1., 0., 0., 2., 4., 1.]);
    // One tensor is itself, and an empty one adds nothing.
    assert_eq!(x.concat(Seq, &[]).as_slice().unwrap().as_ptr(), x.as_slice().unwrap().as_ptr());
    assert_eq!(x.concat(Batch, &[&iota(0, 3)]).to_vec(), x.to_vec());
    assert_eq!(iota(0, 3).concat(Batch, &[&iota(0, 3)]).shape(), [0, 3]);
}

#[test]
fn concat_names_the_size_that_differs() {
    let e = iota(2, 3).try_concat(Seq, &[&iota(2, 1), &iota(4, 3)]).unwrap_err().to_string();
    assert_eq!(e, "concat: axis `Batch` has size 2 in (Batch 2, Seq 3) but 4 in (Batch 4, Seq 3)");
    let e = iota(2, 3).erase().concat("Seq", &[&iota(2, 3).to::<f64>().erase()]).unwrap_err().to_string();
    assert_eq!(e, "concat: not defined for f64; it takes operands of one dtype");
}

#[test]
#[should_panic(expected = "stack: axis `Two` has the fixed size 2, but this one has 3")]
fn stack_counts_a_fixed_axis() {
    let x = iota(1, 1);
    let _ = x.stack(Two, &[&x, &x]);
}

#[test]
fn fixed_axes_join_into_their_sum() {
    let (a, b) = (Tensor::<(Batch, Two)>::zeros((3, Two)), Tensor::<(Three, Batch)>::ones((Three, 3)));
    let y: Tensor<(Batch, Five)> = a.concat_into(Two, &b, Three, Five);
    assert_eq!(y.to_vec()[..5], [0., 0., 1., 1., 1.]);
    let back = [y.rename(Five, New).narrow(New, 0..2), y.rename(Five, New).narrow(New, 2..5)];
    assert_eq!(back[1].sum_all().item(), 9.0);
}

#[test]
fn unbind_undoes_stack() {
    let x = iota(3, 2);
    let rows: Vec<Tensor<Seq>> = x.unbind(Batch);
    assert_eq!(rows[2].to_vec(), [4., 5.]);
    assert_eq!(rows[0].stack(Batch, &[&rows[1], &rows[2]]).to_vec(), x.to_vec());
    assert!(iota(0, 2).unbind(Batch).is_empty());
}

#[test]
fn repeats_and_rolls() {
    let x = Tensor::<Seq>::from([1., 2., 3.]);
    assert_eq!(x.repeat(Seq, 2).to_vec(), [1., 2., 3., 1., 2., 3.]);
    assert_eq!(x.repeat_interleave(Seq, 2).to_vec(), [1., 1., 2., 2., 3., 3.]);
    assert_eq!(x.repeat(Seq, 0).shape(), [0]);
    let e = x.try_repeat(Seq, usize::MAX).unwrap_err().to_string();
    assert!(e.contains("exceeds the address space"), "{e}");
    assert_eq!(x.roll(Seq, 1).to_vec(), [3., 1., 2.]);
    assert_eq!(x.roll(Seq, -1).to_vec(), [2., 3., 1.]);
    assert_eq!(x.roll(Seq, 301).to_vec(), [3., 1., 2.]);
    assert_eq!(x.roll(Seq, isize::MIN).len(), 3);
    assert_eq!(iota(2, 0).roll(Seq, 5).shape(), [2, 0]);
}

#[test]
fn pads_grow_and_crop() {
    let x = Tensor::<Seq>::from([1., 2., 3.]);
    assert_eq!(x.pad(Seq, 1, 2, 9.0).to_vec(), [9., 1., 2., 3., 9., 9.]);
    assert_eq!(x.pad(Seq, -1, -1, 9.0).to_vec(), [2.]);
    assert_eq!(x.pad(Seq, -1, 0, 9.0).as_slice().unwrap().as_ptr(), x.as_slice().unwrap()[1..].as_ptr());
    // Moved out of sight altogether: only padding is left.
    assert_eq!(x.pad(Seq, -4, 3, 9.0).to_vec(), [9., 9.]);
    assert_eq!(x.pad(Seq, 3, -4, 9.0).to_vec(), [9., 9.]);
    assert_eq!(x.pad(Seq, -3, 0, 9.0).shape(), [0]);
    let e = x.try_pad(Seq, -2, -2, 0.0).unwrap_err().to_string();
    assert_eq!(e, "pad: axis `Seq` of size 3 cannot be padded by -2 and -2");
    assert!(x.try_pad(Seq, isize::MAX, isize::MAX, 0.0).is_err());
    assert!(x.try_pad(Seq, isize::MAX / 2, 0, 0.0).is_err());
    assert!(x.try_pad(Seq, isize::MIN, isize::MAX, 0.0).is_err());
    // Counts that cancel, forwards and backwards.
    let t = x.requires_grad();
    let far = t.pad(Seq, -isize::MAX, isize::MAX - 1, 9.0);
    assert_eq!(far.to_vec(), [9., 9.]);
    assert_eq!(far.sum_all().backward().unwrap().get(&t).unwrap().to_vec(), [0.; 3]);
    // The value is exact in the tensor's own type.
    let i = Tensor::<Seq, i64>::from([1]).pad(Seq, 1, 0, i64::MAX);
    assert_eq!(i.to_vec(), [i64::MAX, 1]);
    let y = iota(2, 2).zero_pad2d(Batch, Seq, [(1, 0), (-1, 1)]);
    assert_eq!(y.to_vec(), [0., 0., 1., 0., 3., 0.]);
}

#[test]
fn slices_are_set_and_cleared() {
    let x = iota(2, 4);
    let src = Tensor::<(Seq, Batch)>::from([[-1., -2.], [-3., -4.]]);
    assert_eq!(x.set_slice(Seq, 2, &src).to_vec(), [0., 1., -1., -3., 4., 5., -2., -4.]);
    assert_eq!(x.zero_slice(Batch, 0..1).to_vec(), [0., 0., 0., 0., 4., 5., 6., 7.]);
    let e = x.try_set_slice(Seq, 3, &src).unwrap_err().to_string();
    assert_eq!(e, "set_slice: 3..5 is not inside axis `Seq` of size 4");
    let e = x.try_set_slice(Seq, usize::MAX, &src).unwrap_err().to_string();
    assert!(e.contains("is not inside axis `Seq` of size 4"), "{e}");
    let e = x.try_set_slice(Seq, 0, &iota(1, 2)).unwrap_err().to_string();
    assert_eq!(e, "set_slice: axis `Batch` has size 2 in (Batch 2, Seq 4) but 1 in (Batch 1, Seq 2)");
    let nan = Tensor::<Seq>::full(3, f32::NAN);
    assert_eq!(nan.zero_slice(Seq, 0..3).to_vec(), [0.; 3]);
}

#[test]
fn a_square_and_its_trace() {
    let d: Tensor<(Batch, New)> = Tensor::<Seq>::from([1., 2.]).diag_embed(Seq, Batch, New);
    assert_eq!(d.trace(Batch, New).item(), 3.0);
    let d: Tensor<(Seq, Col)> = Tensor::<Seq>::from([1., 2.]).diag_embed(Seq, Seq, Col);
    assert_eq!(d.to_vec(), [1., 0., 0., 2.]);
    assert_eq!(Tensor::<(Batch, Seq), i32>::from([[5, 1], [1, 6]]).trace(Batch, Seq).item(), 11);
}

#[test]
fn broadcasting_is_asked_for() {
    let x = Tensor::<Seq>::from([1., 2.]);
    let y: Tensor<(Batch, Seq)> = x.broadcast_to((3, 2));
    assert_eq!((y.to_vec().len(), y.get((2, 1))), (6, 2.0));
    let e = x.try_broadcast_to::<(Batch, Seq)>((3, 4)).unwrap_err().to_string();
    assert_eq!(e, "broadcast_to: axis `Seq` has size 2, not 4, and size 1 does not stretch");
    let e = x.try_align_to::<(Two, Seq)>().unwrap_err().to_string();
    assert_eq!(e, "align_to: axis `Two` has the fixed size 2, but this one has 1");
    let like: Tensor<(Batch, Seq), bool> = Tensor::<Batch, bool>::from([true, false]).broadcast_like(&iota(2, 3));
    assert_eq!(like.to_vec(), [true, true, true, false, false, false]);
}
