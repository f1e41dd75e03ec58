use super::*;
use crate::isa::{Isa, best, force};
use crate::layout::Layout;
use crate::team::Team;

/// A small generator of test values.
struct Gen(u64);

impl Gen {
    fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 11
    }

    fn below(&mut self, n: usize) -> usize {
        (self.u64() % n as u64) as usize
    }

    fn vec(&mut self, n: usize) -> Vec<f64> {
        // Eighths, so that f32 holds the inputs exactly.
        (0..n).map(|_| (self.below(129) as f64 - 64.0) / 8.0).collect()
    }

    fn side(&mut self, long: bool) -> Side {
        let input = if long { 30 + self.below(200) } else { self.below(9) };
        let (taps, stride, dilation) = (1 + self.below(4), 1 + self.below(3), 1 + self.below(3));
        let mut s = Side::padded(input, taps, stride, dilation, self.below(5), self.below(5));
        if self.below(4) == 0 {
            // Sides of cropped and extended outputs.
            s.pad -= 2;
            s.output += self.below(3);
        }
        s
    }

    fn conv(&mut self) -> Conv {
        let long = self.below(2) == 0;
        let lines = match self.below(3) {
            0 => Side::POINT,
            _ => self.side(false),
        };
        let wide = [1, 2, 3, 4, 5, 8, 13, 16, 17, 20, 33, 70, 130][self.below(13)];
        let sides = [lines, if long || self.below(4) > 0 { self.side(long) } else { Side::POINT }];
        let groups = [1, 1, 2, 3, 7, 16, 40][self.below(7)];
        let (cin, cout) = match (groups, self.below(4)) {
            (_, 0) => (1, 1),
            (1, 1) => (self.below(5), wide),
            (1, 2) => (wide, 1 + self.below(20)),
            _ => (1 + self.below(9), 1 + self.below(9)),
        };
        Conv { batch: 1 + self.below(3), sides, groups, cin, cout }
    }
}

