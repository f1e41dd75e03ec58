//! Blocks written for some axes, run over the others.

use forge::Over;
use forge::axes::{Batch, Class, Head, HeadDim, Key, Rest, Seq};
use forge::prelude::*;
use forge::rng;

/// Attention over any other axes, with a mask that lacks some of them.
fn attend<X: Axes, M: Axes>(x: &Tensor<X>, mask: &Tensor<M, bool>) -> Tensor<X>
where
    (Seq, HeadDim): SubsetOf<X>,
    Seq: SubsetOf<M>,
    forge::Minus<M, Seq>: SubsetOf<forge::Minus<X, (Seq, HeadDim)>>,
{
    (x, mask).over::<((Seq, HeadDim), Seq)>(|(x, mask)| {
        let keys = x.rename(Seq, Key);
        let scores = x.dot(&keys, HeadDim).exp();
        let open: Tensor<(Rest, Key)> = mask.rename(Seq, Key).to();
        let weights = &scores * &open;
        let weights = &weights / &weights.sum(Key);
        weights.dot(&keys, Key)
    })
}

#[test]
fn a_mask_travels_with_its_activations() {
    let x = Tensor::<(Batch, Head, Seq, HeadDim)>::randn((2, 3, 4, 5), rng::Key::new(1));
    let mask = Tensor::<(Seq, Batch), bool>::from([[true, true], [true, false], [false, true], [true, true]]);
    let y = attend(&x, &mask);
    // The same for one example and head at a time.
    for b in 0..2 {
        for h in 0..3 {
            let one = x.select(Batch, b).select(Head, h);
            let m = mask.select(Batch, b);
            let want = attend(&one, &m);
            forge::assert_close!(y.select(Batch, b).select(Head, h), want, 1e-6);
        }
    }
    // Other orders of the axes give the same values in that order.
    let turned: Tensor<(HeadDim, Seq, Head, Batch)> = x.permute();
    let back: Tensor<(Batch, Head, Seq, HeadDim)> = attend(&turned, &mask).permute();
    forge::assert_close!(back, y, 1e-6);
}

#[test]
fn gradients_reach_every_tensor() {
    let x = Tensor::<(Batch, Head, Seq)>::randn((2, 3, 4), rng::Key::new(1)).requires_grad();
    let w = Tensor::<(Seq, Batch)>::randn((4, 2), rng::Key::new(2)).requires_grad();
    let y = (&x, &w).over::<(Seq, Seq)>(|(x, w)| &x * &w);
    let g = y.sum_all().backward().unwrap();
    let direct = (&x * &w).sum_all().backward().unwrap();
    forge::assert_close!(g.get(&x).unwrap(), direct.get(&x).unwrap(), 1e-6);
    forge::assert_close!(g.get(&w).unwrap(), direct.get(&w).unwrap(), 1e-6);
}

#[test]
fn blocks_that_change_axes() {
    let x = Tensor::<(Batch, Seq, Head)>::from_fn((2, 3, 4), |i| i as f32);
    let w = Tensor::<(Head, Seq, Class)>::from_fn((4, 3, 5), |i| i as f32);
    let y: Tensor<(Batch, Head, Class)> = (&x, &w).over_to::<(Seq, (Seq, Class)), Class>(|(x, w)| x.dot(&w, Seq));
    let want: Tensor<(Batch, Head, Class)> = x.dot(&w, Seq);
    assert_eq!(y.to_vec(), want.to_vec());
    // To no axes at all, and nothing left over.
    let s: Tensor<(Batch, Head)> = x.over_to::<Seq, ()>(|x: &Tensor<(Rest, Seq)>| x.sum(Seq));
    assert_eq!(s.shape(), [2, 4]);
    let all: Tensor<()> = x.over_to::<(Batch, Seq, Head), ()>(|x| x.sum((Batch, Seq, Head)));
    assert_eq!(all.item(), 276.0);
    // A block may change the size of its own axis.
    let half = x.over::<Seq>(|x: &Tensor<(Rest, Seq)>| x.narrow(Seq, 0..1));
    assert_eq!(half.shape(), [2, 1, 4]);
}

#[test]
fn four_tensors_and_empty_rests() {
    let x = Tensor::<(Batch, Seq)>::ones((0, 3));
    let v = Tensor::<Seq>::ones(3);
    let y = (&x, &v, &v, &x).over::<(Seq, Seq, Seq, Seq)>(|(x, a, b, c)| &(&(&x + &a) + &b) + &c);
    assert_eq!(y.shape(), [0, 3]);
    let y = (&v, &v, &v, &v).over::<(Seq, Seq, Seq, Seq)>(|(x, a, b, c)| &(&(&x + &a) + &b) + &c);
    assert_eq!(y.to_vec(), [4.; 3]);
}

#[test]
fn sizes_must_agree() {
    let x = Tensor::<(Batch, Seq)>::ones((2, 3));
    let m = Tensor::<(Batch, Seq)>::ones((5, 3));
    let e = (&x, &m).try_over::<(Seq, Seq)>(|(x, _)| x).unwrap_err().to_string();
    assert_eq!(e, "over: axis `Batch` has size 2 in (Batch 2) but 5 in (Batch 5, Seq 3)");
    let e = x.try_over::<Seq>(|x: &Tensor<(Rest, Seq)>| x.narrow(Rest, 0..1)).unwrap_err().to_string();
    assert_eq!(e, "over: the block got axis `Rest` of size 2 and gave it back with size 1");
}

#[test]
fn the_erased_form() -> Result<(), Error> {
    let x = DynTensor::arange("n", 0.0f64, 24.0, 1.0)?.split("n", &["a", "b", "c"], &[2, 3, 4])?;
    let w = DynTensor::from_vec(&["c", "b"], &[4, 3], (0..12).map(f64::from).collect())?;
    let y = DynTensor::over_all(&[(&x, &["b"]), (&w, &["b"])], &[], |t| t[0].mul(&t[1])?.sum("b"))?;
    forge::assert_close!(y, x.mul(&w)?.sum("b")?);
    let e = x.over(&["b"], |x| x.sum("b")).unwrap_err().to_string();
    assert_eq!(e, "permute: axis `b` is not in `Rest`");
    assert!(x.over(&["z"], |x| Ok(x.clone())).is_err());
    assert!(x.over(&["b", "b"], |x| Ok(x.clone())).is_err());
    assert!(x.over_to(&["b"], &["a"], |x| x.rename("b", "a")).is_err());
    let e = DynTensor::over_all(&[(&w, &["b"]), (&x, &["b"])], &["b"], |t| Ok(t[0].clone())).unwrap_err().to_string();
    assert_eq!(e, "over: axis `a` is in no block, and not in the rest `c`");
    Ok(())
}
