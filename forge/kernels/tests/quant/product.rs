use crate::golden::Golden;
use forge_kernels::isa::{self, Isa};
use forge_kernels::quant::{Format, Matrix, Mode, QuantError, decode, matmul};
use forge_kernels::team::Team;

/// Small whole numbers without a pattern.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn unit(&mut self) -> f32 {
        (self.next() % 20_001) as f32 / 10_000.0 - 1.0
    }
}

/// Formats with blocks that hold every pattern of bits that is finite.
fn blocks() -> Vec<(Format, Vec<u8>)> {
    let golden = &Golden::all()[0];
    let mut all: Vec<(Format, Vec<u8>)> = golden
        .types()
        .filter_map(|(name, about)| {
            let blocks = about.get("random_blocks")?;
            Some((Format::from_name(name).unwrap(), golden.at(&blocks["enc"]).to_vec()))
        })
        .collect();
    let mut random = Random(5);
    for (format, bits) in [(Format::F16, 0xbbff), (Format::BF16, 0xbf8f)] {
        all.push((format, (0..512).flat_map(|_| ((random.next() & bits) as u16).to_le_bytes()).collect()));
    }
    all.push((Format::F32, (0..512).flat_map(|_| random.unit().to_le_bytes()).collect()));
    all
}

/// Bytes of `n` blocks drawn from some.
fn draw(random: &mut Random, format: Format, from: &[u8], n: usize) -> Vec<u8> {
    let blocks: Vec<&[u8]> = from.chunks_exact(format.block_bytes()).collect();
    (0..n).flat_map(|_| blocks[random.next() as usize % blocks.len()].iter().copied()).collect()
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

fn product(w: &Matrix<'_>, x: &[f32], m: usize, mode: Mode) -> Vec<f32> {
    let mut out = vec![f32::NAN; m * w.rows()];
    matmul(w, x, m, &mut out, mode).unwrap();
    out
}

/// Largest magnitude of a block of activations over 127: twice what rounding changes an element by at most.
fn steps(x: &[f32], block: usize) -> Vec<f64> {
    let step = |b: &[f32]| f64::from(b.iter().fold(0.0, |m: f32, v| m.max(v.abs()))) / 127.0;
    x.chunks(block).flat_map(|b| std::iter::repeat_n(step(b), b.len())).collect()
}

#[test]
fn products_are_right_and_the_same_on_every_arm_in_every_batch() {
    let mut random = Random(1);
    for (format, from) in blocks() {
        let unit = if format.is_quantised() { format.block_len() } else { 13 };
        for (rows, units, m) in [(1, 1, 1), (8, 2, 4), (3, 3, 2), (19, 1, 9), (9, 2, 7), (16, 3, 3)] {
            let cols = unit * units;
            let bytes = draw(&mut random, format, &from, rows * cols / format.block_len());
            let w = Matrix::new(format, rows, cols, &bytes).unwrap();
            // The scale of the activations differs from block to block.
            let x: Vec<f32> = (0..m * cols).map(|i| random.unit() * 2.0f32.powi((i / 32 % 7) as i32 - 3)).collect();
            let mut decoded = vec![0.0; rows * cols];
            decode(format, &bytes, &mut decoded).unwrap();
            for mode in [Mode::Fast, Mode::Exact] {
                let out = product(&w, &x, m, mode);
                for t in 0..m {
                    let xt = &x[t * cols..][..cols];
                    let one = product(&w, xt, 1, mode);
                    assert_eq!(bits(&one), bits(&out[t * rows..][..rows]), "{format} {mode:?}: batch of {m}");
                    let steps = steps(xt, 256);
                    for (r, wr) in decoded.chunks_exact(cols).enumerate() {
                        let terms = wr.iter().zip(xt).map(|(&w, &x)| f64::from(w) * f64::from(x));
                        let expected: f64 = terms.clone().sum();
                        // Each activation is off by half a step; each of `cols` additions and a few products round,
                        // and the offset of a format with a minimum is added to sums of larger terms (32 times at most).
                        let rounding = 32.0 * cols as f64 * 2f64.powi(-24) * terms.map(f64::abs).sum::<f64>();
                        let fast: f64 = wr.iter().zip(&steps).map(|(&w, s)| f64::from(w.abs()) * s * 0.5).sum();
                        let bound = if mode == Mode::Fast { fast * 1.001 + rounding } else { rounding } + 1e-30;
                        let found = f64::from(out[t * rows + r]);
                        assert!(
                            (found - expected).abs() <= bound,
                            "{format} {mode:?} {rows} x {cols} x {m}: [{t}, {r}] is {found}, not {expected} +- {bound}"
                        );
                    }
                }
                for threads in [1, 3] {
                    let again = Team::new(threads).enter(|| product(&w, &x, m, mode));
                    assert_eq!(bits(&again), bits(&out), "{format} {mode:?}: {threads} threads");
                }
                for arm in Isa::ALL {
                    let _held = isa::force(arm);
                    // Sums of eight lanes in one order, with fused additions: the same everywhere.
                    assert_eq!(bits(&product(&w, &x, m, mode)), bits(&out), "{format} {mode:?}: {arm:?}");
                }
            }
        }
    }
}

#[test]
fn the_largest_sums_do_not_overflow() {
    // Codes and activations of the largest magnitude everywhere: Q8_0 of -128, and all bits set in the others.
    for format in [Format::Q8_0, Format::Q5_1, Format::Q6_K, Format::Q4_K, Format::Q3_K, Format::Q2_K, Format::IQ4_XS] {
        let mut block = vec![0xff; format.block_bytes()];
        let one = 0x3c00u16.to_le_bytes();
        match format {
            Format::Q8_0 => {
                block.fill(0x80);
                block[..2].copy_from_slice(&one);
            }
            Format::Q5_1 | Format::Q4_K => [0, 2].into_iter().for_each(|at| block[at..at + 2].copy_from_slice(&one)),
            Format::Q6_K => {
                block[192..208].fill(0x80);
                block[208..].copy_from_slice(&one);
            }
            Format::Q3_K => block[108..].copy_from_slice(&one),
            Format::Q2_K => [80, 82].into_iter().for_each(|at| block[at..at + 2].copy_from_slice(&one)),
            _ => block[..2].copy_from_slice(&one),
        }
        let cols = 256;
        let bytes = block.repeat(cols / format.block_len());
        let w = Matrix::new(format, 1, cols, &bytes).unwrap();
        let mut decoded = vec![0.0; cols];
        w.decode_row(0, &mut decoded).unwrap();
        for x in [127.0, -127.0] {
            let expected = decoded.iter().map(|&w| f64::from(w) * x).sum::<f64>() as f32;
            for m in [1, 4] {
                for arm in Isa::ALL {
                    let _held = isa::force(arm);
                    // Every term is the same whole number, so that nothing rounds but the result.
                    let out = product(&w, &vec![x as f32; m * cols], m, Mode::Fast);
                    assert!(
                        (out[m - 1] - expected).abs() <= expected.abs() * 2e-7,
                        "{format}: {} {expected}",
                        out[m - 1]
                    );
                }
            }
        }
    }
}

#[test]
fn what_is_not_finite_stays_visible() {
    for format in [Format::Q4_0, Format::Q4_K, Format::Q8_0, Format::F16] {
        let bytes = vec![0x11; 2 * format.row_bytes(512).unwrap()];
        let w = Matrix::new(format, 2, 512, &bytes).unwrap();
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = vec![1.0; 2 * 512];
            x[512 + 300] = bad;
            for m in [1, 2] {
                let out = product(&w, &x[(2 - m) * 512..], m, Mode::Fast);
                assert!(out[2 * m - 2..].iter().all(|y| !y.is_finite()), "{format}: {bad}");
                assert!(out[..2 * m - 2].iter().all(|y| y.is_finite()));
            }
        }
    }
}

