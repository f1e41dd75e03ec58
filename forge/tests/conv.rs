//! Convolutions, pooling, windows: options, promises about bits, error texts, numbers added up by hand.

use forge::axes::{Batch, Channel, Height, KernelHeight, KernelWidth, OutChannel, Tap, Time, Width};
use forge::dtype::bf16;
use forge::prelude::*;
use forge::team::Team;
use forge::{CausalConv1d, Conv1d, Conv2d, ConvTranspose1d, Pool2d, Unfold};

/// Numbers without a pattern, between -1 and 1.
fn noise(n: usize, seed: u64) -> Vec<f32> {
    let mut s = seed;
    (0..n)
        .map(|_| {
            s = s.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (s >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        })
        .collect()
}

fn ramp(n: usize, scale: f32) -> Vec<f32> {
    (0..n).map(|i| i as f32 * scale).collect()
}

fn bits(v: &[f32]) -> Vec<u32> {
    v.iter().map(|x| x.to_bits()).collect()
}

/// A stack of dilated convolutions over a whole signal, and over pieces of it: the same bits, on any number of threads.
#[test]
fn a_stream_has_the_bits_of_the_whole() {
    let (n, ch) = (3000, 16);
    let x = Tensor::<(Time, Channel)>::from_vec((n, ch), noise(n * ch, 1));
    let layers: Vec<(Tensor<(Tap, Channel, OutChannel)>, CausalConv1d)> = [1, 8, 64, 512]
        .into_iter()
        .map(|d| {
            let w = Tensor::from_vec((3, ch, ch), noise(3 * ch * ch, d as u64));
            (w, CausalConv1d::new().dilation(d))
        })
        .collect();
    let layer = |x: &Tensor<(Time, Channel)>, i: usize| {
        let (w, how) = &layers[i];
        x.causal_conv1d(w, Time, Channel, Tap, *how).rename(OutChannel, Channel).scale(0.25)
    };
    let whole = Team::single().enter(|| (0..4).fold(x.clone(), |x, i| layer(&x, i)));
    for (piece, threads) in [(1, 1), (64, 1), (64, 3), (1000, 8), (777, 2)] {
        let piece = if piece == 1 { 7 } else { piece };
        let team = Team::new(threads);
        let out: Vec<f32> = team.enter(|| {
            let mut states: Vec<Tensor<(Time, Channel)>> =
                layers.iter().map(|(_, how)| Tensor::zeros((how.history(3), ch))).collect();
            let mut out = Vec::new();
            for start in (0..n).step_by(piece) {
                let mut h = x.narrow(Time, start..(start + piece).min(n));
                for (i, (w, how)) in layers.iter().enumerate() {
                    let y = h.causal_conv1d_after(&states[i], w, Time, Channel, Tap, *how);
                    states[i] = h.causal_state(&states[i], Time);
                    h = y.rename(OutChannel, Channel).scale(0.25);
                }
                out.extend(h.to_vec());
            }
            out
        });
        assert_eq!(bits(&out), bits(&whole.to_vec()), "pieces of {piece} on {threads} threads");
    }
}

/// Rows of a plain, strided convolution do not depend on how many there are, nor on the batch.
#[test]
fn rows_do_not_depend_on_their_number() {
    for (cin, cout, taps, stride) in [(1, 1, 5, 1), (3, 5, 2, 2), (32, 24, 16, 1), (80, 130, 3, 3)] {
        let n = 200;
        let x = Tensor::<(Batch, Time, Channel)>::from_vec((2, n, cin), noise(2 * n * cin, 3));
        let w = Tensor::<(Tap, Channel, OutChannel)>::from_vec((taps, cin, cout), noise(taps * cin * cout, 4));
        let how = Conv1d::new().stride(stride);
        let all = x.conv1d(&w, Time, Channel, Tap, how);
        for (b, first, rows) in [(0, 0, 1), (1, 3, 1), (0, 7, 20), (1, 40, 13)] {
            let part = x.select(Batch, b).narrow(Time, first * stride..first * stride + (rows - 1) * stride + taps);
            let part = part.conv1d(&w, Time, Channel, Tap, how);
            let want = all.select(Batch, b).narrow(Time, first..first + rows);
            assert_eq!(
                bits(&part.to_vec()),
                bits(&want.to_vec()),
                "{cin} to {cout} channels, {rows} rows from {first}"
            );
        }
    }
}

/// Small integers, added up by hand from the definitions.
#[test]
fn golden_values() {
    // Two groups of one channel each, stride 2, padding 1: taps 1, 2 and 3, 4.
    let x = Tensor::<(Time, Channel)>::from_vec((4, 2), vec![1., 10., 2., 20., 3., 30., 4., 40.]);
    let w = Tensor::<(OutChannel, Tap, Channel)>::from_vec((2, 2, 1), vec![1., 2., 3., 4.]);
    let y = x.conv1d(&w, Time, Channel, Tap, Conv1d::new().stride(2).pad(1).groups(2));
    assert_eq!(y.to_vec(), [2., 40., 8., 180., 4., 120.]);

    let x = Tensor::<(Height, Width, Channel)>::from_vec((3, 3, 1), ramp(9, 1.0));
    let w = Tensor::<(OutChannel, KernelHeight, KernelWidth, Channel)>::from_vec((1, 2, 2, 1), vec![1., 2., 3., 4.]);
    let taps = (KernelHeight, KernelWidth);
    let y = x.conv2d(&w, (Height, Width), Channel, taps, Conv2d::new());
    assert_eq!(y.to_vec(), [27., 37., 57., 67.]);
    let y = x.conv2d(&w, (Height, Width), Channel, taps, Conv2d::new().stride(2).pad((0, 1)).dilation((2, 1)));
    assert_eq!(y.shape(), [1, 2, 1]);
    assert_eq!(y.to_vec(), [24., 58.]);

    // Padding of a transposed convolution cuts; output padding adds outputs that may have inputs.
    let x = Tensor::<(Time, Channel)>::from_vec((2, 1), vec![1., 2.]);
    let w = Tensor::<(Channel, OutChannel, Tap)>::from_vec((1, 1, 3), vec![1., 10., 100.]);
    let how = ConvTranspose1d::new().stride(2).pad(1);
    assert_eq!(x.conv_transpose1d(&w, None, Time, Channel, Tap, how).to_vec(), [10., 102., 20.]);
    assert_eq!(x.conv_transpose1d(&w, None, Time, Channel, Tap, how.output_pad(1)).to_vec(), [10., 102., 20., 200.]);
}

#[test]
fn output_axes_may_be_several_or_none() {
    axes! { Gate, Unit }
    let x = Tensor::<(Time, Channel)>::from_vec((5, 3), noise(15, 5));
    let w = Tensor::<(Gate, Tap, Channel, Unit)>::from_vec((2, 2, 3, 4), noise(48, 6));
    let y: Tensor<(Time, Gate, Unit)> = x.causal_conv1d(&w, Time, Channel, Tap, CausalConv1d::new());
    for gate in 0..2 {
        let one: Tensor<(Tap, Channel, Unit)> = w.select(Gate, gate);
        let want: Tensor<(Time, Unit)> = x.causal_conv1d(&one, Time, Channel, Tap, CausalConv1d::new());
        assert_eq!(y.select(Gate, gate).to_vec(), want.to_vec());
    }
    let one: Tensor<(Tap, Channel)> = w.select(Gate, 0).select(Unit, 0);
    let mono: Tensor<Time> = x.causal_conv1d(&one, Time, Channel, Tap, CausalConv1d::new());
    assert_eq!(mono.to_vec(), y.select(Gate, 0).select(Unit, 0).to_vec());
}

#[test]
fn size_one_is_a_matrix_product() {
    let x = Tensor::<(Batch, Time, Channel)>::from_vec((2, 7, 5), noise(70, 7));
    let w = Tensor::<(Tap, Channel, OutChannel)>::from_vec((1, 5, 6), noise(30, 8));
    let y = x.conv1d(&w, Time, Channel, Tap, Conv1d::new());
    let want = x.dot(&w.squeeze(Tap), Channel);
    for (a, b) in y.to_vec().iter().zip(want.to_vec()) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn padding_meets_no_weight() {
    let x = Tensor::<(Time, Channel)>::ones((2, 1));
    let w = Tensor::<(Tap, Channel, OutChannel)>::from_vec((2, 1, 1), vec![f32::INFINITY, 1.0]);
    let y = x.causal_conv1d(&w, Time, Channel, Tap, CausalConv1d::new());
    assert_eq!(y.to_vec(), [1.0, f32::INFINITY]);
}

#[test]
fn sixteen_bits_are_rounded_once() {
    let (x, w) = (noise(24, 9), noise(18, 10));
    let x = Tensor::<(Time, Channel)>::from_vec((8, 3), x).to::<bf16>();
    let w = Tensor::<(Tap, Channel, OutChannel)>::from_vec((2, 3, 3), w).to::<bf16>();
    let y = x.conv1d(&w, Time, Channel, Tap, Conv1d::new());
    let wide = x.to::<f32>().conv1d(&w.to::<f32>(), Time, Channel, Tap, Conv1d::new());
    assert_eq!(y.to_vec(), wide.to::<bf16>().to_vec());
}

#[test]
fn no_input_no_output() {
    let x = Tensor::<(Time, Channel)>::zeros((0, 2));
    let w = Tensor::<(Tap, Channel, OutChannel)>::ones((3, 2, 4));
    assert_eq!(x.causal_conv1d(&w, Time, Channel, Tap, CausalConv1d::new()).shape(), [0, 4]);
    assert_eq!(x.conv1d(&w, Time, Channel, Tap, Conv1d::new()).shape(), [0, 4]);
    assert_eq!(x.conv_transpose1d(&w, None, Time, Channel, Tap, ConvTranspose1d::new().stride(2)).shape(), [0, 4]);
    // No channels: sums of nothing.
    let x = Tensor::<(Time, Channel)>::zeros((5, 0));
    let w = Tensor::<(Tap, Channel, OutChannel)>::zeros((3, 0, 4));
    assert_eq!(x.causal_conv1d(&w, Time, Channel, Tap, CausalConv1d::new()).to_vec(), [0.0; 20]);
    let w = Tensor::<(Tap, Channel)>::zeros((3, 0));
    assert_eq!(x.causal_depthwise_conv1d(&w, Time, Channel, Tap, CausalConv1d::new()).shape(), [5, 0]);
}

#[test]
fn pooling_at_the_border() {
    let over = (Height, Width);
    // All negative: padding zeros would win.
    let x = Tensor::<(Height, Width)>::from_vec((2, 2), vec![-4., -3., -2., -1.]);
    assert_eq!(x.max_pool2d(over, Pool2d::new(2).pad(1)).to_vec(), [-4., -3., -2., -1.]);
    // A corner window of three that meets four elements: their mean, where PyTorch divides by nine.
    assert_eq!(x.avg_pool2d(over, Pool2d::new(3).pad(1)).to_vec(), [-2.5]);
    // Windows that meet nothing.
    let how = Pool2d::new(1).pad(1);
    assert_eq!(x.max_pool2d(over, how).get((0, 0)), f32::NEG_INFINITY);
    assert!(x.avg_pool2d(over, how).get((0, 0)).is_nan());
    // NaN is the largest.
    let x = Tensor::<(Height, Width)>::from_vec((1, 2), vec![1., f32::NAN]);
    assert!(x.max_pool2d(over, Pool2d::new((1, 2))).item().is_nan());
}

#[test]
fn the_first_of_equal_maxima_gets_the_gradient() {
    let x = Tensor::<(Height, Width)>::from_vec((2, 2), vec![1., 5., 5., 5.]).requires_grad();
    let g = x.max_pool2d((Height, Width), Pool2d::new(2)).sum_all().backward().unwrap();
    assert_eq!(g.get(&x).unwrap().to_vec(), [0., 1., 0., 0.]);
}

#[test]
fn unfold_is_a_view_and_im2col() {
    let x = Tensor::<(Height, Width, Channel)>::from_vec((5, 6, 2), noise(60, 11));
    let w = Tensor::<(KernelHeight, KernelWidth, Channel, OutChannel)>::from_vec((3, 2, 2, 3), noise(36, 12));
    let columns = x.unfold(Height, KernelHeight, Unfold::new(3)).unfold(Width, KernelWidth, Unfold::new(2));
    assert!(columns.as_slice().is_none(), "nothing was copied");
    let want: Tensor<(Height, Width, OutChannel)> = columns.dot(&w, (KernelHeight, KernelWidth, Channel));
    let got = x.conv2d(&w, (Height, Width), Channel, (KernelHeight, KernelWidth), Conv2d::new());
    for (a, b) in got.to_vec().iter().zip(want.to_vec()) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

/// The text of the error of `r`.
fn text<T: std::fmt::Debug>(r: Result<T, Error>) -> String {
    r.expect_err("an error was expected").to_string()
}

#[test]
fn errors_say_what_does_not_fit() {
    let x = Tensor::<(Time, Channel)>::ones((4, 6));
    let w = |k, c, o| Tensor::<(Tap, Channel, OutChannel)>::ones((k, c, o));
    let run = |w: &Tensor<(Tap, Channel, OutChannel)>, how| text(x.try_conv1d(w, Time, Channel, Tap, how));
    assert_eq!(
        run(&w(3, 5, 2), Conv1d::new()),
        "conv1d: axis `Channel` has size 6 in (Time 4, Channel 6) but 5 in (Tap 3, Channel 5, OutChannel 2)"
    );
    assert_eq!(
        run(&w(3, 5, 2), Conv1d::new().groups(2)),
        "conv1d: axis `Channel` has size 6 in (Time 4, Channel 6), but 2 groups of weights \
         (Tap 3, Channel 5, OutChannel 2) take 10"
    );
    assert_eq!(run(&w(3, 3, 5), Conv1d::new().groups(2)), "conv1d: 5 output channels do not fall into 2 groups");
    assert_eq!(
        run(&w(3, 6, 5), Conv1d::new().dilation(3).pad(1)),
        "conv1d: the kernel spans 7 positions of axis `Time`, which has 6 with its padding"
    );
    assert_eq!(run(&w(3, 6, 5), Conv1d::new().stride(0)), "conv1d: stride and dilation must be at least 1");
    assert_eq!(run(&w(0, 6, 5), Conv1d::new()), "conv1d: a kernel needs at least one tap");
    assert_eq!(
        run(&w(3, 6, 5), Conv1d::new().dilation(usize::MAX)),
        format!("conv1d: a stride, dilation or padding of {} is too large", usize::MAX)
    );

    let past = Tensor::<(Time, Channel)>::ones((3, 6));
    let how = CausalConv1d::new().dilation(2);
    assert_eq!(
        text(x.try_causal_conv1d_after(&past, &w(3, 6, 5), Time, Channel, Tap, how)),
        "causal_conv1d_after: the state must have the 4 rows of `Time` that the taps reach back, not 3"
    );
    let how = ConvTranspose1d::new().output_pad(1);
    assert_eq!(
        text(x.try_conv_transpose1d(&w(3, 6, 5), None, Time, Channel, Tap, how)),
        "conv_transpose1d: an output padding of 1 is not below the stride 1 or the dilation 1"
    );
    let bias = Tensor::<OutChannel>::ones(4);
    assert_eq!(
        text(x.try_conv_transpose1d(&w(3, 6, 5), Some(&bias), Time, Channel, Tap, ConvTranspose1d::new())),
        "conv_transpose1d: the bias, of shape [4], is not one value for each of the 5 output channels"
    );
    let image = Tensor::<(Height, Width)>::ones((2, 5));
    assert_eq!(
        text(image.try_max_pool2d((Height, Width), Pool2d::new(3))),
        "max_pool2d: a window spans 3 positions of axis `Height`, which has 2 with its padding"
    );
    assert_eq!(
        text(x.try_fold(Time, Channel, 9, Unfold::new(5))),
        "fold: windows of an axis `Time` of size 9 are 5 of 5 elements, but the tensor has 4 of 6"
    );
}

#[test]
fn erased_errors_name_the_axes() {
    let x = Tensor::<(Time, Channel)>::ones((4, 6)).erase();
    let w = Tensor::<(Tap, Channel, OutChannel)>::ones((2, 6, 3)).erase();
    let how = Conv1d::new();
    assert_eq!(text(x.conv1d(&w, "Time", "Channel", "K", how)), "conv1d: no axis `K` in `(Tap, Channel, OutChannel)`");
    assert_eq!(
        text(x.conv1d(&w, "Channel", "Channel", "Tap", how)),
        "conv1d: `(Channel, Channel)` names an axis twice"
    );
    let clash = w.rename("OutChannel", "Time").unwrap();
    assert_eq!(
        text(x.conv1d(&clash, "Time", "Channel", "Tap", how)),
        "conv1d: axis `Time` appears twice in `(Time, Time)`"
    );
    assert_eq!(
        text(x.causal_depthwise_conv1d(&w, "Time", "Channel", "Tap", CausalConv1d::new())),
        "causal_depthwise_conv1d: weights of a filter for each channel have the axes `(Channel, Tap)` beside `Time`, \
         not `(Tap, Channel, OutChannel)`"
    );
    let half = w.to(DType::F64).unwrap();
    assert_eq!(text(x.conv1d(&half, "Time", "Channel", "Tap", how)), "conv1d: not defined for f64; it takes f32");
}
