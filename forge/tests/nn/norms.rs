//! LayerNorm, RmsNorm, GroupNorm.

use crate::{check_gradients, close, names, noise, shared, weigh};
use forge::axes::{Batch, Channel, Height, Model, Seq, Time, Width};
use forge::nn::{GroupNorm, LayerNorm, RmsNorm};
use forge::prelude::*;

#[test]
fn norms() {
    let x = noise::<(Batch, Model, Seq)>((2, 6, 3), 2);
    let mut layer = LayerNorm::<Model, f64>::new(6).eps(1e-3);
    layer.weight.set(&noise(6, 3)).unwrap();
    layer.bias.as_mut().unwrap().set(&noise(6, 4)).unwrap();
    let mut rms = RmsNorm::<Model, f64>::new(6).eps(1e-3);
    rms.weight.set(&noise(6, 3)).unwrap();
    let (y, z) = (layer.forward(&x), rms.forward(&x));
    for b in 0..2 {
        for s in 0..3 {
            let at = |x: &Tensor<(Batch, Model, Seq), f64>| x.select(Batch, b).select(Seq, s).to_vec();
            let v = at(&x);
            let mean = v.iter().sum::<f64>() / 6.0;
            let var = v.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 6.0;
            let ms = v.iter().map(|v| v * v).sum::<f64>() / 6.0;
            let (w, c) = (layer.weight.to_vec(), layer.bias.as_ref().unwrap().to_vec());
            let want: Vec<f64> = (0..6).map(|i| (v[i] - mean) / (var + 1e-3).sqrt() * w[i] + c[i]).collect();
            close(&at(&y), &want, 1e-12);
            let want: Vec<f64> = (0..6).map(|i| v[i] / (ms + 1e-3).sqrt() * w[i]).collect();
            close(&at(&z), &want, 1e-12);
        }
    }
    let swapped: Tensor<(Seq, Batch, Model), f64> = x.permute();
    let back: Tensor<(Batch, Model, Seq), f64> = layer.forward(&swapped).permute();
    assert_eq!(back.to_vec(), y.to_vec());

    let error = layer.try_forward(&Tensor::<(Batch, Model), f64>::zeros((2, 5))).unwrap_err();
    assert!(error.to_string().contains("axis `Model`"), "{error}");
    check_gradients(&mut layer, |l| weigh(&l.forward(&x)));
    check_gradients(&mut rms, |l| weigh(&l.forward(&x)));
}

#[test]
fn group_norm() {
    let x = noise::<(Batch, Time, Channel)>((2, 3, 6), 2);
    let mut norm = GroupNorm::<Channel, Time, f64>::new(6, 3);
    norm.weight.set(&noise(6, 3)).unwrap();
    norm.bias.set(&noise(6, 4)).unwrap();
    let y = norm.forward(&x);
    for b in 0..2 {
        for g in 0..3 {
            let part =
                |x: &Tensor<(Batch, Time, Channel), f64>| x.select(Batch, b).narrow(Channel, 2 * g..2 * g + 2).to_vec();
            let v = part(&x);
            let mean = v.iter().sum::<f64>() / 6.0;
            let var = v.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 6.0;
            let (w, c) = (norm.weight.to_vec(), norm.bias.to_vec());
            let channel = |i: usize| 2 * g + i % 2;
            let want: Vec<f64> = v
                .iter()
                .enumerate()
                .map(|(i, v)| (v - mean) / (var + 1e-5).sqrt() * w[channel(i)] + c[channel(i)])
                .collect();
            close(&part(&y), &want, 1e-12);
        }
    }
    let swapped: Tensor<(Channel, Batch, Time), f64> = x.permute();
    let back: Tensor<(Batch, Time, Channel), f64> = norm.forward(&swapped).permute();
    close(&back.to_vec(), &y.to_vec(), 1e-12);
    let error = GroupNorm::<Channel, Time>::try_new(6, 4).unwrap_err();
    assert_eq!(error.to_string(), "GroupNorm: the 6 positions of axis `Channel` do not make 4 equal groups");
    check_gradients(&mut norm, |l| weigh(&l.forward(&x)));
}

#[test]
fn names_are_for_ever() {
    shared::<LayerNorm<Model>>();
    shared::<RmsNorm<Model>>();
    shared::<GroupNorm<Channel, (Height, Width)>>();
    assert_eq!(names(&LayerNorm::<Model>::new(3)), ["bias", "weight"]);
    assert_eq!(names(&LayerNorm::<Model>::without_bias(3)), ["weight"]);
    assert_eq!(names(&RmsNorm::<Model>::new(3)), ["weight"]);
    assert_eq!(names(&GroupNorm::<Channel, Time>::new(4, 2)), ["bias", "weight"]);
}

#[test]
fn debug_shows_names_and_sizes() {
    let text = format!("{:?}", LayerNorm::<Model>::new(3));
    assert_eq!(text, "LayerNorm { weight: f32 (Model 3), bias: f32 (Model 3) }");
}
