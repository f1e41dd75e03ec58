//! Convolutions.

use crate::{Doc, check_gradients, close, names, noise, weigh};
use forge::axes::{Batch, Channel, Height, OutChannel, Tap, Time, Width};
use forge::nn::{Conv1d, Conv2d, ConvTranspose1d};
use forge::prelude::*;
use forge::rng::Key;

axes! { Fixed = 4 }

/// A convolution along time in plain loops: `y[t, o]` of `x[t, i]`.
fn plain_conv1d(
    x: &Tensor<(Time, Channel), f64>,
    w: &Tensor<(Tap, Channel, OutChannel), f64>,
    b: &[f64],
    how: (usize, usize, usize, usize, usize),
) -> Vec<f64> {
    let (stride, dilation, before, after, groups) = how;
    let (n, taps, cin, cout) = (x.size(Time) + before + after, w.size(Tap), w.size(Channel), w.size(OutChannel));
    let mut y = Vec::new();
    let mut t = 0;
    while t + (taps - 1) * dilation < n {
        for o in 0..cout {
            let mut s = b[o];
            for k in 0..taps {
                let at = t + k * dilation;
                if at < before || at - before >= x.size(Time) {
                    continue;
                }
                for i in 0..cin {
                    let channel = o / (cout / groups) * cin + i;
                    s += x.get((at - before, channel)) * w.get((k, i, o));
                }
            }
            y.push(s);
        }
        t += stride;
    }
    y
}

#[test]
fn conv1d() {
    type Conv = Conv1d<Time, Channel, OutChannel, f64>;
    let x = noise::<(Time, Channel)>((9, 4), 3);
    let key = Key::new(6);
    let cases: [(Conv, (usize, usize, usize, usize, usize)); 6] = [
        (Conv::new((4, 6), 3, key), (1, 1, 0, 0, 1)),
        (Conv::new((4, 6), 3, key).dilation(2).causal(), (1, 2, 4, 0, 1)),
        (Conv::new((4, 6), 2, key).stride(3).pad(1, 2), (3, 1, 1, 2, 1)),
        (Conv::grouped((4, 6), 3, 2, key).causal(), (1, 1, 2, 0, 2)),
        (Conv::grouped((4, 4), 3, 4, key).causal(), (1, 1, 2, 0, 4)),
        (Conv::grouped((4, 8), 1, 4, key), (1, 1, 0, 0, 4)),
    ];
    for (mut conv, how) in cases {
        let y = conv.forward(&x);
        let want = plain_conv1d(&x, &conv.weight, &conv.bias.as_ref().unwrap().to_vec(), how);
        close(&y.to_vec(), &want, 1e-12);
        // Under other axes, in another order: the same bits.
        let many: Tensor<(Channel, Batch, Time, Doc), f64> = x.insert(Batch).insert(Doc).permute();
        let many: Tensor<(Time, OutChannel, Batch, Doc), f64> = conv.forward(&many).permute();
        assert_eq!(many.to_vec(), y.to_vec());
        check_gradients(&mut conv, |c| weigh(&c.forward(&x)));
    }
    let plain = Conv::new((4, 6), 3, key).without_bias();
    assert_eq!(names(&plain), ["weight"]);
    assert_eq!(names(&Conv::new((4, 6), 3, key)), ["bias", "weight"]);
    let bound = (1.0f64 / 12.0).sqrt();
    assert!(
        plain.weight.to_vec().iter().all(|w| w.abs() <= bound)
            && plain.weight.to_vec().iter().any(|w| w.abs() > 0.9 * bound)
    );

    // A causal layer does not look ahead.
    let conv = Conv::new((4, 6), 3, key).dilation(2).causal();
    assert_eq!(conv.forward(&x.narrow(Time, 0..5)).to_vec(), conv.forward(&x).narrow(Time, 0..5).to_vec());

    let error = Conv::try_grouped((4, 6), 3, 3, key).unwrap_err();
    assert_eq!(error.to_string(), "Conv1d: 4 input and 6 output channels do not make 3 equal groups");
    let error = conv.try_forward(&noise::<(Time, Channel)>((9, 5), 1)).unwrap_err();
    assert!(error.to_string().contains("conv1d: axis `Channel` has size 5"), "{error}");
    let error = plain.try_forward(&noise::<(Time, Channel)>((2, 4), 1)).unwrap_err();
    assert!(error.to_string().contains("axis `Time`"), "{error}");
}