#[test]
fn tiny_activations_do_no_harm() {
    let bytes = vec![0x11; Format::Q8_0.row_bytes(64).unwrap()];
    let w = Matrix::new(Format::Q8_0, 1, 64, &bytes).unwrap();
    for tiny in [0.0, f32::from_bits(1), f32::MIN_POSITIVE, 1e-36, 1e-30] {
        let out = product(&w, &[tiny; 64], 1, Mode::Fast);
        let expected = product(&w, &[tiny; 64], 1, Mode::Exact);
        assert!((out[0] - expected[0]).abs() <= expected[0].abs() * 0.01 + 1e-35, "{tiny}: {} {}", out[0], expected[0]);
    }
}

#[test]
fn ggml_agrees() {
    for golden in Golden::all() {
        let y = golden.floats(golden.top("y"));
        for (name, about) in golden.types() {
            let format = Format::from_name(name).unwrap();
            for (row, spans) in about["rows"].as_object().unwrap() {
                let Some(expected) = spans.get("vec_dot_y").and_then(serde_json::Value::as_f64) else { continue };
                let w = Matrix::new(format, 1, 512, golden.at(&spans["enc"])).unwrap();
                let mut decoded = [0.0; 512];
                w.decode_row(0, &mut decoded).unwrap();
                let found = f64::from(product(&w, &y, 1, Mode::Fast)[0]);
                // Both round `y` to steps, ours and theirs, or to half precision.
                let step = steps(&y, 256);
                let bound: f64 = decoded.iter().zip(&step).map(|(&w, s)| f64::from(w.abs()) * s * 1.01).sum();
                assert!((found - expected).abs() <= bound, "{name} {row}: {found} is not {expected} +- {bound}");
            }
        }
    }
}

#[test]
fn wrong_sizes_are_errors() {
    let bytes = [0; 68];
    let w = Matrix::new(Format::Q8_0, 2, 32, &bytes).unwrap();
    let e = matmul(&w, &[0.0; 31], 1, &mut [0.0; 2], Mode::Fast).unwrap_err();
    assert_eq!(e, QuantError::WrongLength { what: "x", expected: 32, found: 31 });
    let e = matmul(&w, &[0.0; 64], 2, &mut [0.0; 2], Mode::Exact).unwrap_err();
    assert_eq!(e, QuantError::WrongLength { what: "out", expected: 4, found: 2 });
    assert_eq!(matmul(&w, &[], 0, &mut [], Mode::Fast), Ok(()));
    let huge = usize::MAX / 8;
    assert!(matches!(matmul(&w, &[], huge, &mut [], Mode::Fast), Err(QuantError::TooLarge { .. })));
    assert!(matches!(Matrix::new(Format::I32, 1, 8, &bytes[..32]), Err(QuantError::NotReal { .. })));
    assert!(matches!(Matrix::new(Format::Q8_0, 3, 32, &bytes), Err(QuantError::WrongBytes { expected: 102, .. })));
    assert!(matches!(Matrix::new(Format::F32, huge, 64, &bytes), Err(QuantError::TooLarge { .. })));
    let none = Matrix::new(Format::Q8_0, 2, 0, &[]).unwrap();
    let mut out = [1.0; 4];
    matmul(&none, &[], 2, &mut out, Mode::Fast).unwrap();
    assert_eq!(out, [0.0; 4]);
}
