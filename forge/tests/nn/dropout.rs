//! Dropout.

use crate::{names, shared};
use forge::axes::{Batch, Model};
use forge::nn::{Cx, Dropout};
use forge::prelude::*;
use forge::rng::Key;

#[test]
fn dropout() {
    let x = Tensor::<(Batch, Model)>::ones((50, 40));
    shared::<Dropout>();
    let drop = Dropout::new(0.25);
    assert!(names(&drop).is_empty());
    let cx = Cx::train(Key::new(1));
    let y = drop.forward(&x, &cx.at("drop"));
    let kept = y.to_vec().iter().filter(|v| **v != 0.0).count();
    assert!((1400..1600).contains(&kept), "{kept} of 2000 kept");
    assert_eq!(y.to_vec(), x.dropout(0.25, Key::new(1).derive("drop")).to_vec());
    assert_ne!(y.to_vec(), drop.forward(&x, &cx.at("other")).to_vec());
    assert_eq!(drop.forward(&x, &Cx::eval().at("drop")).to_vec(), x.to_vec());
    assert!(Dropout::try_new(1.5).is_err() && Dropout::try_new(f64::NAN).is_err());
}