/// What a convolution does to gradients, the transposed one does to values: `<conv(x), y> = <x, transposed(y)>`.
#[test]
fn conv_transpose1d() {
    type Up = ConvTranspose1d<Time, Channel, OutChannel, f64>;
    type Down = Conv1d<Time, OutChannel, Channel, f64>;
    let y = noise::<(Time, Channel)>((4, 6), 3);
    let key = Key::new(6);
    for groups in [1, 2] {
        let mut up = Up::grouped((6, 4), 3, groups, key).stride(2).pad(1, 1).output_pad(1);
        let bias = up.bias.as_ref().unwrap().value();
        let wide = up.forward(&y);
        assert_eq!(wide.shape(), [8, 4]);
        let x = noise::<(Time, OutChannel)>((8, 4), 4);
        let mut down = Down::grouped((4, 6), 3, groups, key).stride(2).pad(1, 1).without_bias();
        down.weight.set(&up.weight.permute()).unwrap();
        let left = (&down.forward(&x) * &y).sum_all().item();
        let right = (&x * &(&wide - &bias)).sum_all().item();
        assert!((left - right).abs() < 1e-12 * (1.0 + left.abs()), "{left} and {right}");
        let many: Tensor<(Channel, Batch, Time), f64> = y.insert(Batch).permute();
        let many: Tensor<(Time, OutChannel, Batch), f64> = up.forward(&many).permute();
        assert_eq!(many.to_vec(), wide.to_vec());
        check_gradients(&mut up, |u| weigh(&u.forward(&y)));
    }
    assert_eq!(names(&Up::new((6, 4), 3, key)), ["bias", "weight"]);
}

#[test]
fn conv2d() {
    type Conv = Conv2d<Height, Width, Channel, OutChannel, f64>;
    let x = noise::<(Height, Width, Channel)>((5, 6, 4), 3);
    let key = Key::new(6);
    // (strides, dilations, padding, groups)
    let cases: [(Conv, [usize; 2], [usize; 2], [usize; 2], usize); 4] = [
        (Conv::new((4, 2), (3, 2), key), [1, 1], [1, 1], [0, 0], 1),
        (Conv::new((4, 2), (3, 3), key).pad(1, 1), [1, 1], [1, 1], [1, 1], 1),
        (Conv::grouped((4, 2), (2, 3), 2, key).stride(2, 1).pad(0, 2), [2, 1], [1, 1], [0, 2], 2),
        (Conv::grouped((4, 4), (2, 2), 4, key).dilation(1, 2).pad(1, 0), [1, 1], [1, 2], [1, 0], 4),
    ];
    for (mut conv, stride, dilation, pad, groups) in cases {
        let y = conv.forward(&x);
        let (b, w) = (conv.bias.as_ref().unwrap(), &conv.weight);
        let [kh, kw, cin, cout] = w.shape() else { unreachable!() };
        let out = |n: usize, k: usize, i: usize| (n + 2 * pad[i] - (k - 1) * dilation[i] - 1) / stride[i] + 1;
        let (h, v) = (out(5, *kh, 0), out(6, *kw, 1));
        assert_eq!(y.shape(), [h, v, *cout]);
        let at = |o: usize, k: usize, i: usize, n: usize| {
            (o * stride[i] + k * dilation[i]).checked_sub(pad[i]).filter(|p| *p < n)
        };
        for (i, got) in y.to_vec().into_iter().enumerate() {
            let (r, c, o) = (i / cout / v, i / cout % v, i % cout);
            let mut s = b.get(o);
            for (ky, kx, ch) in (0..kh * kw * cin).map(|j| (j / cin / kw, j / cin % kw, j % cin)) {
                if let (Some(p), Some(q)) = (at(r, ky, 0, 5), at(c, kx, 1, 6)) {
                    s += x.get((p, q, o / (cout / groups) * cin + ch)) * w.get((ky, kx, ch, o));
                }
            }
            assert!((got - s).abs() < 1e-12 * (1.0 + s.abs()), "{got}, not {s}");
        }
        let many: Tensor<(Width, Channel, Batch, Height), f64> = x.insert(Batch).permute();
        let many: Tensor<(Height, Width, OutChannel, Batch), f64> = conv.forward(&many).permute();
        assert_eq!(many.to_vec(), y.to_vec());
        check_gradients(&mut conv, |c| weigh(&c.forward(&x)));
    }
    assert_eq!(names(&Conv::new((4, 2), (3, 2), key)), ["bias", "weight"]);
}

/// The weights of one group have fewer channels than the axis: one of fixed size cannot say that.
#[test]
fn groups_of_a_fixed_axis() {
    let error = Conv1d::<Time, Fixed, OutChannel>::try_grouped((Fixed, 4), 3, 2, Key::new(0)).unwrap_err();
    assert!(error.to_string().contains("axis `Fixed` has a fixed size"), "{error}");
    let whole = Conv1d::<Time, Fixed, OutChannel>::new((Fixed, 4), 3, Key::new(0));
    let y: Tensor<(Time, OutChannel)> = whole.forward(&Tensor::<(Time, Fixed)>::ones((5, Fixed)));
    assert_eq!(y.shape(), [3, 4]);
}