/// Calls `f(x index, w index, y index)` for each product of the trilinear form.
fn products(c: &Conv, mut f: impl FnMut(usize, usize, usize)) {
    let [sy, sx] = c.sides;
    let (xc, yc) = (c.groups * c.cin, c.groups * c.cout);
    for b in 0..c.batch {
        for oy in 0..sy.output {
            for ox in 0..sx.output {
                for ky in 0..sy.taps {
                    for kx in 0..sx.taps {
                        let (iy, ix) = (sy.at(oy, ky), sx.at(ox, kx));
                        if !(0..sy.input as isize).contains(&iy) || !(0..sx.input as isize).contains(&ix) {
                            continue;
                        }
                        let x0 = ((b * sy.input + iy as usize) * sx.input + ix as usize) * xc;
                        let y0 = ((b * sy.output + oy) * sx.output + ox) * yc;
                        for g in 0..c.groups {
                            for i in 0..c.cin {
                                for o in 0..c.cout {
                                    let w = ((ky * sx.taps + kx) * c.cin + i) * yc + g * c.cout + o;
                                    f(x0 + g * c.cin + i, w, y0 + g * c.cout + o);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn close<T: Into<f64> + Copy>(what: &str, c: &Conv, got: &[T], want: &[f64], eps: f64) {
    // A chain of n products of numbers up to 8 strays by at most n rounding errors of partial sums up to 64 n; the
    // walk of random signs stays far inside.
    let n =
        (c.batch * c.sides[0].output * c.sides[1].output).max(c.sides[0].taps * c.sides[1].taps * c.cin.max(c.cout));
    let tolerance = eps * 64.0 * (n as f64 + 4.0).powf(1.5);
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        let g: f64 = g.into();
        assert!((g - w).abs() <= tolerance, "{what}: element {i} is {g}, want {w}, of {c:?}");
    }
}

fn cast<T: ConvFloat>(v: &[f64], f: fn(f64) -> T) -> Vec<T> {
    v.iter().map(|&v| f(v)).collect()
}

/// Weights in a layout of their own: dense, or with the output channels first, as images have them.
fn relaid<T: ConvFloat>(w: &[T], shape: [usize; 4], which: usize) -> (Vec<T>, Layout) {
    let [a, b, c, d] = shape;
    let n: usize = shape.iter().product();
    let strides = match which {
        0 => [(b * c * d) as isize, (c * d) as isize, d as isize, 1],
        1 => [(b * c) as isize, c as isize, 1, (a * b * c) as isize],
        _ => [1, a as isize, (a * b) as isize, (a * b * c) as isize],
    };
    let layout = Layout::new(&shape, &strides);
    let mut out = vec![T::default(); n];
    for (i, &v) in w.iter().enumerate() {
        let at = [i / (b * c * d), i / (c * d) % b, i / d % c, i % d];
        out[at.iter().zip(strides).map(|(&i, s)| i * s as usize).sum::<usize>()] = v;
    }
    (out, layout)
}

fn agrees<T: ConvFloat + Into<f64>>(isa: Isa, eps: f64, f: fn(f64) -> T) {
    let _held = force(isa);
    let mut g = Gen(isa as u64);
    for trial in 0..400 {
        let c = g.conv();
        let (x, y) = (g.vec(c.x_len()), g.vec(c.y_len()));
        let w = g.vec(c.w_shape().iter().product());
        let (by, bx) = (g.vec(c.groups * c.cout), g.vec(c.groups * c.cin));
        let mut want_y: Vec<f64> = (0..c.y_len()).map(|i| by[i % by.len()]).collect();
        let mut want_x: Vec<f64> = (0..c.x_len()).map(|i| bx[i % bx.len()]).collect();
        let mut want_w = vec![0.0; w.len()];
        products(&c, |xi, wi, yi| {
            want_y[yi] += x[xi] * w[wi];
            want_x[xi] += y[yi] * w[wi];
            want_w[wi] += x[xi] * y[yi];
        });
        let (tx, ty, tw) = (cast(&x, f), cast(&y, f), cast(&w, f));
        let (data, layout) = relaid(&tw, c.w_shape(), trial % 3);
        let view = Strided::new(&data, 0, layout);
        let mut out = vec![f(f64::NAN); c.y_len()];
        forward(&mut out, &tx, &view, Some(&cast(&by, f)), &c);
        close("forward", &c, &out, &want_y, eps);
        let mut out = vec![f(f64::NAN); c.x_len()];
        input(&mut out, &ty, &view, Some(&cast(&bx, f)), &c);
        close("input", &c, &out, &want_x, eps);
        let mut out = vec![f(f64::NAN); w.len()];
        weights(&mut out, &tx, &ty, &c);
        close("weights", &c, &out, &want_w, eps);
    }
}

#[test]
fn all_three_derivatives_agree_with_the_definition() {
    for isa in Isa::ALL {
        agrees::<f32>(isa, f64::from(f32::EPSILON), |x| x as f32);
        agrees::<f64>(isa, f64::EPSILON, |x| x);
    }
}

/// Sizes that several tasks, blocks of the contracted index and kinds of tile share.
fn large() -> Vec<Conv> {
    let time = |n, k, s, d| Side::padded(n, k, s, d, (k - 1) * d, 0);
    let image = |n, k, s| Side::padded(n, k, s, 1, k / 2, k / 2);
    vec![
        Conv { batch: 2, sides: [Side::POINT, time(3000, 3, 1, 64)], groups: 1, cin: 16, cout: 16 },
        Conv { batch: 1, sides: [Side::POINT, time(5000, 16, 1, 3)], groups: 1, cin: 1, cout: 32 },
        Conv { batch: 1, sides: [Side::POINT, time(700, 5, 2, 1)], groups: 2, cin: 60, cout: 17 },
        Conv { batch: 1, sides: [Side::POINT, time(9000, 700, 1, 1)], groups: 1, cin: 1, cout: 1 },
        Conv { batch: 2, sides: [Side::POINT, Side::padded(900, 300, 1, 1, 250, 299)], groups: 1, cin: 1, cout: 1 },
        Conv { batch: 2, sides: [Side::POINT, Side::padded(900, 300, 1, 1, 250, 299)], groups: 1, cin: 2, cout: 3 },
        Conv { batch: 3, sides: [Side::POINT, time(4000, 4, 1, 2)], groups: 100, cin: 1, cout: 1 },
        Conv { batch: 3, sides: [Side::POINT, time(4000, 9, 1, 2)], groups: 6, cin: 1, cout: 1 },
        Conv { batch: 2, sides: [image(28, 3, 1), image(30, 3, 1)], groups: 1, cin: 32, cout: 40 },
        Conv { batch: 1, sides: [image(7, 3, 1), image(7, 3, 1)], groups: 1, cin: 128, cout: 256 },
        Conv { batch: 2, sides: [image(33, 5, 2), image(31, 3, 2)], groups: 4, cin: 5, cout: 20 },
        Conv { batch: 1, sides: [image(40, 1, 1), image(50, 1, 1)], groups: 1, cin: 30, cout: 70 },
        Conv { batch: 1, sides: [image(60, 3, 1), image(64, 3, 1)], groups: 48, cin: 1, cout: 1 },
    ]
}

fn f32s(g: &mut Gen, n: usize) -> Vec<f32> {
    (0..n).map(|_| g.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0).collect()
}

#[test]
fn bits_do_not_depend_on_threads() {
    let _held = force(best());
    let mut g = Gen(3);
    for c in large() {
        let (x, y, w) = (f32s(&mut g, c.x_len()), f32s(&mut g, c.y_len()), f32s(&mut g, c.w_shape().iter().product()));
        let all = || {
            let view = Strided::dense(&w, &c.w_shape());
            let (mut oy, mut ox, mut ow) = (vec![0.0; y.len()], vec![0.0; x.len()], vec![0.0; w.len()]);
            forward(&mut oy, &x, &view, None, &c);
            input(&mut ox, &y, &view, None, &c);
            weights(&mut ow, &x, &y, &c);
            [oy, ox, ow].concat().iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        };
        let one = Team::single().enter(all);
        for n in [2, 3, 8] {
            assert!(Team::new(n).enter(all) == one, "other bits on {n} threads: {c:?}");
        }
    }
}

/// The chain that the module's page promises, computed one element at a time.
fn chain<const FMA: bool>(c: &Conv, x: &[f32], w: &[f32], y: &mut [f32]) {
    products(c, |xi, wi, yi| {
        y[yi] = if FMA { x[xi].mul_add(w[wi], y[yi]) } else { x[xi] * w[wi] + y[yi] };
    });
}

#[test]
fn each_output_is_the_promised_chain() {
    for isa in Isa::ALL {
        let _held = force(isa);
        let fma = crate::isa::isa() > Isa::Baseline || cfg!(target_arch = "aarch64");
        let mut g = Gen(5);
        for mut c in large() {
            // The chain is slow; some hundred positions cross every boundary but those of tasks.
            c.batch = 1;
            for s in &mut c.sides {
                s.output = s.output.min(400);
            }
            let (x, w) = (f32s(&mut g, c.x_len()), f32s(&mut g, c.w_shape().iter().product()));
            let bias = f32s(&mut g, c.groups * c.cout);
            let mut want: Vec<f32> = (0..c.y_len()).map(|i| bias[i % bias.len()]).collect();
            let mut got = vec![0.0; c.y_len()];
            if fma {
                chain::<true>(&c, &x, &w, &mut want);
            } else {
                chain::<false>(&c, &x, &w, &mut want);
            }
            forward(&mut got, &x, &Strided::dense(&w, &c.w_shape()), Some(&bias), &c);
            assert!(got.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits()), "{isa:?} {c:?}");
        }
    }
}

#[test]
fn a_signal_may_be_cut_anywhere() {
    let _held = force(best());
    let mut g = Gen(9);
    for (channels, groups, taps, dilation) in [(16, 1, 3, 32), (1, 1, 7, 5), (6, 6, 4, 3), (24, 24, 4, 1), (8, 2, 3, 2)]
    {
        let n = 1500;
        let (cin, cout) = (channels / groups, channels / groups);
        let sides = |n: usize, pad: usize| [Side::POINT, Side::padded(n, taps, 1, dilation, pad, 0)];
        let history = (taps - 1) * dilation;
        let whole = Conv { batch: 1, sides: sides(n, history), groups, cin, cout };
        let (x, w) = (f32s(&mut g, n * channels), f32s(&mut g, whole.w_shape().iter().product()));
        let view = Strided::dense(&w, &whole.w_shape());
        let mut want = vec![0.0; whole.y_len()];
        forward(&mut want, &x, &view, None, &whole);
        for piece in [1, 2, 5, 64, 333, 1024] {
            let mut at = 0;
            while at < n {
                let len = piece.min(n - at);
                // The piece with the rows before it that it sees; at the beginning some are missing.
                let from = at.saturating_sub(history);
                let part = Conv { sides: sides(at + len - from, history - (at - from)), ..whole };
                let mut got = vec![0.0; part.y_len()];
                forward(&mut got, &x[from * channels..(at + len) * channels], &view, None, &part);
                assert_eq!(got.len(), len * channels);
                assert!(got == want[at * channels..(at + len) * channels], "piece {piece} at {at}");
                at += len;
            }
        }
    }
}

#[test]
fn padding_is_not_multiplied() {
    // An infinite weight of a tap that meets nothing would make NaN of a padding zero.
    let side = Side::padded(3, 3, 1, 1, 1, 1);
    let c = Conv { batch: 1, sides: [Side::POINT, side], groups: 1, cin: 1, cout: 1 };
    let w = [f32::INFINITY, 1.0, 1.0];
    let mut y = [0.0; 3];
    forward(&mut y, &[1.0, 2.0, 3.0], &Strided::dense(&w, &[1, 3, 1, 1]), None, &c);
    assert_eq!(y, [3.0, f32::INFINITY, f32::INFINITY]);
}

#[test]
#[should_panic(expected = "the input does not have the size")]
fn sizes_are_checked() {
    let c = Conv { batch: 1, sides: [Side::POINT; 2], groups: 1, cin: 2, cout: 1 };
    forward(&mut [0.0f32], &[1.0], &Strided::dense(&[1.0, 1.0], &[1, 1, 2, 1]), None, &c);
}
